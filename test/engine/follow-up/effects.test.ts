import { describe, expect, test } from 'vitest';
import { POLL_EFFECTS, type PollResult } from '../../../src/engine/follow-up/effects.js';
import type { PollSettlement } from '../../../src/engine/follow-up/poll-claim.js';
import { recordsKey } from '../../../src/engine/recipients/campaign-keys.js';
import { readRecord } from '../../../src/engine/recipients/request-records.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, RULES, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('poll-effects');
type PollEffect = (typeof POLL_EFFECTS)[PollResult];
const results = Object.entries(POLL_EFFECTS) as [PollResult, PollEffect][];
const DUE = START + RULES.firstPoll;
const NOW = DUE + 1_000;

/** What the settlement of each result carries. */
const DETAILS: Record<PollResult, Omit<PollSettlement, 'claim' | 'result'>> = {
  infos: { letters: 'T', requestId: 'r' },
  missing: { requestId: 'r' },
  undecided: {},
  unreadable: { reason: '200' },
  throttled: { retryAfterMs: 60_000 },
  unauthorised: { reason: '401' },
  stopped: { reason: '403' },
  accused: { reason: 'POL1010' },
  unanswered: { reason: 'no response' },
  notSent: { reason: 'ECONNREFUSED' },
  released: {},
  damaged: {},
  gone: {},
};

/** The polls in the window, and the time from which the last of them counts. */
const LEDGER: Record<PollEffect['ledger'], { polls: number; countsFrom: number }> = {
  none: { polls: 0, countsFrom: 0 },
  spend: { polls: 1, countsFrom: NOW },
  // A request without a response may have arrived until its timeout.
  spendLonger: { polls: 1, countsFrom: NOW + RULES.timeout },
};

/** The lane's record after the result of its probe. */
const GATE: Record<PollEffect['gate'], object> = {
  proven: { causes: [], onTrial: '0' },
  answered: { causes: [], onTrial: '1' },
  throttled: { causes: ['throttled'], onTrial: '0', probe: 0 },
  accused: { causes: [], onTrial: '1', pollAccused: 'c:0:1' },
  stopped: { causes: ['stopped'], onTrial: '1' },
  failed: { causes: ['unreachable'], onTrial: '1', probe: 0 },
  unused: { causes: ['throttled'], onTrial: '1', probe: 0 },
};

/** When the request is due as one that was never polled, and as one that was. */
const REQUEST: Record<PollEffect['request'], { first: object; again: object }> = {
  report: { first: {}, again: { 'c:0': NOW + RULES.pollAgain } },
  dueNow: { first: { 'c:0': NOW }, again: {} },
  dueLater: { first: { 'c:0': NOW + RULES.pollAgain }, again: {} },
};
const NOT_DUE = { first: {}, again: {} };

/** A lane on trial whose only accepted request is due, and whose probe is the poll for it. */
async function probedLane(result: PollResult, purpose: string) {
  const name = `${result}-${purpose}`;
  const lane = laneFixture(redis, prefix, name);
  await lane.campaign('c', 1);
  const claims = await lane.claim();
  const accepted = claims.map(
    (claim) => ({ claim, result: 'accepted', letters: 'N', requestId: 'r' }) as const,
  );
  await lane.settlements.send(accepted, 0, START);
  await lane.stored.backOff(START);
  const polls = await lane.claims.poll({ turn: 'p', call: 1, want: 1, seen: 0, now: DUE });
  const [claim] = polls.claims;
  if (claim === undefined) throw new Error('the lane did not probe');
  expect(await lane.stored.probe()).toBe(claim.number);
  const dueTimes = lane.stored.polls;
  return { lane, claim, dueTimes };
}

