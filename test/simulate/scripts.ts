import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { Redis } from '../../src/redis/connection.js';
import { readLua } from '../../src/redis/script.js';
import { OBSERVE } from './observe.js';

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

/**
 * The server's time, its run id and the lives of its keys belong to the world; the scripts themselves are as they are.
 * The last arguments are the time and the run id, where keys expire the hash that says when, and what begins the keys of
 * the lane that is looked at afterwards, or nothing.
 */
const SERVER = `local virtual_lane = table.remove(ARGV)
local virtual_call = redis.call
local virtual_run, virtual_now = table.remove(ARGV), tonumber(table.remove(ARGV))
local redis = setmetatable({ call = function(command, ...)
  if command == 'TIME' then return { math.floor(virtual_now / 1000), virtual_now % 1000 * 1000 } end
  if command == 'INFO' then return 'run_id:' .. virtual_run end
  return redis.call(command, ...)
end }, { __index = redis })
`;
const SERVER_WITH_EXPIRY = `local virtual_lane, virtual_expiry = table.remove(ARGV), table.remove(ARGV)
local virtual_call = redis.call
local virtual_run, virtual_now = table.remove(ARGV), tonumber(table.remove(ARGV))
local real = redis
local function virtual_expire(key)
  local at = tonumber(real.call('HGET', virtual_expiry, key) or 'inf')
  if virtual_now >= at then real.call('DEL', key) real.call('HDEL', virtual_expiry, key) end
end
local redis = setmetatable({ call = function(command, key, ...)
  if command == 'TIME' then return { math.floor(virtual_now / 1000), virtual_now % 1000 * 1000 } end
  if command == 'INFO' then return 'run_id:' .. virtual_run end
  if command == 'SET' then
    local value, px, ms = ...
    if px == 'PX' then real.call('HSET', virtual_expiry, key, virtual_now + ms) else real.call('HDEL', virtual_expiry, key) end
    return real.call('SET', key, value)
  end
  if command == 'GET' or command == 'EXISTS' or command == 'PTTL' then virtual_expire(key) end
  if command == 'PTTL' then
    if real.call('EXISTS', key) == 0 then return -2 end
    return (tonumber(real.call('HGET', virtual_expiry, key) or '') or virtual_now - 1) - virtual_now
  end
  return real.call(command, key, ...)
end }, { __index = real })
`;
const ANSWER = `local virtual_reply = virtual_script()
return { virtual_lane ~= '' and virtual_observe(virtual_call, virtual_lane) or '', virtual_reply }`;
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
    const expires = /'(PX|PTTL)'|leaseKey/.test(source);
    const server = expires ? SERVER_WITH_EXPIRY : SERVER;
    const hash = await load(`${server}${OBSERVE}local function virtual_script()\n${changed}\nend\n${ANSWER}`);
    byHash.set(sha1(source), { name: file.replace(/^.*\/|\.lua$/g, ''), hash, expires });
  }
  const [look, dump, restore] = [await load(LOOK), await load(DUMP), await load(RESTORE)];
  return { byHash, look, dump, restore };
}
