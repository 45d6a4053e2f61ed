import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type EstimatedCampaign, estimate } from '../../../src/campaign/estimate/estimate.js';
import type {
  EstimateRules,
  LaneOutlook,
  OutlookCampaign,
} from '../../../src/campaign/estimate/lane-outlook.js';
import { requestsLeft, requestsNeeded } from '../../../src/campaign/limits/request-count.js';
import { NIGHTLY } from '../../base/parts.js';
import { idleLane, type SimulatedLane, simulate } from '../simulated-lane.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** At eight in the morning, UTC. */
const NOW = 1_800_000_000_000;
const SLICE = 256;

const rules: EstimateRules = {
  ...{ quota: 1000, window: HOUR, smooth: false, inFlight: 32, timeout: 30_000 },
  ...{ firstPoll: 15_000, deadline: 3 * DAY, resolveAfter: 0 },
};
const idle = idleLane(NOW, 1000, HOUR, 0.2);

/** A campaign that is launched now. */
const own: EstimatedCampaign = {
  ...{ id: 'own', requests: 100, weight: 1, launchAt: 0, lapseAt: 0 },
  ...{ sending: 0, awaiting: 0, unknown: 0, obstacle: null },
};

/** Another campaign of the lane, before the own one. */
const other: OutlookCampaign = {
  id: 'other',
  score: -5,
  weight: 1,
  requests: 10_000,
  lapseAt: 0,
  notBefore: 0,
};

function estimated(
  lane: Partial<LaneOutlook>,
  campaign: Partial<EstimatedCampaign>,
  more: Partial<EstimateRules> = {},
) {
  return estimate({ ...idle, ...lane }, { ...rules, ...more }, { ...own, ...campaign });
}

/** The estimate of when the last message is sent, ms from now. */
function sent(...given: Parameters<typeof estimated>) {
  const { eta } = estimated(...given);
  if (eta === null) throw new Error('there is something to send');
  const { earliest, latest, ...more } = eta;
  return { ...more, earliest: Date.parse(earliest) - NOW, latest: latest && Date.parse(latest) - NOW };
}

/** Expects a range around this many ms from now that is no wider than a tenth of a window. */
function expectAround(range: ReturnType<typeof sent>, ms: number): void {
  expect(range.earliest).toBeLessThanOrEqual(ms);
  expect(range.latest).toBeGreaterThanOrEqual(ms);
  expect(Number(range.latest) - range.earliest).toBeLessThan(HOUR / 10);
}

test('A request holds as many recipients of a shared message as the lane allows, of one slice', () => {
  expect(requestsNeeded(256, true, 100, SLICE)).toBe(3);
  expect(requestsNeeded(1000, true, 100, SLICE)).toBe(12);
  expect(requestsNeeded(7, true, 1, SLICE)).toBe(7);
  expect(requestsNeeded(0, true, 100, SLICE)).toBe(0);
});

test('Each recipient of a personalised message takes a request', () => {
  expect(requestsNeeded(1001, false, 100, SLICE)).toBe(1001);
});

test('Released ranges are sent in addition to what the cursor has not reached', () => {
  const campaign = { cursor: 300, ordinals: 600, slice: SLICE, batch: 100, released: [] };
  // 300 to 511 in three requests, 512 to 599 in one.
  expect(requestsLeft(campaign)).toBe(4);
  expect(
    requestsLeft({
      ...campaign,
      released: [
        { first: 250, count: 20 },
        { first: 10, count: 150, again: 'underCorrelator' },
      ],
    }),
  ).toBe(4 + 2 + 1);
});

