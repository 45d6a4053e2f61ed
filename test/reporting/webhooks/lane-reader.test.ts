import { expect, test } from 'vitest';
import { inboundStore } from '../../../src/engine/inbound/inbound-store.js';
import { resultsLogs } from '../../../src/reporting/results-log.js';
import { laneReader } from '../../../src/reporting/webhooks/lane-reader.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { resultsFixture } from '../results-fixture.js';

const { redis, prefix } = testRedis('webhook-lane-reader');
const ROOM = { deliveries: 32, results: 200 };

test('A message that arrives while the log is read is read the next time', async () => {
  const { keys, finder } = resultsFixture(redis, prefix);
  const store = inboundStore(redis, keys, 'default');
  const receive = async (id: string): Promise<void> => {
    const message = { messageId: id, from: '+447700900001', to: 'ACME', text: id };
    const received = await store.receive(message);
    if (typeof received === 'object') await store.log(received, { ...message, id, at: 1 });
  };
  await receive('before');
  let isLate = true;
  /** Redis, with a message that arrives right after the first reading of the log. */
  const interrupted = new Proxy(redis, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return async (...given: unknown[]) => {
        const answer: unknown = await value.apply(target, given);
        if (isLate && (name === 'xrange' || name === 'xrevrange')) {
          isLate = false;
          await receive('meanwhile');
        }
        return answer;
      };
    },
  });
  const lanes = laneReader({
    redis: interrupted,
    keys,
    logs: resultsLogs(redis, keys, finder),
    clock: Date.now,
  });
  const cursors = new Map<string, string>();
  const told: string[] = [];
  for (let turns = 0; turns < 2; turns += 1) {
    const { steps } = await lanes.read(
      { id: 'e1', events: null, outboxes: null, tags: null },
      'default',
      cursors,
      ROOM,
    );
    for (const { cursor, to, deliveries } of steps) {
      cursors.set(cursor, to);
      for (const { ref } of deliveries) told.push(ref);
    }
  }
  const stored = await store.after('0-0', 10);
  expect(stored.map(({ id }) => id)).toEqual(['before', 'meanwhile']);
  expect(told).toEqual(stored.map(({ position }) => position));
});
