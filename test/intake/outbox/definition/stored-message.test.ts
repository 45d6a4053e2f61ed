import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseMessage } from '../../../../src/engine/recipients/outbox-messages.js';
import { messageText, type WaitingMessage } from '../../../../src/intake/outbox/definition/stored-message.js';
import { testRedis } from '../../../base/redis/test-redis.js';
import { outboxFixture } from '../outbox-fixture.js';

const { redis, prefix } = testRedis('stored-message');

const text = fc.string({ unit: 'grapheme', maxLength: 200 });
const message: fc.Arbitrary<WaitingMessage> = fc.record({
  due: fc.integer({ min: 0, max: 0xff_ff_ff_ff }),
  version: fc.option(
    fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 255, 256, 2 ** 32, Number.MAX_SAFE_INTEGER)),
    {
      nil: null,
    },
  ),
  number: fc.integer({ min: 1, max: 999_999_999_999_999 }).map((digits) => `+${digits}`),
  values: fc.array(text, { maxLength: 4 }),
  reference: text,
  hasOwnTime: fc.boolean(),
  revision: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 0xffff })),
});

test('A message is read as it was stored, whatever its texts and its version are', () => {
  fc.assert(
    fc.property(message, (one) => {
      const { revision, number, ...rest } = one;
      // What is due at once gets its time from the script.
      const hasOwnTime = rest.hasOwnTime === true && rest.due > 0;
      expect(parseMessage(messageText(one))).toMatchObject({
        ...{ ...rest, hasOwnTime, edition: revision, to: number },
        ...{ state: 'planned', number: 0, at: 0, again: '' },
      });
    }),
  );
});

test('A message is read as a script has stored it, whatever its texts and its version are', async () => {
  const own = await outboxFixture(redis, prefix);
  const some = fc.sample(message, 300).filter(({ due }) => due > 0);
  await own.putMany(some.map((one, at) => ({ id: `m${at}`, message: one })));
  const stored = await own.messages();
  for (const [at, { number, revision, ...rest }] of some.entries())
    expect(stored.get(`m${at}`)).toMatchObject({ ...rest, state: 'planned', edition: revision, to: number });
});

test('A message keeps its form', () => {
  const stored = messageText({
    ...{ due: 1_800_000_000, version: 65_536, number: '+447700900123' },
    ...{ values: ['Zoë', ''], reference: 'B-1' },
  });
  expect(stored).toBe('[0,1800000000,447700900123,["Zoë",""],"B-1","W",65536,0]');
});