describe.each(results)('A poll that is settled as %s', (result, effect) => {
  test('has the effects that its row in the table names', async () => {
    const { lane, claim, dueTimes } = await probedLane(result, 'once');
    const { settled, events } = await lane.settlements.poll([{ claim, result, ...DETAILS[result] }], 0, NOW);
    expect(settled).toBe(1);

    const { polls, inFlightPolls } = await lane.views.look(NOW);
    expect({ polls, inFlightPolls }).toEqual({ polls: LEDGER[effect.ledger].polls, inFlightPolls: 0 });
    const gate = await lane.stored.gate();
    expect(gate).toMatchObject(GATE[effect.gate]);
    expect(gate.lastPollAt).toBe(LEDGER[effect.ledger].countsFrom);
    const isFinal = result === 'infos';
    expect(await dueTimes()).toEqual(isFinal ? NOT_DUE : REQUEST[effect.request]);
    expect((await lane.state('c')).counts).toMatchObject(
      isFinal ? { deliveredToNetwork: 0, deliveredToTerminal: 1 } : { deliveredToNetwork: 1 },
    );
    if (effect.event !== null) expect(events.map(({ type }) => type)).toContain(effect.event);
    else expect(events.filter(({ type }) => !['reopened', 'ended'].includes(type))).toEqual([]);
  });

  test('changes nothing when it is settled again', async () => {
    const { lane, claim, dueTimes } = await probedLane(result, 'again');
    const settlement = { claim, result, ...DETAILS[result] };
    await lane.settlements.poll([settlement], 0, NOW);
    const stored = async () => [await lane.stored.record(), await lane.state('c'), await dueTimes()];
    const before = await stored();
    const { settled, events } = await lane.settlements.poll([settlement], 0, NOW);
    expect({ settled, events }).toEqual({ settled: 0, events: [] });
    expect(await stored()).toEqual(before);
  });

  test('counts as long when its campaign was removed meanwhile, and is not due again', async () => {
    const { lane, claim, dueTimes } = await probedLane(result, 'removed');
    await redis.hdel(lane.keys.lane(lane.lane, 'states'), 'c');
    await lane.settlements.poll([{ claim, result, ...DETAILS[result] }], 0, NOW);
    expect((await lane.stored.gate()).lastPollAt).toBe(LEDGER[effect.ledger].countsFrom);
    expect(await dueTimes()).toEqual(NOT_DUE);
  });
});

test('A request that is gone ends, and the learned age of first polls stays', async () => {
  const { lane, claim, dueTimes } = await probedLane('gone', 'ends');
  await redis.unlink(recordsKey(lane.keys, lane.lane, 'c', 0));
  const { firstPoll } = await lane.stored.record();
  await lane.settlePolls(claim, 'gone', NOW);
  expect(await dueTimes()).toEqual(NOT_DUE);
  expect((await lane.stored.record())['firstPoll']).toBe(firstPoll);
});

test('A batch that is sent again and accepted while its worker finds no request of it is followed up', async () => {
  const notified = { notify: true, early: 120_000, heard: 600_000, patience: 150_000 } as const;
  const lane = laneFixture(redis, prefix, 'resent', notified);
  await lane.campaign('c', 1);
  const first = await lane.claimOne();
  await lane.settle(first, 'unknown', START);
  await lane.matches.match({ number: first.number, campaign: 'c', first: 0, requestId: 'r' }, START);
  const polls = await lane.poll(DUE);
  expect(polls).toHaveLength(1);
  await lane.commands.resolve('resend', 'x', await lane.commands.unknown(), DUE);
  // Its worker looks now.
  expect(await readRecord(redis, lane.keys, lane.lane, 'c', 0)).toBeNull();
  await lane.settle(await lane.claimOne(DUE), 'accepted', DUE);
  await lane.settlePolls(polls, 'gone', DUE);
  expect(await lane.stored.followed()).toEqual(['c:0']);
});

test.each([
  ['SVC0002: No such request r', 'not known to the service: SVC0002: No such request r'],
  ['', 'not known to the service'],
])(
  'A request that is missing after the deadline is reported with the message %j of the service',
  async (reason, shown) => {
    const { lane, claim } = await probedLane('missing', `deadline${reason.length}`);
    const settlement = { claim, result: 'missing', requestId: 'r', reason } as const;
    await lane.settlements.poll([settlement], 0, START + RULES.deadline);
    expect((await lane.state('c')).counts).toMatchObject({ deliveredToNetwork: 0, unconfirmed: 1 });
    expect(await readRecord(redis, lane.keys, lane.lane, 'c', 0)).toMatchObject({ reason: shown });
  },
);
