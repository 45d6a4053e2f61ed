import { loadScript } from '../../../src/base/redis/script.js';
import type { LaneStore } from '../../../src/engine/scripts/lane-script.js';
import type { StoredState } from '../../../src/engine/store/campaigns.js';
import { readState } from '../../../src/engine/store/campaigns.js';
import { outboxKeys } from '../../../src/intake/outbox/definition/outbox-keys.js';
import {
  type OutboxSettings,
  parseSettings,
  UNCHANGED,
} from '../../../src/intake/outbox/definition/settings.js';
import { unpackMessage } from '../../../src/intake/outbox/definition/stored-message.js';
import { START } from '../../engine/lane/lane-fixture.js';

export const LATE_MS = 60_000;
/** Conservation: these members of an outbox's hash and the counts of its waves add up to its total. */
const OWN_COUNTS = ['waiting', 'cancelled', 'lapsed'] as const;

const createScript = loadScript(
  new URL('../../../src/intake/outbox/outboxes.ts', import.meta.url).href,
  './create-outbox.lua',
  () => undefined,
);

/**
 * What Redis stores of an outbox, by its meaning. Tests read and change stored data only through this, so that another stored form
 * changes this file and no test.
 */
export function storedOutbox({ redis, keys, id }: Pick<LaneStore, 'redis' | 'keys' | 'id'>, name: string) {
  const { outboxes, outbox, messages, due, waves: wavesKey } = outboxKeys(keys, id, name).fixed;
  const change = (fields: Readonly<Record<string, string | number>>) => redis.hset(outbox, fields);
  const waves = () => redis.zrange(wavesKey, '0', '-1');
  const states = async (): Promise<StoredState[]> => {
    const all = await Promise.all((await waves()).map((wave) => readState(redis, keys, id, wave)));
    return all.filter((state) => state !== null);
  };
  return {
    /** Creates it. Its messages are `Hi {{name}}`. */
    async create(more: Partial<OutboxSettings> = {}): Promise<void> {
      const settings: OutboxSettings = {
        message: 'Hi {{name}}',
        columns: ['name'],
        sender: '12345',
        sendRule: 'now',
        lateMs: LATE_MS,
        priority: 'normal',
        created: START,
        ...UNCHANGED,
        ...more,
      };
      const args = { settings: JSON.stringify(settings), edition: '', key: '', bytes: 0, limit: 0 };
      await createScript.run(redis, { outbox, keyBytes: keys.lane(id, 'keyBytes') }, args);
    },
    /** Its settings, and their edition. */
    async read() {
      const [json, edition] = await redis.hmget(outbox, 'settings', 'edition');
      return { settings: parseSettings(json ?? ''), edition: edition ?? '' };
    },
    change,
    outboxState: () => redis.hget(outbox, 'state'),
    waves,
    /** The states of its waves, oldest first. */
    states,
    /** When it next has something to do; null: never. */
    async dueAt(): Promise<number | null> {
      const at = await redis.zscore(outboxes, name);
      return at === null ? null : Number(at);
    },
    /** The lane does not know that it has something to do. */
    leaveAlone: () => redis.zrem(outboxes, name),
    /** How many messages it stores, and how many of them wait for a time. */
    storedMessages: async () => ({ messages: await redis.hlen(messages), due: await redis.zcard(due) }),
    /** The keys of its messages, and of their times. */
    messageKeys: [messages, due],
    /** What is stored of messages that ended while they waited, by id. */
    async ended() {
      const stored = Object.entries(await redis.hgetallBuffer(messages));
      return new Map(
        stored.flatMap(([own, raw]) => {
          const message = unpackMessage(raw);
          return (message.kind === 'cancelled' || message.kind === 'lapsed') && message.ended !== null
            ? [[own, message.kind] as const]
            : [];
        }),
      );
    },
    /** The counts of the outbox and of its waves: the total, and what they add up to. */
    async counts() {
      const fields = await redis.hgetall(outbox);
      const own = OWN_COUNTS.reduce((sum, field) => sum + Number(fields[field]), 0);
      const removed = Object.entries(fields).reduce(
        (sum, [field, value]) => sum + (field.startsWith('removed:') ? Number(value) : 0),
        0,
      );
      const inWaves = (await states()).flatMap(({ counts }) => Object.values(counts));
      return {
        total: Number(fields['total']),
        sum: own + removed + inWaves.reduce((sum, count) => sum + count, 0),
        waiting: Number(fields['waiting']),
        cancelled: Number(fields['cancelled']),
        lapsed: Number(fields['lapsed']),
        stored: Number(fields['stored']),
      };
    },
    latestResultBytes: () => redis.strlen(keys.lane(id, 'latestResults')),
    /** The lists that the log of results has, and those that the outbox has in it. */
    async listsInLog(): Promise<string[]> {
      const log = Object.entries(await redis.hgetall(keys.lane(id, 'results')));
      const own = (await redis.hkeys(outbox)).filter((field) => field.startsWith('log:'));
      return [...log.flatMap(([field, list]) => (/^i\d/.test(field) ? [list] : [])), ...own];
    },
  };
}
