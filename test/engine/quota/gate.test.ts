import { describe, expect, test } from 'vitest';
import { firstClosed } from '../../../src/engine/lane/closed.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('gate');
const STEP = 1_000;

/** A lane with room for everything, and one request that is polled as soon as it may be. */
async function polledLane(name: string, recipients = 1_000) {
  const lane = laneFixture(redis, prefix, name, { quota: 100_000, firstPoll: 1_000, pollAgain: 1_000 });
  await lane.campaign('c', recipients);
  await lane.settle(await lane.claimOne(START), 'accepted', START, { letter: 'N' });
  return lane;
}

/**
 * Serves a lane for a while: its polls and its sends end in these ways, and others are claimed. Returns how many requests were made of each
 * kind.
 */
async function serve(
  lane: Awaited<ReturnType<typeof polledLane>>,
  [from, to]: readonly [number, number],
  answers: { readonly send: 'accepted' | 'unknown'; readonly poll: 'infos' | 'unanswered' },
) {
  const made = { sends: 0, polls: 0 };
  let inFlight: readonly SendClaim[] = [];
  for (let now = from; now < to; ) {
    const { pollAt, sendAt } = await lane.views.look(now);
    if (pollAt >= 0 && pollAt <= now) {
      const polls = await lane.poll(now, 32);
      made.polls += polls.length;
      const details = answers.poll === 'infos' ? { letters: 'N' } : { reason: 'timeout' };
      for (const poll of polls) await lane.settlePolls(poll, answers.poll, now, details);
    }
    const ended = inFlight;
    inFlight = sendAt >= 0 && sendAt <= now ? await lane.claim(now, 32) : [];
    made.sends += inFlight.length;
    for (const claim of ended) await lane.settle(claim, answers.send, now);
    const dueAt = Math.min(...[pollAt, sendAt].filter((at) => at >= 0));
    now = inFlight.length > 0 ? now + STEP : Math.max(now + STEP, Math.min(dueAt, to));
  }
  for (const claim of inFlight) await lane.settle(claim, answers.send, to);
  return made;
}

describe('A service that answers only one kind of request', () => {
  test('and no sends gets as many as may be in flight, and then one after each longer and longer backoff', async () => {
    const lane = await polledLane('no-sends');
    const { sends, polls } = await serve(lane, [START + 2_000, START + 600_000], {
      send: 'unknown',
      poll: 'infos',
    });
    expect(sends).toBeGreaterThan(32);
    expect(sends).toBeLessThan(32 + 9);
    expect(polls).toBeGreaterThan(0);
  });

  test('and sends again is sent to at full speed once one is answered', async () => {
    const lane = await polledLane('sends-again', 300);
    await serve(lane, [START + 2_000, START + 20_000], { send: 'unknown', poll: 'infos' });
    const { sends } = await serve(lane, [START + 20_000, START + 120_000], {
      send: 'accepted',
      poll: 'infos',
    });
    expect(sends).toBeGreaterThan(250);
  });

  test('and no polls gets every send, and ever fewer polls', async () => {
    const lane = await polledLane('no-polls', 300);
    const { sends, polls } = await serve(lane, [START + 2_000, START + 60_000], {
      send: 'accepted',
      poll: 'unanswered',
    });
    expect(sends).toBe(299);
    expect(polls).toBeLessThan(40);
    expect(firstClosed(await lane.views.look(START + 60_000), ['unreachable'])).toBeUndefined();
  });

  test('and no polls after an outage gets every send soon after its end', async () => {
    const lane = await polledLane('no-polls-again', 100);
    await serve(lane, [START + 2_000, START + 60_000], { send: 'unknown', poll: 'unanswered' });
    await serve(lane, [START + 60_000, START + 300_000], { send: 'accepted', poll: 'unanswered' });
    expect((await lane.state('c')).counts).toMatchObject({ planned: 0, sending: 0 });
  });
});

test('Sends that hang wait for an answer, although polls are answered', async () => {
  const lane = await polledLane('hanging');
  const settled = START + 200;
  await lane.settle(await lane.claimOne(START), 'accepted', settled);
  await lane.claim(settled, 3);
  const later = settled + 20_000;
  for (const poll of await lane.poll(later, 1))
    await lane.settlePolls(poll, 'infos', later, { letters: 'N' });
  expect(await lane.ask(later, 1)).toMatchObject({ claims: [], why: 'hanging' });
});
