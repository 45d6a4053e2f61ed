import { describe, expect, test } from 'vitest';
import {
  type GateEffect,
  type LedgerEffect,
  SEND_EFFECTS,
  type SendResult,
} from '../../../src/engine/sending/effects.js';
import type { SendSettlement } from '../../../src/engine/sending/send-claim.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('send-effects');
const NOW = START + 1_000;
const results = Object.entries(SEND_EFFECTS) as [SendResult, (typeof SEND_EFFECTS)[SendResult]][];

/** What the settlement of each result carries. */
const DETAILS: Record<SendResult, Omit<SendSettlement, 'claim' | 'result'>> = {
  accepted: { letters: 'TI', requestId: 'r' },
  throttled: { retryAfterMs: 60_000 },
  unauthorised: { reason: '401' },
  stopped: { reason: '403' },
  accused: { reason: 'POL1010' },
  refused: { reason: '400' },
  unknown: { letters: '--', reason: 'no response' },
  unclear: { letters: '--', reason: 'SVC0005', isFinal: true },
  notSent: { reason: 'ECONNREFUSED' },
  released: {},
  suppressed: { letters: 'SS' },
  partlySuppressed: { letters: 'S-' },
};

/** The sends in the window, and the time from which the last of them counts. */
const LEDGER: Record<LedgerEffect, { sends: number; countsFrom: number }> = {
  none: { sends: 0, countsFrom: 0 },
  spend: { sends: 1, countsFrom: NOW },
  // A request without a response may have arrived until its timeout.
  spendLonger: { sends: 1, countsFrom: NOW + 30_000 },
};

/** The lane's record after the result of its probe. */
const GATE: Record<GateEffect, object> = {
  accepted: { causes: [], onTrial: '0' },
  proven: { causes: [], onTrial: '0' },
  answered: { causes: [], onTrial: '1' },
  throttled: { causes: ['throttled'], onTrial: '0', probe: 0 },
  accused: { causes: [], onTrial: '1', sendAccused: 'c:0:2' },
  stopped: { causes: ['stopped'], onTrial: '1' },
  failed: { causes: ['unreachable'], onTrial: '1', probe: 0 },
  unused: { causes: ['throttled'], onTrial: '1', probe: 0 },
};

const PLANNED = { planned: 2, sending: 0 };
const RECIPIENTS: Record<(typeof SEND_EFFECTS)[SendResult]['recipients'], object> = {
  accept: {
    counts: { planned: 0, sending: 0, deliveredToTerminal: 1, deliveryImpossible: 1 },
    requests: { accepted: 1 },
  },
  putBack: { counts: PLANNED, released: [{ first: 0, count: 2 }] },
  accuse: { counts: PLANNED, released: [{ first: 0, count: 2, accused: true }] },
  refuse: {
    counts: PLANNED,
    released: [
      { first: 0, count: 1 },
      { first: 1, count: 1 },
    ],
    requests: { refused: 1 },
  },
  unknown: { counts: { planned: 0, sending: 0, unknown: 2 } },
  suppress: { counts: { planned: 0, sending: 0, suppressed: 2 } },
  divide: {
    counts: PLANNED,
    released: [
      { first: 0, count: 1, again: 'byOperator', firstAt: 5 },
      { first: 1, count: 1, again: 'byOperator', firstAt: 5 },
    ],
  },
};

/** A lane on trial whose only batch, of two recipients, is the probe that tries the service after a 429. */
async function probedLane(result: SendResult, purpose: string) {
  const name = `${result}-${purpose}`;
  const lane = laneFixture(redis, prefix, name, { maxRecipients: 2 });
  // Only a batch that may have been accepted before is divided.
  const isRepeat = result === 'partlySuppressed';
  await lane.campaign(
    'c',
    2,
    isRepeat ? { released: [{ first: 0, count: 2, again: 'byOperator', firstAt: 5 }], cursor: 2 } : {},
  );
  await lane.stored.backOff(START - 1);
  const claim = await lane.claimOne();
  expect(await lane.stored.probe()).toBe(claim.number);
  return { lane, claim };
}

describe.each(results)('A send that is settled as %s', (result, effect) => {
  test('has the effects that its row in the table names', async () => {
    const { lane, claim } = await probedLane(result, 'once');
    const settlement = { claim, result, ...DETAILS[result] };
    const { settled, events } = await lane.settlements.send([settlement], 0, NOW);
    expect(settled).toBe(1);

    const { sends, polls, inFlightSends } = await lane.views.look(NOW);
    expect({ sends, polls, inFlightSends }).toEqual({
      sends: LEDGER[effect.ledger].sends,
      polls: 0,
      inFlightSends: 0,
    });
    const gate = await lane.stored.gate();
    expect(gate.lastSendAt).toBe(LEDGER[effect.ledger].countsFrom);
    expect(gate).toMatchObject(GATE[effect.gate]);
    expect(await lane.state('c')).toMatchObject(RECIPIENTS[effect.recipients]);
    if (effect.event !== null) expect(events.map(({ type }) => type)).toContain(effect.event);
    else expect(events.filter(({ type }) => !['reopened', 'ended', 'refused'].includes(type))).toEqual([]);
  });

  test('changes nothing when it is settled again', async () => {
    const { lane, claim } = await probedLane(result, 'again');
    const settlement = { claim, result, ...DETAILS[result] };
    await lane.settlements.send([settlement], 0, NOW);
    const stored = async () => [
      await lane.stored.record(),
      await lane.state('c'),
      await lane.commands.unknown(),
    ];
    const before = await stored();
    const { settled, events } = await lane.settlements.send([settlement], 0, NOW);
    expect({ settled, events }).toEqual({ settled: 0, events: [] });
    expect(await stored()).toEqual(before);
  });

  test('counts against the quota as long although its campaign was removed meanwhile', async () => {
    const { lane, claim } = await probedLane(result, 'removed');
    await redis.hdel(lane.keys.lane(lane.lane, 'states'), 'c');
    const { settled } = await lane.settlements.send([{ claim, result, ...DETAILS[result] }], 0, NOW);
    expect(settled).toBe(0);
    const { sends } = await lane.views.look(NOW);
    const { lastSendAt } = await lane.stored.gate();
    expect({ sends, countsFrom: lastSendAt }).toEqual(LEDGER[effect.ledger]);
  });
});
