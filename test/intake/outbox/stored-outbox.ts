import { loadScript } from '../../../src/base/redis/script.js';
import {
  outboxId,
  outboxKeys,
  parseMessage,
  type StoredMessage,
} from '../../../src/engine/recipients/outbox-messages.js';
import type { LaneStore } from '../../../src/engine/scripts/lane-script.js';
import { readState } from '../../../src/engine/store/campaigns.js';
import {
  editionOf,
  type OutboxSettings,
  parseSettings,
  stateOf,
  UNCHANGED,
} from '../../../src/intake/outbox/definition/settings.js';
import { START } from '../../engine/lane/lane-fixture.js';

export const LATE_MS = 60_000;

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
  const boxKeys = outboxKeys(keys, id, name);
  const { outbox, messages, due } = boxKeys.fixed;
  const [outboxes, states] = [keys.lane(id, 'outboxes'), keys.lane(id, 'states')];
  const state = () => readState(redis, keys, id, outboxId(name));
  const stored = async (): Promise<Map<string, StoredMessage>> =>
    new Map(Object.entries(await redis.hgetall(messages)).map(([own, raw]) => [own, parseMessage(raw)]));
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
        id: 'outbox0000001',
        created: START,
        ...UNCHANGED,
        ...more,
      };
      const begins = { state: 'running', total: 0, ordinals: 0, batch: 1, counts: {}, launchAt: START };
      await createScript.run(
        redis,
        { states, outbox, keyBytes: keys.lane(id, 'keyBytes') },
        {
          id: outboxId(name),
          state: JSON.stringify({ ...begins, ...stateOf(settings), outbox: name }),
          settings: JSON.stringify(settings),
          edition: editionOf(settings),
          key: '',
          bytes: 0,
          limit: 0,
        },
      );
    },
    /** Its settings, and their edition. */
    async read() {
      const [json, edition] = await redis.hmget(outbox, 'settings', 'edition');
      return { settings: parseSettings(json ?? ''), edition: edition ?? '' };
    },
    change: (fields: Readonly<Record<string, string | number>>) => redis.hset(outbox, fields),
    /** Its state, with its counts. */
    outboxState: state,
    /** Its messages by their ids. */
    messages: stored,
    /** The states of these messages, in their order. */
    statesOf: async (...ids: readonly string[]) => {
      const all = await stored();
      return ids.map((one) => all.get(one)?.state);
    },
    /** When it next has something to do; null: never. */
    async dueAt(): Promise<number | null> {
      const at = await redis.zscore(outboxes, name);
      return at === null ? null : Number(at);
    },
    /** From when on each waiting message may be claimed, ms, by its id. */
    async dueTimes(): Promise<Readonly<Record<string, number>>> {
      const flat = await redis.zrangebyscore(due, 0, '+inf', 'WITHSCORES');
      return Object.fromEntries(flat.flatMap((id, at) => (at % 2 === 0 ? [[id, Number(flat[at + 1])]] : [])));
    },
    /** The lane does not know that it has something to do. */
    leaveAlone: () => redis.zrem(outboxes, name),
    /** How many messages it stores, and how many times it has for them and for days. */
    storedMessages: async () => ({ messages: await redis.hlen(messages), due: await redis.zcard(due) }),
    /** The keys of its messages, of their times, and of its state. */
    messageKeys: [messages, due, states],
    /** The messages that ended while they waited, by id. */
    async ended() {
      const all = [...(await stored())];
      return new Map(
        all.flatMap(([own, message]) =>
          (message.state === 'cancelled' || message.state === 'lapsed') && message.to !== ''
            ? [[own, message.state] as const]
            : [],
        ),
      );
    },
    /** The counts of the outbox: the total, what they add up to, and how many messages are stored. */
    async counts() {
      const { total = 0, counts = {} } = (await state()) ?? {};
      const sum = Object.values(counts).reduce((sum, count) => sum + count, 0);
      const { planned: waiting = 0, ...others } = counts;
      return { total, sum, cancelled: 0, lapsed: 0, ...others, waiting, stored: await redis.hlen(messages) };
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
