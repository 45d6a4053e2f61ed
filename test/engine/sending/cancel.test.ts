import { expect, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('cancel');
/** A lane whose campaign `c` of two recipients has sent its first requests. */
async function sending(name: string, want: number) {
  const lane = laneFixture(redis, prefix, name);
  await lane.campaign('c', 2);
  const { claims } = await lane.claims.send({ turn: 't', call: 1, want, seen: 0, now: START });
  return { lane, claims, cancel: () => lane.commands.campaign('cancel', 'c', undefined, START + 10) };
}

test('A campaign of which everything was sent cannot be cancelled', async () => {
  const { lane, claims, cancel } = await sending('sent', 2);
  await lane.settle(claims, 'accepted', START + 1, { letter: 'N' });
  expect(await cancel()).toMatchObject({ outcome: 'sent', cancelled: 0, isNew: false });
  expect(await lane.state('c')).toMatchObject({ state: 'running', counts: { deliveredToNetwork: 2 } });
});

test('A campaign whose last requests are in flight when it is cancelled is completed if all of them are accepted', async () => {
  const { lane, claims, cancel } = await sending('in-flight', 2);
  expect(await cancel()).toMatchObject({ outcome: 'done', inFlight: 2, cancelled: 0 });
  expect(await lane.state('c')).toMatchObject({ state: 'cancelled' });
  await lane.settle(claims, 'accepted', START + 20, { letter: 'T' });
  expect(await lane.state('c')).toMatchObject({ state: 'completed', counts: { deliveredToTerminal: 2 } });
});

test('A campaign that was cancelled before everything was sent stays cancelled', async () => {
  const { lane, claims, cancel } = await sending('half', 1);
  expect(await cancel()).toMatchObject({ outcome: 'done', inFlight: 1, cancelled: 1 });
  await lane.settle(claims, 'accepted', START + 20, { letter: 'T' });
  expect(await lane.state('c')).toMatchObject({ state: 'cancelled', counts: { cancelled: 1 } });
});
