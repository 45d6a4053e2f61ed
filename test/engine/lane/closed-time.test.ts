import { expect, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from './lane-fixture.js';

const { redis, prefix } = testRedis('closed-time');
const MINUTE = 60_000;
const after = (minutes: number): number => START + minutes * MINUTE;

/** A lane with a campaign that began at the start. Times are minutes after that. */
async function laneWithCampaign(name: string, rules: Parameters<typeof laneFixture>[3] = {}) {
  const lane = laneFixture(redis, prefix, name, rules);
  await lane.campaign('c', 100, { launchAt: START });
  let turns = 0;
  const claim = async (minutes: number) => {
    turns += 1;
    const { claims } = await lane.claims.send({
      ...{ turn: `t${turns}`, call: 1, want: 1, seen: 0, now: after(minutes) },
    });
    return claims[0];
  };
  const settle = async (minutes: number, at: number, result: 'accepted' | 'notSent') => {
    const found = await claim(minutes);
    if (found === undefined) throw new Error('the lane claimed nothing');
    const settlement =
      result === 'accepted'
        ? ({ claim: found, result, letters: 'N', requestId: `r${minutes}` } as const)
        : ({ claim: found, result, reason: 'connection refused' } as const);
    await lane.settlements.send([settlement], 0, after(at));
  };
  /** For how many minutes the campaign could send. */
  const activeAt = async (minutes: number): Promise<number> => {
    const { closedMs } = await lane.views.look(after(minutes));
    return minutes - (closedMs + Number((await lane.state('c'))['idleMs'])) / MINUTE;
  };
  return { ...lane, claim, settle, activeAt };
}

test('The time in which the service is unreachable does not count, from the first request without an answer on', async () => {
  const { settle, activeAt } = await laneWithCampaign('unreachable');
  await settle(0, 10, 'accepted');
  // Nothing was in flight until the tenth minute; the third failure in a row makes the lane back off.
  for (const minute of [20, 21, 22]) await settle(minute, minute + 0.5, 'notSent');
  expect(await activeAt(40)).toBe(22);
  // A probe fails, and the next one is answered.
  await settle(50, 50.5, 'notSent');
  expect(await activeAt(60)).toBe(22);
  await settle(70, 71, 'accepted');
  expect(await activeAt(80)).toBe(31);
});

test('The time in which a lane waits for its quota counts', async () => {
  const { claim, settlements, activeAt } = await laneWithCampaign('quota');
  const found = await claim(0);
  if (found === undefined) throw new Error('the lane claimed nothing');
  await settlements.send([{ claim: found, result: 'throttled' }], 0, after(1));
  expect(await activeAt(30)).toBe(30);
});

test('The time in which a lane has no token does not count, and time that is also held counts once', async () => {
  const { claim, commands, views, stored, activeAt } = await laneWithCampaign('token');
  await claim(0);
  await stored.awaitToken('the account service refuses connections', after(10));
  await commands.lane('hold', 'held', after(20));
  await commands.lane('resume', '', after(30));
  await views.tend(1e12, after(30));
  expect(await activeAt(35)).toBe(10);
  await claim(40);
  expect(await activeAt(45)).toBe(15);
});

test('The time in which the window of a lane is closed does not count, also if it waited for permits when it closed', async () => {
  const lane = await laneWithCampaign('window', { sendWindow: 'w' });
  await lane.stored.setOpenings('w', START, [START, after(60), after(180), after(240)]);
  await lane.claim(10);
  expect(await lane.activeAt(30)).toBe(30);
  // No call has read the lane since it closed.
  expect(await lane.activeAt(90)).toBe(60);
  await lane.claim(100);
  expect(await lane.activeAt(150)).toBe(60);
  await lane.claim(180);
  expect(await lane.activeAt(190)).toBe(70);
});

test('A cause that closes a lane again is as old as its last beginning', async () => {
  const { commands, views } = laneFixture(redis, prefix, 'since');
  const sinceOf = async (now: number) =>
    (await views.look(now)).closed.map(({ cause, since }) => [cause, since]);
  await commands.lane('hold', 'held', after(10), true);
  // An operator for all lanes takes the place of one who is limited to lanes.
  await commands.lane('hold', 'held', after(20), false);
  expect(await sinceOf(after(30))).toEqual([['held', after(10)]]);
  await commands.lane('resume', '', after(40));
  await commands.lane('hold', 'held', after(50));
  expect(await sinceOf(after(60))).toEqual([
    ['held', after(50)],
    ['unattended', after(40)],
  ]);
});
