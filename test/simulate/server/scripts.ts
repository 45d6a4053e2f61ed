import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Redis } from '../../../src/base/redis/connection.js';
import { readLua } from '../../../src/base/redis/script.js';
import { OBSERVE } from './lane-state.js';

/** A replacement of some text in a Lua script. */
export interface LuaChange {
  /** The path below `src`, such as `sending/claim-send.lua`. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A script of `src` in its wrapping. */
export interface WrappedScript {
  readonly name: string;
  readonly hash: string;
  readonly expires: boolean;
  /** Whether a Redis that is full runs it (base/redis/when-full.lua). */
  readonly runsWhenFull: boolean;
}

/**
 * The scripts of `src`, loaded into the real Redis. Each is wrapped in a prologue that replaces `redis.call`, so that it sees
 * the simulated server's time, run id, and key expiry.
 */
export interface Scripts {
  /** The wrapped script for each hash that the code calls. */
  readonly byHash: ReadonlyMap<string, WrappedScript>;
  readonly readLane: string;
  readonly dump: string;
  readonly restore: string;
}

const SRC = new URL('../../../src/', import.meta.url);

/** Read-only commands. After a script that runs only these, the lane's state need not be read again. */
const READ_COMMANDS = [
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
    'LRANGE',
    'PTTL',
    'SMISMEMBER',
    'STRLEN',
  ],
  ...['TIME', 'ZCARD', 'ZCOUNT', 'ZRANGE', 'ZRANGEBYSCORE', 'ZSCORE'],
];

/**
 * The prologue of every script. It replaces the server's time, run id, hash order, and key expiry with those of the world.
 * The world appends these arguments: the time, the run id, the hash of expiry times (only for scripts whose keys expire),
 * and the key prefix of the lane to read afterwards, or ''. A real server orders hash fields by a seed of its own; here
 * they are sorted, so that a world is the same on every server.
 */
