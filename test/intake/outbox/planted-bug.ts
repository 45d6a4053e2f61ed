import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import type { Redis } from '../../../src/base/redis/connection.js';
import { readLua } from '../../../src/base/redis/script.js';

/** A bug planted on purpose, as a replacement of some text in the Lua scripts. */
export interface PlantedBug {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

/** The bugs that the worlds of outboxes must catch. */
export const PLANTED_BUGS: readonly PlantedBug[] = [
  { name: 'the append does not compare what it has read', from: 'if #changed > 0 then', to: 'if false then' },
  {
    name: 'a message is kept after its harvest',
    from: "redis.call('HSET', entry_key(at), entry_arg(3 * at - 2), message_as(before, 'P', ordinals + at - 1, wave))",
    to: '',
  },
  {
    name: 'a message that is planned at once replaces one with its id',
    from: "redis.call('HSETNX', entry_key(at), entry_arg(5 * at - 4), pointer) == 0",
    to: "redis.call('HSET', entry_key(at), entry_arg(5 * at - 4), pointer) == -1",
  },
  {
    name: 'a claim takes what is cancelled',
    from: 'while WAVE.skips(c, c.cursor) do',
    to: 'while false do',
  },
  { name: 'a claim takes what is too late', from: 'return range[2] > now', to: 'return true' },
  {
    name: 'a claim takes what was released and is too late',
    from: 'if head and head[7] and now and head[7] <= now then return nil end',
    to: '',
  },
  {
    name: 'a message that lapses is not counted',
    from: "redis.call('HINCRBY', outboxKey, 'lapsed', #lapsed)",
    to: '',
  },
  {
    name: 'a message that is cancelled while it waits is not in the results',
    from: 'ended_note(keys, name, { id }, forgetAt)',
    to: '',
  },
  {
    name: 'a message that lapses while it waits is not in the results',
    from: 'ended_note(keys, name, lapsed, forgetAt)',
    to: '',
  },
  {
    name: 'the results name another place than that of the message that ended',
    from: 'results.note(list, results.LIST.recipients, length - #ids, #ids)',
    to: 'results.note(list, results.LIST.recipients, length, #ids)',
  },
  {
    name: 'a put with an older version changes a message',
    from: "if version >= 0 and version < versionBefore then return 'stale', before end",
    to: '',
  },
];

const SRC = new URL('../../../src/', import.meta.url);
const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex');

/** A connection whose scripts have the bug. Throws if no script contains the text that is replaced. */
export function plantIn(redis: Redis, { name, from, to }: PlantedBug): Redis {
  const changed = new Map<string, string>();
  for (const file of readdirSync(SRC, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.lua')) continue;
    const source = readLua(new URL(file, SRC));
    if (source.includes(from)) changed.set(sha1(source), source.split(from).join(to));
  }
  if (changed.size === 0) throw new Error(`no script contains what "${name}" replaces: ${from}`);
  return new Proxy(redis, {
    get(target, property) {
      if (property !== 'evalsha') return Reflect.get(target, property, target);
      return (sha: string, ...rest: unknown[]): unknown => {
        const source = changed.get(sha);
        return source === undefined
          ? Reflect.apply(target.evalsha, target, [sha, ...rest])
          : Reflect.apply(target.eval, target, [source, ...rest]);
      };
    },
  });
}
