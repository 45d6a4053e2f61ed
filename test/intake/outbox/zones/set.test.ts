import { expect, test } from 'vitest';
import { MessagesUnfitError } from '../../../../src/intake/outbox/definition/errors.js';
import { testRedis } from '../../../base/redis/test-redis.js';
import { outboxFixture } from '../outbox-fixture.js';

const { redis, prefix } = testRedis('outbox-zones-set');
const HOUR = 3_600_000;
/** At the start of these tests, it is midnight in London, and five in the afternoon in Denver. */
const MORNING = 'Mon-Sun 09:00-20:00; recipient';
const EVENING = 'Mon-Sun 16:00-20:00; recipient';

async function zonedOutbox(change: object = { window: MORNING }) {
  const own = await outboxFixture(redis, prefix, {}, 24 * HOUR);
  own.advance(Date.parse('2097-01-15T00:00Z') - own.now());
  await own.set(change);
  return { ...own, claimedIds: async () => (await own.idsOf(await own.claim())).sort() };
}

test('Other hours also apply to a message that waits for the ones before, and are known at once', async () => {
  const own = await zonedOutbox();
  await own.put('a', undefined, { zone: 'Europe/London' });
  await own.put('b', undefined, { zone: 'Asia/Dhaka' });
  await own.tend();
  expect(await own.set({ window: EVENING.replace('16:00', '05:00') })).toMatchObject({
    changed: ['window'],
    waiting: 2,
    unfit: [],
  });
  expect(await own.claimedIds()).toEqual(['b']);
  await own.set({ window: undefined });
  expect(await own.claimedIds()).toEqual(['a']);
});

test('A window in the zone of each recipient needs the zones of the messages that wait, or their numbers', async () => {
  const own = await zonedOutbox({});
  await own.put('a', HOUR);
  await expect(own.set({ window: MORNING })).rejects.toThrow(MessagesUnfitError);
  await expect(own.set({ window: MORNING })).rejects.toThrow(/\(a\).*`zone` is empty/);
  await own.set({ window: MORNING }, { values: { zone: 'Asia/Dhaka' } });
  own.advance(HOUR);
  expect((await own.messages()).get('a')).toMatchObject({ zone: 'Asia/Dhaka' });
  const other = await zonedOutbox({});
  await other.put('a', HOUR);
  await other.set({ window: MORNING, zoneFrom: 'number' });
  expect((await other.messages()).get('a')).toMatchObject({ zone: 'country:GB' });
  // It was found out, so it does not outlast the setting.
  await expect(other.set({ zoneFrom: undefined })).rejects.toThrow(MessagesUnfitError);
  await other.set({ window: undefined, zoneFrom: undefined });
  expect((await other.messages()).get('a')).toMatchObject({ zone: '' });
});

test('A message that was in flight when its outbox got hours of the recipients gets a zone before it is claimed again', async () => {
  const own = await zonedOutbox({});
  await own.put('a');
  const claims = await own.claim();
  await own.set({ window: 'Mon-Sun 00:00-04:00; recipient', zoneFrom: 'number' });
  await own.settle(claims, 'released');
  expect(await own.claimedIds()).toEqual([]);
  await own.tend();
  own.advance(1_000);
  expect(await own.claimedIds()).toEqual(['a']);
  expect((await own.messages()).get('a')).toMatchObject({ zone: 'country:GB' });
});