describe('The time of the last message', () => {
  test('is now if the quota has room for all', () => {
    expectAround(sent({}, { requests: 700 }), 2_000);
  });

  test('is when the permits return that it needs', () => {
    // The window holds 800 sends and 200 polls, made at once a quarter of an hour ago.
    const returning = [NOW + 0.75 * HOUR, NOW + 0.75 * HOUR, 800, 200];
    expectAround(sent({ returning }, { requests: 10 }), 0.75 * HOUR);
    expectAround(sent({ returning }, { requests: 840 }), 1.76 * HOUR);
  });

  test('is when a deduction from the quota has faded, at the latest', () => {
    const { earliest, latest } = sent({ returning: [NOW, NOW + 0.5 * HOUR, 950, 0] }, {});
    expect([earliest, Number(latest) > 0.5 * HOUR, Number(latest) < 0.6 * HOUR]).toEqual([0, true, true]);
  });

  test('takes into account that polls get their share of the permits', () => {
    expectAround(sent({}, { requests: 840 }), HOUR);
    expectAround(sent({ pollsAtLeast: 0 }, { requests: 840 }), 4_000);
  });

  test('hardly depends on polls while notifications arrive', () => {
    const heard = { isHeard: true, due: [NOW + DAY, NOW + DAY, 1_000], firstPoll: DAY };
    expectAround(sent(heard, { requests: 900 }), 4_000);
  });

  test('is later by the requests of campaigns with which it shares the lane', () => {
    const mine = { ...other, id: 'own', requests: 700 };
    expectAround(sent({ campaigns: [other, mine] }, {}), HOUR);
    // Its own weight of 4 gives it four requests of five.
    expectAround(sent({ campaigns: [other, { ...mine, requests: 600, weight: 4 }] }, { weight: 4 }), 3_000);
  });

  test('is later by a campaign from its launch on, and until it lapses', () => {
    const later = { ...other, id: 'later', score: NOW + 2 * HOUR };
    expectAround(sent({ scheduled: [later] }, { requests: 1500 }), HOUR);
    const both = sent({ scheduled: [later] }, { requests: 4000 }).earliest;
    expect(both).toBeGreaterThan(5 * HOUR);
    const lapsing = { ...later, lapseAt: NOW + 3.5 * HOUR };
    expect(sent({ scheduled: [lapsing] }, { requests: 4000 }).latest).toBeLessThan(both);
  });

  test('is after the end of a backoff, and after the launch', () => {
    expectAround(sent({ opensAt: NOW + HOUR }, {}), HOUR + 1_000);
    expectAround(sent({}, { launchAt: NOW + 5 * HOUR }), 5 * HOUR + 1_000);
  });

  test('is spread over the window with smooth pacing', () => {
    expectAround(sent({}, { requests: 500 }, { smooth: true }), HOUR / 2);
  });

  test('is not after the end of its validity', () => {
    expectAround(sent({}, { requests: 100_000, lapseAt: NOW + 2 * HOUR }), 2 * HOUR);
  });

  test('has no latest while the quota is being learned, with the reason', () => {
    const learning = sent({ quota: 0, limit: 100 }, { requests: 300_000 }, { quota: 0 });
    // Nothing is claimed about it: this takes minutes at the speed of the connection, and days with a quota.
    const reason = 'the limit of the service is not known yet';
    expect(learning).toEqual({ earliest: 0, latest: null, isApproximate: true, reason });
  });

  test('is approximate with a learned quota', () => {
    const [known, learned] = [sent({}, { requests: 5_000 }), sent({}, { requests: 5_000 }, { quota: 0 })];
    expect([known.isApproximate, learned.isApproximate]).toEqual([false, true]);
    expect(learned.earliest).toBe(known.earliest - HOUR / 2);
    expect(learned.latest).toBe(Number(known.latest) + HOUR / 2);
  });

  test('has no latest while an operator must act', () => {
    const reasonOf = (lane: Partial<LaneOutlook>, campaign: Partial<EstimatedCampaign> = {}) => {
      const { latest, reason } = sent(lane, campaign);
      return latest === null ? reason : undefined;
    };
    const obstacle = 'sending is held until you resume it';
    expect(reasonOf({ obstacle })).toBe(obstacle);
    expect(reasonOf({ obstacle }, { obstacle: 'no worker is running' })).toBe('no worker is running');
    expect(sent({ obstacle, opensAt: NOW + HOUR }, {}).earliest).toBeGreaterThanOrEqual(HOUR);
  });

  test('has no latest if it is too far away', () => {
    expect(sent(idleLane(NOW, 1, HOUR, 0.2), { requests: 1_000_000 }).reason).toBe('too far away');
  });

  test('has no latest if more campaigns are before it than were read', () => {
    expect(sent({ unlisted: 20, campaigns: [] }, { requests: 5 }).latest).not.toBeNull();
    const first = { ...other, id: 'first', score: 0, requests: 1 };
    expect(sent({ unlisted: 20, campaigns: [first] }, {}).reason).toBe('20 more campaigns wait');
    expect(sent({ unlisted: 1, campaigns: [first] }, {}).reason).toBe('1 more campaign waits');
  });

  test('does not exist when everything is sent', () => {
    expect(estimated({}, { requests: 0 })).toMatchObject({ eta: null, completion: null });
  });
});

