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
    name: 'a message that is claimed is still due',
    from: "redis.call('ZREM', OUTBOX.key(c, ':due'), m.id)",
    to: '',
  },
  {
    name: 'a message that is claimed still waits',
    from: 'm.state = OUTBOX.SENDING\n  OUTBOX.change(c, m)\n  return OUTBOX.range(c, m)',
    to: 'return OUTBOX.range(c, m)',
  },
  {
    name: 'a put replaces a message that is claimed',
    from: 'elseif before.state == OUTBOX.WAITING and not OUTBOX.may_have_been_sent(before) then',
    to: 'elseif before.state == OUTBOX.WAITING or before.state == OUTBOX.SENDING then',
  },
  {
    name: 'what is cancelled is still due',
    from: "since[#since + 1], since[#since + 2] = string.format('-%.0f',",
    to: "since[#since + 1], since[#since + 2] = string.format('%.0f',",
  },
  {
    name: 'a claim takes what is too late',
    from: 'function OUTBOX.lapses_at(c, m) return OUTBOX.due_at(m) + c.lateMs end',
    to: 'function OUTBOX.lapses_at(c, m) return OUTBOX.due_at(m) + 2 * c.lateMs end',
  },
  {
    name: 'a message that lapses is not counted',
    from: "campaign_move(c, 'planned', state, 1, m.number)",
    to: "if state == 'cancelled' then campaign_move(c, 'planned', state, 1, m.number) else results.note(c, results.LIST.recipients, m.number, 1) end",
  },
  {
    name: 'a message that ends while it waits is not in the results',
    from: "campaign_move(c, 'planned', state, 1, m.number)",
    to: 'c.counts.planned, c.counts[state] = c.counts.planned > 1 and c.counts.planned - 1 or nil, (c.counts[state] or 0) + 1',
  },
  {
    name: 'the results name another place than that of the message that ended',
    from: '{ range[1], length - #ids + at - 1, 1 }',
    to: '{ range[1], length - #ids + at, 1 }',
  },
  {
    name: 'a claim has the settings with which its message was put',
    from: 'if not OUTBOX.may_have_been_sent(m) and not OUTBOX.is_outdated(c, m) then m.edition = c.revision or 0 end',
    to: '',
  },
  {
    name: 'what may have been accepted goes again with the settings of today',
    from: 'if not OUTBOX.may_have_been_sent(m) and not OUTBOX.is_outdated(c, m) then m.edition = c.revision or 0 end',
    to: 'm.edition = c.revision or 0',
  },
  {
    name: 'a request may start with settings that were replaced',
    from: 'local isCurrent = not claim.edition',
    to: 'local isCurrent = true or not claim.edition',
  },
  {
    name: 'a message that is put again after its cancel is counted twice',
    from: 'c.counts[ended], c.counts.planned = c.counts[ended] - 1, (c.counts.planned or 0) + 1',
    to: 'c.counts.planned = (c.counts.planned or 0) + 1',
  },
  {
    name: 'a put with an older version changes a message',
    from: "if m.version >= 0 and m.version < before.version then return 'stale' end",
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
