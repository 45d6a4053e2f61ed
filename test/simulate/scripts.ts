import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { Redis } from '../../src/redis/connection.js';
import { readLua } from '../../src/redis/script.js';
import { OBSERVE } from './lane-state.js';

/** A text in a Lua file, and what it says instead in a mutant. */
export interface LuaChange {
  /** Below `src`, such as `store/claim-send.lua`. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** The scripts of `src` as they run on a simulated server: their own text, under one that plays the server. */
export interface Scripts {
  /** What a script is called on the real server, by the hash that the code asks for. */
  readonly byHash: ReadonlyMap<
    string,
    { readonly name: string; readonly hash: string; readonly expires: boolean }
  >;
  readonly look: string;
  readonly dump: string;
  readonly restore: string;
}

const SRC = new URL('../../src/', import.meta.url);

/** Commands that change nothing; after a script of these alone there is nothing new to look at. */
const READS = [
  ...[
    'EXISTS',
    'GET',
    'GETRANGE',
    'HGET',
    'HGETALL',
    'HLEN',
    'HMGET',
    'HVALS',
    'INFO',
    'PTTL',
    'SMISMEMBER',
    'STRLEN',
  ],
  ...['TIME', 'ZCARD', 'ZCOUNT', 'ZRANGE', 'ZRANGEBYSCORE', 'ZSCORE'],
];

/**
 * The server's time, its run id, the order of its hashes and the lives of its keys belong to the world; the scripts
 * themselves are as they are. The last arguments are the time and the run id, where keys expire the hash that says when,
 * and what begins the keys of the lane that is looked at afterwards, or nothing. A real server's hashes have an order that
 * it draws when it starts: here it is by field, so that a seed is the same everywhere.
 */
const SERVER = `local virtual_lane, virtual_wrote, virtual_call = table.remove(ARGV), false, redis.call
local virtual_reads = { ${READS.map((command) => `${command} = 1`).join(', ')} }
--expiry
local virtual_run, virtual_now = table.remove(ARGV), tonumber(table.remove(ARGV))
local redis = setmetatable({ call = function(command, ...)
  if not virtual_reads[command] then virtual_wrote = true end
  if command == 'TIME' then return { math.floor(virtual_now / 1000), virtual_now % 1000 * 1000 } end
  if command == 'INFO' then return 'run_id:' .. virtual_run end
  if command == 'HGETALL' or command == 'HVALS' then
    local all, fields, values, sorted = virtual_call('HGETALL', ...), {}, {}, {}
    for i = 1, #all, 2 do fields[#fields + 1], values[all[i]] = all[i], all[i + 1] end
    table.sort(fields)
    for _, field in ipairs(fields) do
      if command == 'HGETALL' then sorted[#sorted + 1] = field end
      sorted[#sorted + 1] = values[field]
    end
    return sorted
  end
  return virtual_call(command, ...)
end }, { __index = redis })
`;
/** Keys with a life, which ends by the world's clock: a hash says when. */
const EXPIRY = `local virtual_expiry, virtual_plain, virtual_now = table.remove(ARGV), virtual_call, tonumber(ARGV[#ARGV - 1])
local function virtual_expire(key)
  local at = tonumber(virtual_plain('HGET', virtual_expiry, key) or 'inf')
  if virtual_now >= at then virtual_plain('DEL', key) virtual_plain('HDEL', virtual_expiry, key) end
end
virtual_call = function(command, key, ...)
  if command == 'SET' then
    local value, px, ms = ...
    if px == 'PX' then virtual_plain('HSET', virtual_expiry, key, virtual_now + ms) else virtual_plain('HDEL', virtual_expiry, key) end
    return virtual_plain('SET', key, value)
  end
  if command == 'GET' or command == 'EXISTS' or command == 'PTTL' then virtual_expire(key) end
  if command == 'PTTL' then
    if virtual_plain('EXISTS', key) == 0 then return -2 end
    return (tonumber(virtual_plain('HGET', virtual_expiry, key) or '') or virtual_now - 1) - virtual_now
  end
  return virtual_plain(command, key, ...)
end`;
/** Keys whose life is prolonged by each write: they are gone when their script comes too late. */
const PROLONGED = `local virtual_expiry, virtual_plain, virtual_now = table.remove(ARGV), virtual_call, tonumber(ARGV[#ARGV - 1])
for at, life in ipairs(virtual_plain('HMGET', virtual_expiry, unpack(KEYS))) do
  if life and virtual_now >= tonumber(life) then virtual_plain('DEL', KEYS[at]) virtual_plain('HDEL', virtual_expiry, KEYS[at]) end
end
virtual_call = function(command, key, ...)
  if command == 'PEXPIRE' then return virtual_plain('HSET', virtual_expiry, key, virtual_now + (...)) end
  return virtual_plain(command, key, ...)
end`;
const SERVER_WITH_EXPIRY = SERVER.replace('--expiry', EXPIRY);
const SERVER_WITH_PROLONGED = SERVER.replace('--expiry', PROLONGED);
const ANSWER = `local virtual_reply = virtual_script()
return { virtual_wrote and virtual_lane ~= '' and virtual_observe(virtual_call, virtual_lane) or '', virtual_reply }`;
const LOOK = `${OBSERVE}return virtual_observe(redis.call, ARGV[1])`;
const DUMP = `local dumps = {} for i, key in ipairs(KEYS) do dumps[i] = redis.call('DUMP', key) end return dumps`;
const RESTORE = `for i, key in ipairs(KEYS) do
  if ARGV[i] == '' then redis.call('DEL', key) else redis.call('RESTORE', key, 0, ARGV[i], 'REPLACE') end
end return 1`;

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex');

/** Loads every script of `src`, with these changes; a change whose text is not there is an error. */
export async function loadScripts(redis: Redis, changes: readonly LuaChange[] = []): Promise<Scripts> {
  for (const { file, from } of changes) {
    if (!readFileSync(new URL(file, SRC), 'utf8').includes(from)) {
      throw new Error(`src/${file} does not hold the text that the mutant replaces: ${from}`);
    }
  }
  const load = async (text: string): Promise<string> => String(await redis.script('LOAD', text));
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.lua'),
  );
  const byHash = new Map<string, { name: string; hash: string; expires: boolean }>();
  for (const file of files) {
    const source = readLua(new URL(file, SRC));
    if (!/^local \w+ = KEYS\[1\]$/m.test(source)) continue;
    const changed = changes.reduce((text, { from, to }) => text.split(from).join(to), source);
    const isProlonged = source.includes("'PEXPIRE'");
    const expires = isProlonged || /'(PX|PTTL)'|leaseKey/.test(source);
    const server = isProlonged ? SERVER_WITH_PROLONGED : expires ? SERVER_WITH_EXPIRY : SERVER;
    const hash = await load(`${server}${OBSERVE}local function virtual_script()\n${changed}\nend\n${ANSWER}`);
    byHash.set(sha1(source), { name: file.replace(/^.*\/|\.lua$/g, ''), hash, expires });
  }
  const [look, dump, restore] = [await load(LOOK), await load(DUMP), await load(RESTORE)];
  return { byHash, look, dump, restore };
}