describe('The time of the last final status', () => {
  const completion = (...given: Parameters<typeof estimated>) => estimated(...given).completion;

  test('is at most the follow-up deadline and the wait for a permit after the last message', () => {
    const { eta, completion } = estimated({}, {});
    const after = Date.parse(completion?.latest ?? '') - Date.parse(eta?.latest ?? '');
    expect(after).toBeGreaterThanOrEqual(rules.deadline);
    expect(after).toBeLessThanOrEqual(rules.deadline + HOUR + 1);
  });

  test('is not before each message has been sent and polled under the quota', () => {
    const earliest = Date.parse(completion({}, { requests: 5_000 })?.earliest ?? '');
    expect(earliest).toBeGreaterThanOrEqual(NOW + 9 * HOUR);
  });

  test('is bounded by the deadline when everything is sent', () => {
    const seen = completion({ lastSendAt: NOW - 2 * HOUR }, { requests: 0, awaiting: 10 });
    const [earliest, latest] = [NOW, NOW + 71 * HOUR].map((at) => new Date(at).toISOString());
    expect(seen).toEqual({ earliest, latest, isApproximate: false, reason: null });
  });

  test('has no latest while unknown outcomes wait for the operator', () => {
    const reason = 'requests with an unknown outcome wait until you settle them';
    expect(completion({}, { requests: 0, unknown: 1 })).toMatchObject({ latest: null, reason });
    expect(completion({}, { requests: 0, unknown: 1 }, { resolveAfter: HOUR })?.latest).not.toBeNull();
  });

  test('is not delayed by messages that may lapse', () => {
    const { earliest, latest } = completion({}, { requests: 100_000, lapseAt: NOW + 2 * HOUR }) ?? {};
    expect(Date.parse(earliest ?? '')).toBeLessThanOrEqual(NOW + 2 * HOUR + rules.firstPoll);
    expect(Date.parse(latest ?? '')).toBeLessThanOrEqual(NOW + 2 * HOUR + rules.deadline + HOUR);
    // Of messages that certainly do not lapse, each takes a send and a poll.
    const few = { requests: 5_000, lapseAt: NOW + 100 * HOUR };
    expect(completion({}, few)).toEqual(completion({}, { ...few, lapseAt: 0 }));
  });
});

const MORNING = 'Mon-Sun 09:00-10:00; UTC';

describe('Outside its windows, a campaign sends nothing', () => {
  test('so that it is estimated from the opening on', () => {
    expectAround(sent({}, { window: MORNING }), HOUR + 1_000);
    const learning = (campaign: Partial<EstimatedCampaign>) =>
      sent({ quota: 0, limit: 100 }, { window: MORNING, ...campaign }, { quota: 0 });
    expect(learning({})).toMatchObject({ earliest: HOUR, latest: null });
    expect(learning({ launchAt: NOW + 3 * HOUR }).earliest).toBe(25 * HOUR);
    expect(learning({ lapseAt: NOW + 60_000 }).earliest).toBe(60_000);
  });

  test('and the open hours of both windows count', () => {
    // Half an hour a day, from 9:30 on, in which the quota of an hour can be sent.
    const sendWindow = 'Mon-Sun 08:00-08:30, Mon-Sun 09:30-10:30; UTC';
    const { earliest, latest } = sent({}, { requests: 2_500, window: MORNING }, { sendWindow });
    expect(earliest).toBeGreaterThanOrEqual(2 * DAY + 1.5 * HOUR);
    expect(latest).toBeLessThan(3 * DAY + 2 * HOUR);
  });

  test('while the other campaigns go on', () => {
    const others = { campaigns: [{ ...other, score: 0, requests: 4_000 }] };
    expectAround(sent(others, { requests: 200, window: 'Mon-Sun 18:00-20:00; UTC' }), 10 * HOUR + 2_000);
  });

  test('so that what does not fit before it lapses is not sent', () => {
    const requests = 3_000;
    const inTime = (lapseAt: number) => estimated({}, { requests, window: MORNING, lapseAt }).inTime;
    expect(inTime(NOW + HOUR - 1)).toEqual({ atLeast: 0, atMost: 0 });
    const { atLeast, atMost } = inTime(NOW + 1.5 * HOUR);
    expect([atLeast >= 700, atMost <= 1_000]).toEqual([true, true]);
    expect(inTime(NOW + 30 * DAY)).toEqual({ atLeast: requests, atMost: requests });
  });
});

test('While nothing is known about the quota, all may be sent before they lapse, and as many as with a modest one are', () => {
  const { atLeast, atMost } = estimated(
    { ...idleLane(NOW, 100, HOUR, 0.2), quota: 0 },
    { requests: 900, lapseAt: NOW + HOUR },
    { quota: 0 },
  ).inTime;
  expect([atLeast, atMost]).toEqual([80, 900]);
});