const SERVER = `local virtual_lane, virtual_wrote, virtual_call = table.remove(ARGV), false, redis.call
local virtual_reads = { ${READ_COMMANDS.map((command) => `${command} = 1`).join(', ')} }
--expiry
local virtual_run, virtual_now = table.remove(ARGV), tonumber(table.remove(ARGV))
local redis = setmetatable({ call = function(command, ...)
  if not virtual_reads[command] then virtual_wrote = true end
  if command == 'TIME' then return { math.floor(virtual_now / 1000), virtual_now % 1000 * 1000 } end
  if command == 'INFO' then
    return 'run_id:' .. virtual_run .. ' master_replid:' .. virtual_run .. ' master_replid2:' .. string.rep('0', 40)
  end
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
/** Key expiry by the world's clock. A hash stores each key's expiry time. */
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
/** The same for keys whose expiry each write extends with PEXPIRE: expired keys are deleted before the script runs. */
const PROLONGED = `local virtual_expiry, virtual_plain, virtual_now = table.remove(ARGV), virtual_call, tonumber(ARGV[#ARGV - 1])
for at, life in ipairs(virtual_plain('HMGET', virtual_expiry, unpack(KEYS))) do
  if life and virtual_now >= tonumber(life) then virtual_plain('DEL', KEYS[at]) virtual_plain('HDEL', virtual_expiry, KEYS[at]) end
end
virtual_call = function(command, key, ...)
  if command == 'PEXPIRE' then return virtual_plain('HSET', virtual_expiry, key, virtual_now + (...)) end
  return virtual_plain(command, key, ...)
end`;
/** The position of an entry of a stream by the world's clock. Redis never goes back behind the last one. */
const STREAM = `local virtual_plain, virtual_ms = virtual_call, string.format('%.0f', tonumber(ARGV[#ARGV - 1]))
virtual_call = function(command, key, ...)
  if command ~= 'XADD' then return virtual_plain(command, key, ...) end
  local last = virtual_plain('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  local ms, place = string.match(last and last[1] or '0-0', '^(%d+)-(%d+)')
  local isBehind = tonumber(ms) >= tonumber(virtual_ms)
  return virtual_plain('XADD', key, isBehind and ms .. '-' .. place + 1 or virtual_ms .. '-0', select(2, ...))
end`;
const SERVER_WITH_STREAM = SERVER.replace('--expiry', STREAM);
const SERVER_WITH_EXPIRY = SERVER.replace('--expiry', EXPIRY);
const SERVER_WITH_PROLONGED = SERVER.replace('--expiry', PROLONGED);
const ANSWER = `local virtual_reply = virtual_script()
return { virtual_wrote and virtual_lane ~= '' and virtual_observe(virtual_call, virtual_lane) or '', virtual_reply }`;
const READ_LANE = `${OBSERVE}return virtual_observe(redis.call, ARGV[1])`;
const DUMP = `local dumps = {} for i, key in ipairs(KEYS) do dumps[i] = redis.call('DUMP', key) end return dumps`;
const RESTORE = `for i, key in ipairs(KEYS) do
  if ARGV[i] == '' then redis.call('DEL', key) else redis.call('RESTORE', key, 0, ARGV[i], 'REPLACE') end
end return 1`;

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex');

interface Source {
  readonly file: string;
  readonly text: string;
}

let read: readonly Source[] | undefined;

/** The scripts of `src` that run by themselves. They are read once, because every world loads them. */
function sources(): readonly Source[] {
  read ??= readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.lua'))
    .map((file) => ({ file, text: readLua(new URL(file, SRC)) }))
    .filter(({ text }) => /^local \w+ = KEYS\[1\]$/m.test(text));
  return read;
}

/** A script in its wrapping, the hash that the code calls it by, and what is sent to Redis. */
interface Wrapped extends WrappedScript {
  readonly calledBy: string;
  readonly text: string;
}

const wrappedUnchanged = new Map<string, Wrapped>();

function wrap({ file, text: source }: Source, changes: readonly LuaChange[]): Wrapped {
  const changed = changes.reduce((text, { from, to }) => text.split(from).join(to), source);
  const known = changed === source ? wrappedUnchanged.get(file) : undefined;
  if (known !== undefined) return known;
  const isProlonged = source.includes("'PEXPIRE'");
  const expires = isProlonged || /'(PX|PTTL)'|leaseKey/.test(source);
  const server = isProlonged
    ? SERVER_WITH_PROLONGED
    : expires
      ? SERVER_WITH_EXPIRY
      : source.includes("'XADD'")
        ? SERVER_WITH_STREAM
        : SERVER;
  const text = `${server}${OBSERVE}local function virtual_script()\n${changed}\nend\n${ANSWER}`;
  const name = file.replace(/^.*\/|\.lua$/g, '');
  const runsWhenFull = /^run_when_full\(/m.test(changed);
  const made = { name, hash: sha1(text), expires, runsWhenFull, calledBy: sha1(source), text };
  if (changed === source) wrappedUnchanged.set(file, made);
  return made;
}

/** Loads every script of `src` with these changes applied. Throws if the text to change is missing. */
export async function loadScripts(redis: Redis, changes: readonly LuaChange[] = []): Promise<Scripts> {
  for (const { file, from } of changes) {
    if (!readFileSync(new URL(file, SRC), 'utf8').includes(from)) {
      throw new Error(`src/${file} does not contain the text that the mutant replaces: ${from}`);
    }
  }
  const scripts = sources().map((source) => wrap(source, changes));
  const texts = [...scripts.map(({ text }) => text), READ_LANE, DUMP, RESTORE];
  const known = z.array(z.number()).parse(await redis.script('EXISTS', ...texts.map(sha1)));
  await Promise.all(texts.filter((_, at) => known[at] === 0).map((text) => redis.script('LOAD', text)));
  return {
    byHash: new Map(scripts.map((script) => [script.calledBy, script])),
    readLane: sha1(READ_LANE),
    dump: sha1(DUMP),
    restore: sha1(RESTORE),
  };
}
