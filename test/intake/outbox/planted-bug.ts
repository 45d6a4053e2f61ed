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
  {
    name: 'a message that is planned is still due',
    from: "if keys.due then redis.call('ZREM', keys.due, unpack(ids)) end",
    to: '',
  },
  {
    name: 'a message that is planned still waits',
    from: "redis.call('HSET', keys.messages, unpack(stored))\n  if keys.due",
    to: 'if keys.due',
  },
  {
    name: 'a put replaces a message that is planned',
    from: 'if not hasEnded or version <= versionBefore then',
    to: 'if version <= versionBefore then',
  },
  {
    name: 'a claim takes what is cancelled',
    from: 'while WAVE.skips(c, c.cursor) do',
    to: 'while false do',
  },
  { name: 'a claim takes what is too late', from: 'return range[2] > now', to: 'return true' },
  {
    name: 'a claim takes what was released and is too late',
    from: 'if now and range.notAfter and range.notAfter <= now then return nil end',
    to: '',
  },
  {
    name: 'a message that lapses is not counted',
    from: "redis.call('HINCRBY', keys.outbox, kind == 'C' and 'cancelled' or 'lapsed', #ids)",
    to: "if kind == 'C' then redis.call('HINCRBY', keys.outbox, 'cancelled', #ids) end",
  },
  {
    name: 'a message that ends while it waits is not in the results',
    from: 'results.note(list, results.LIST.recipients, length - #ids, #ids)',
    to: 'list.number = list.number or 0',
  },
  {
    name: 'the results name another place than that of the message that ended',
    from: 'results.note(list, results.LIST.recipients, length - #ids, #ids)',
    to: 'results.note(list, results.LIST.recipients, length, #ids)',
  },
  {
    name: 'a message that was planned before a change is claimed',
    from: 'if not range or (now and c.replaced) then return false end',
    to: 'if not range then return false end',
  },
  {
    name: 'a message that was released after a change is claimed',
    from: 'if not (now and c.replaced) then return 1 end',
    to: 'do return 1 end',
  },
  {
    name: 'a wave gets messages after a change',
    from: "if (outbox[5] or '') ~= edition then",
    to: 'if false then',
  },
  {
    name: 'a message that returns is not counted',
    from: "redis.call('HINCRBY', outboxKey, 'waiting', returned)",
    to: '',
  },
  {
    name: 'a message that returns stays a recipient',
    from: 'c.counts.planned, c.total = c.counts.planned - 1, c.total - 1',
    to: '',
  },
  {
    name: 'a put with an older version changes a message',
    from: "if version >= 0 and version < versionBefore then return 'stale' end",
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