describe('From a tenth of a campaign on, its last message is sent within the estimated range', () => {
  const quotas = fc.integer({ min: 20, max: 60 });
  const most = (kinds: Partial<SimulatedLane['rules']>) => fc.constant(kinds);
  const campaigns = (window: fc.Arbitrary<string | undefined>, delay: number, lapses: number) =>
    fc.array(
      fc.record({
        windows: fc.double({ min: 0.1, max: 3, noNaN: true }),
        weight: fc.constantFrom(1, 4, 0.25),
        delay: fc.integer({ min: 0, max: delay }),
        lapses: fc.integer({ min: 0, max: lapses }),
        window,
      }),
      { minLength: 1, maxLength: 4 },
    );
  const none = fc.constant(undefined);
  const HOURS = ['Mon-Sun 09:00-12:00; UTC', 'Mon-Fri 08:00-20:00; UTC', 'Mon-Sun 08:00-10:00; Europe/Paris'];
  const hours = fc.option(fc.constantFrom(...HOURS), { nil: undefined });

  test.each<[string, fc.Arbitrary<Partial<SimulatedLane['rules']>>, ReturnType<typeof campaigns>]>([
    [
      'with campaigns that share the lane',
      fc.record({ pollShare: fc.constantFrom(0, 0.2, 0.5) }),
      campaigns(none, 0, 0),
    ],
    ['with smooth pacing', most({ smooth: true }), campaigns(none, 0, 0)],
    ['with launches and lapses', most({}), campaigns(none, 4 * HOUR, 6 * HOUR)],
    [
      'with a window of the lane',
      fc.record({ sendWindow: fc.constantFrom(...HOURS) }),
      campaigns(none, 0, 0),
    ],
    ['with windows of campaigns', most({}), campaigns(hours, HOUR, 0)],
    [
      'with late first polls',
      fc.record({ firstPoll: fc.integer({ min: 15_000, max: 4 * HOUR }) }),
      campaigns(none, 0, 0),
    ],
    [
      'with a short deadline',
      fc.record({ deadline: fc.integer({ min: 6 * HOUR, max: DAY }) }),
      campaigns(none, 0, 0),
    ],
  ])('%s', (_, changes, shared) => {
    fc.assert(
      fc.property(quotas, changes, shared, fc.integer({ min: 0, max: 40 }), (quota, change, list, minute) => {
        const begin = NOW + minute * 91_234;
        const lane: SimulatedLane = {
          ...{ begin, latency: 2_000, repeated: 0.1, rules: { ...rules, pollShare: 0.2, ...change, quota } },
          campaigns: list.map(({ windows, weight, delay, lapses, window }, at) => ({
            ...{ id: `c${at}`, requests: Math.ceil(windows * quota), weight, at: begin + delay, window },
            // The first one does not lapse.
            lapseAt: at > 0 && lapses > 0 ? begin + delay + lapses : 0,
          })),
        };
        expect(outside(lane)).toEqual([]);
      }),
      { numRuns: NIGHTLY ? 60 : 10, seed: 7, endOnFailure: true },
    );
  });
});

/** Estimates, each of one campaign at one moment, that did not contain the truth; times in windows from the begin. */
function outside(lane: SimulatedLane) {
  const { begin, campaigns, rules } = lane;
  const estimates: {
    readonly id: string;
    readonly at: number;
    readonly earliest: number;
    readonly latest: number;
  }[] = [];
  const windowsOf = (ms: number): number => (ms - begin) / rules.window;
  let steps = 0;
  const lastSent = simulate(lane, (look, left) => {
    steps += 1;
    if (steps % 37 !== 0) return;
    const outlook = look();
    for (const { id, requests: all, weight, at, window, lapseAt } of campaigns) {
      const requests = left(id);
      if (lapseAt > 0 || requests === 0 || requests > 0.9 * all) continue;
      const campaign = { ...own, id, requests, weight, launchAt: at, window };
      const { eta } = estimate(outlook, rules, campaign);
      const [earliest, latest] = [eta?.earliest, eta?.latest].map((time) =>
        windowsOf(Date.parse(time ?? '')),
      );
      estimates.push({ id, at: windowsOf(outlook.now), earliest: earliest ?? 0, latest: latest ?? 0 });
    }
  });
  const truth = (id: string): number => windowsOf(lastSent.get(id) ?? Number.NaN);
  return estimates
    .filter(({ id, earliest, latest }) => !(earliest <= truth(id) && truth(id) <= latest))
    .map((one) => ({ ...one, truth: truth(one.id), lane }));
}
