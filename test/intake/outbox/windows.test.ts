import { expect, test } from 'vitest';
import { outboxId } from '../../../src/engine/recipients/outbox-messages.js';
import { messageChecker } from '../../../src/intake/outbox/definition/check-message.js';
import { UNCHANGED } from '../../../src/intake/outbox/definition/settings.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { START } from '../../engine/lane/lane-fixture.js';
import { LATE_MS, outboxFixture } from './outbox-fixture.js';

const { redis, prefix } = testRedis('outbox-windows');

/** An outbox whose window opens in `opensInMs`. */
async function windowedOutbox(opensInMs: number) {
  const own = await outboxFixture(redis, prefix);
  await own.stored.setOpenings('w', START, [START + opensInMs, START + opensInMs + 3_600_000]);
  await own.stored.changeState(outboxId(own.name), { window: 'w' });
  return own;
}

test('A message that is due while the window is closed stays in the outbox until it opens, and can be changed', async () => {
  const own = await windowedOutbox(30_000);
  await own.put('a', undefined);
  expect(await own.tend()).toEqual({ lapsed: 0 });
  // It need not be looked at before.
  expect(await own.dueAt()).toBe(START + 30_000);
  expect(await own.claim()).toEqual([]);
  expect(await own.put('a', undefined, { values: ['Grace'] })).toMatchObject({ outcome: 'updated' });
  own.advance(30_000);
  expect(await own.messagesOf(await own.claim())).toMatchObject([{ id: 'a', values: ['Grace'] }]);
});

test('A message that is due while the window is closed lapses when it is too late', async () => {
  const own = await windowedOutbox(2 * LATE_MS);
  await own.put('a', undefined);
  await own.tend();
  expect(await own.dueAt()).toBe(START + LATE_MS);
  own.advance(LATE_MS);
  expect(await own.tend()).toEqual({ lapsed: 1 });
});

const settings = {
  message: 'Hi',
  columns: [],
  ...UNCHANGED,
  sender: '12345',
  sendRule: 'now',
  zone: 'Europe/Paris',
  lateMs: 2 * 3_600_000,
  window: 'Mon-Sun 09:00-20:00; Europe/Paris',
  priority: 'normal' as const,
  id: 'outbox0000001',
  created: START,
};

test.each([
  ['2030-05-01T08:00', 'valid'],
  ['2030-05-01T19:59', 'valid'],
  ['2030-05-01T20:00', 'sendAt'],
  ['2030-05-01T06:59', 'sendAt'],
  ['2030-05-01T07:01', 'valid'],
])('A message for %s, in a window from 9:00 to 20:00 and up to 2 hours late: %s', (sendAt, expected) => {
  const check = messageChecker(settings, { numberKinds: 'any' }, [settings.window]);
  const checked = check({ id: 'a', to: '+447700900123', sendAt }, Date.parse('2030-04-30T12:00Z'));
  expect(checked.ok ? 'valid' : checked.problems[0].member).toBe(expected);
  if (!checked.ok)
    expect(checked.problems[0].reason).toMatch(
      /but the window \(Mon-Sun 09:00-20:00 Europe\/Paris\) opens next at 2030-05-0\dT09:00:00\+02:00/,
    );
});

test('A message that is due now is refused if the window opens too late', () => {
  const check = messageChecker(settings, { numberKinds: 'any' }, [settings.window]);
  const message = { id: 'a', to: '+447700900123' };
  expect(check(message, Date.parse('2030-05-01T12:00Z'))).toMatchObject({ ok: true });
  expect(check(message, Date.parse('2030-05-01T20:00Z'))).toMatchObject({
    ok: false,
    problems: [{ member: 'sendAt' }],
  });
});
