import { describe, expect, test } from 'vitest';
import { firstClosed } from '../../../src/engine/lane/closed.js';
import type { SendClaim, SendSettlement } from '../../../src/engine/sending/send-claim.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('accused');

/** A lane with a campaign, whose batches are claimed one at a time. */
async function laneOf(name: string, recipients: number, most: number) {
  const lane = laneFixture(redis, prefix, name, { maxRecipients: most, quota: 10_000 });
  await lane.campaign('c', recipients);
  let [now, call] = [START, 0];
  const claim = async (): Promise<SendClaim> => {
    [now, call] = [now + 1_000, call + 1];
    const { claims, why } = await lane.claims.send({ turn: 't', call, want: 1, seen: 0, now });
    if (claims[0] === undefined) throw new Error(`nothing to claim: ${why}`);
    return claims[0];
  };
  const settle = (
    claimed: SendClaim,
    result: SendSettlement['result'],
    details: Partial<SendSettlement> = {},
  ) =>
    lane.settlements.send(
      [{ claim: claimed, result, reason: 'why', requestId: `r${claimed.number}`, ...details }],
      0,
      now,
    );
  /** Claims a batch and settles it; returns its first recipient, and how many it has. */
  const next = async (result: SendSettlement['result'], details: Partial<SendSettlement> = {}) => {
    const claimed = await claim();
    const letters = result === 'accepted' ? { letters: 'N'.repeat(claimed.count) } : {};
    await settle(claimed, result, { ...letters, ...details });
    return [claimed.first, claimed.count];
  };
  const counts = async () => (await lane.state('c')).counts;
  const stopped = async () => firstClosed(await lane.views.look(now), ['stopped'])?.why ?? '';
  return { ...lane, claim, settle, next, counts, stopped };
}

describe('A response that blames the account', () => {
  test('stops the lane when distinct recipients get it, and loses none of them', async () => {
    const lane = await laneOf('distinct', 3, 1);
    expect(await lane.next('accused')).toEqual([0, 1]);
    expect(await lane.stopped()).toBe('');
    expect(await lane.next('accused', { reason: 'POL1010' })).toEqual([1, 1]);
    expect(await lane.stopped()).toBe('POL1010');
    expect(await lane.counts()).toMatchObject({ planned: 3, rejected: 0 });
  });

  test('refuses the only recipient that gets it, behind all others', async () => {
    const lane = await laneOf('one', 3, 1);
    expect(await lane.next('accused')).toEqual([0, 1]);
    expect(await lane.next('accepted')).toEqual([1, 1]);
    expect(await lane.next('accepted')).toEqual([2, 1]);
    expect(await lane.next('accused')).toEqual([0, 1]);
    expect(await lane.counts()).toMatchObject({ planned: 0, rejected: 1, deliveredToNetwork: 2 });
    expect(await lane.stopped()).toBe('');
  });

  test('is searched for in the batch that gets it again', async () => {
    const lane = await laneOf('batch', 8, 4);
    expect(await lane.next('accused')).toEqual([0, 4]);
    expect(await lane.next('accepted')).toEqual([4, 4]);
    expect(await lane.next('accused')).toEqual([0, 4]);
    expect(await lane.next('accepted')).toEqual([0, 2]);
    expect(await lane.next('accused')).toEqual([2, 2]);
    expect(await lane.stopped()).toBe('');
  });

  test('stops the lane when both halves of a batch get it', async () => {
    const lane = await laneOf('halves', 4, 4);
    await lane.next('accused');
    await lane.next('accused');
    expect(await lane.next('accused')).toEqual([0, 2]);
    expect(await lane.next('accused')).toEqual([2, 2]);
    expect(await lane.stopped()).toBe('why');
    expect(await lane.counts()).toMatchObject({ planned: 4, rejected: 0 });
  });

  test('does not stop the lane if its request was claimed before an operator resumed it', async () => {
    const lane = await laneOf('resumed', 3, 1);
    const [first, second] = [await lane.claim(), await lane.claim()];
    await lane.commands.lane('resume');
    await lane.settle(first, 'accused');
    await lane.settle(second, 'accused');
    expect(await lane.stopped()).toBe('');
  });
});

describe('A refused batch', () => {
  test('is sent again without the recipients that the service names', async () => {
    const lane = await laneOf('named', 5, 5);
    expect(await lane.next('refused', { letters: '-R--R' })).toEqual([0, 5]);
    expect(await lane.counts()).toMatchObject({ planned: 3, rejected: 2 });
    expect(await lane.next('accepted')).toEqual([0, 1]);
    expect(await lane.next('accepted')).toEqual([2, 2]);
    expect(await lane.counts()).toMatchObject({ planned: 0, rejected: 2, deliveredToNetwork: 3 });
  });

  test('pauses its campaign at once, whole, if the service refuses the text and has accepted none', async () => {
    const lane = await laneOf('text', 8, 4);
    await lane.next('refused', { isText: true, reason: 'SVC0280' });
    expect(await lane.state('c')).toMatchObject({
      state: 'paused',
      pauseReason: 'the service refuses the text: SVC0280',
      counts: { planned: 8, rejected: 0 },
    });
  });

  test('is halved if the service refuses the text only for this batch', async () => {
    const lane = await laneOf('text-of-one', 8, 4);
    await lane.next('accepted');
    await lane.next('refused', { isText: true });
    expect(await lane.next('accepted')).toEqual([4, 2]);
    expect((await lane.state('c'))['state']).toBe('running');
  });
});

test('A final status that contradicts another one of the same response is counted, and reported as an event', async () => {
  const lane = await laneOf('contradicted', 2, 2);
  const claimed = await lane.claim();
  const { events } = await lane.settle(claimed, 'accepted', { letters: 'TT', contradicted: '-I' });
  const contradiction = {
    campaign: 'c',
    ordinal: 1,
    kept: 'deliveredToTerminal',
    ignored: 'deliveryImpossible',
  };
  expect(events).toContainEqual({ type: 'contradicted', ...contradiction });
  expect(await lane.state('c')).toMatchObject({ contradictions: 1, counts: { deliveredToTerminal: 2 } });
});
