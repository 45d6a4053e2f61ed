import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.js';
import { createEvents } from '../../../src/base/events/events.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { inboundService } from '../../../src/engine/inbound/inbound-service.js';
import { suppression } from '../../../src/engine/suppression/suppression.js';
import { OPERATOR } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { storedLane } from '../../scene/stored.js';

const { redis, prefix } = testRedis('inbound-service');
const keys = keyNames(prefix);
type Options = Parameters<typeof inboundService>[0];

function serviceOf(more: Partial<Options> = {}) {
  return inboundService({
    redis,
    keys,
    finder: { ids: async () => ['main'], idOf: async (name) => name, nameOf: async () => 'main' },
    suppression: suppression(redis, keys),
    events: createEvents({ level: 'silent' }),
    clock: systemClock,
    retentionMs: 86_400_000,
    replies: { stopWords: ['stop'], startWords: ['start'], stopScope: 'lane' },
    by: OPERATOR,
    lastSent: async () => null,
    sentSince: async () => [],
    ...more,
  });
}
const message = (lane: string, at: number, text = 'Stop') =>
  ({
    messageId: `${lane}-${at}`,
    from: `+4477009001${String(at).padStart(2, '0')}`,
    to: 'ACME',
    text,
  }) as const;

test('A message that cannot be handled does not keep the sweep from the others that were left behind', async () => {
  const lane = 'left-behind';
  const isAway = new Set<string>();
  const service = serviceOf({
    async lastSent(_lane, number) {
      if (isAway.has(number)) throw new Error('a campaign cannot be read');
      return null;
    },
  });
  const store = service.log(lane);
  // Redis returns them in no particular order.
  const messages = Array.from({ length: 20 }, (_, at) => message(lane, at));
  for (const one of messages) await store.receive(one);
  await storedLane({ redis, keys, id: lane }).editPending({ lease: 0 });
  for (const { from } of messages.filter((_, at) => at % 4 === 0)) isAway.add(from);
  await expect(service.tend(lane)).rejects.toThrow('a campaign cannot be read');
  expect((await store.after('0-0', 100)).map(({ id }) => id).sort()).toEqual(
    messages.flatMap(({ messageId }, at) => (at % 4 === 0 ? [] : messageId)).sort(),
  );
});

test('A message that lacks a part may ask to stop, but not for messages again', async () => {
  const service = serviceOf();
  const texts = { stop: 21, start: 22 };
  for (const [text, at] of Object.entries(texts))
    await service.receive('parts', {
      ...message('parts', at, text),
      part: { reference: at, number: 2, total: 2 },
    });
  await storedLane({ redis, keys, id: 'parts' }).editPending({ at: 0 });
  await service.tend('parts');
  const { messages } = await service.list({ lanes: ['parts'] });
  expect(messages.map(({ text, effect }) => [text, effect?.wish ?? null]).sort()).toEqual([
    ['[…]start', null],
    ['[…]stop', 'stop'],
  ]);
});

test('A cursor that no page returned is refused, and not passed to Redis', async () => {
  for (const cursor of ['', 'x', '1-1', `${'9'.repeat(22)}-1 main`, `1-${'9'.repeat(22)} main`])
    await expect(serviceOf().list({ cursor })).rejects.toThrow('not the `nextCursor` of a page');
});

test('Of two stop words of one number that arrive on two lanes in the same millisecond, one is confirmed', async () => {
  const from = '+447700900190';
  const confirmed: string[] = [];
  const last = {
    number: from,
    sender: 'ACME',
    message: { campaign: 'c', reference: null, outbox: null, message: null },
  };
  const service = serviceOf({
    lastSent: async () => last,
    async confirm({ message: { messageId } }) {
      confirmed.push(messageId);
      return 'campaign';
    },
  });
  for (const lane of ['one', 'two']) {
    await service.log(lane).receive({ ...message(lane, 90), from });
    await storedLane({ redis, keys, id: lane }).editPending({ at: 1_000_000_000_000, lease: 0 });
  }
  await Promise.all([service.tend('one'), service.tend('two')]);
  expect(confirmed).toHaveLength(1);
});

test('If Redis goes away right after a number was suppressed, the call rejects, and the process goes on', async () => {
  const failures: unknown[] = [];
  const note = (error: unknown): void => void failures.push(error);
  process.on('unhandledRejection', note);
  const service = serviceOf({
    finder: {
      ids: async () => ['gone'],
      idOf: async (name) => name,
      nameOf: async () => {
        throw new Error('Redis is away');
      },
    },
  });
  await expect(service.receive('gone', message('gone', 1))).rejects.toThrow('Redis is away');
  // The event loop reports a rejection that nothing handles after the current turn.
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', note);
  expect(failures).toEqual([]);
});
