import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type EstimatedCampaign,
  type EstimateRules,
  estimate,
  type LaneOutlook,
  requestsInTime,
} from '../../src/campaign/estimate.js';
import { requestsLeft, requestsNeeded } from '../../src/campaign/request-count.js';

const HOUR = 3_600_000;
const NOW = 1_800_000_000_000;
const SLICE = 256;

const rules: EstimateRules = {
  quota: 1000,
  window: HOUR,
  pollShare: 0.2,
  smooth: false,
  inFlight: 32,
  timeout: 30_000,
  maxRecipients: 1,
  firstPoll: 15_000,
  pollAgain: 15_000,
  deadline: 72 * HOUR,
  resolveAfter: 0,
};

/** An open lane that has sent nothing in this window. */
const idle: LaneOutlook = {
  now: NOW,
  quota: 1000,
  isProven: true,
  certain: 0,
  deducted: 0,
  deductedAt: 0,
  returning: [],
  inFlightSends: 0,
  inFlightPolls: 0,
  lastSendAt: 0,
  lastPollAt: 0,
  latency: 100,
  paceAt: 0,
  virtualTime: 0,
  stopped: '',
  held: '',
  noToken: '',
  isBackingOff: false,
  isUnreachable: false,
  opensAt: 0,
  unpolled: [0, 0],
  polled: [0, 0],
  dueWithin: [0],
  oldestDue: 0,
  firstPoll: 15_000,
  isHeard: false,
  campaigns: [],
  unlisted: 0,
  scheduled: [],
};

/** A campaign that is launched now. */
const own: EstimatedCampaign = {
  id: 'own',
  requests: 100,
  weight: 1,
  launchAt: 0,
  lapseAt: 0,
  sending: 0,
  awaiting: 0,
  unknown: 0,
  obstacle: null,
  windows: [],
};

/** The estimate of when the last message is sent, ms from now. */
function sent(
  lane: Partial<LaneOutlook>,
  campaign: Partial<EstimatedCampaign>,
  more: Partial<EstimateRules> = {},
) {
  const { eta } = estimate({ ...idle, ...lane }, { ...rules, ...more }, { ...own, ...campaign });
  if (eta === null) throw new Error('there is something to send');
  const { earliest, latest, reason } = eta;
  return {
    earliest: Date.parse(earliest) - NOW,
    latest: latest === null ? null : Date.parse(latest) - NOW,
    reason,
  };
}

/** Expects a range around this many ms from now that is no wider than a tenth of a window. */
function expectAround(range: ReturnType<typeof sent>, ms: number): void {
  expect(range.earliest).toBeLessThanOrEqual(ms);
  expect(range.latest).toBeGreaterThanOrEqual(ms);
  expect((range.latest ?? Number.NaN) - range.earliest).toBeLessThan(HOUR / 10);
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
    const returning = [NOW + 0.75 * HOUR, 800, 200];
    expectAround(sent({ returning }, { requests: 10 }), 0.75 * HOUR);
    expectAround(sent({ returning }, { requests: 810 }), 1.75 * HOUR);
  });

  test('takes into account that polls get their share of the permits', () => {
    expectAround(sent({}, { requests: 801 }), HOUR);
    expectAround(sent({}, { requests: 801 }, { pollShare: 0 }), 3_000);
  });

  test('is later by the requests of campaigns with which it shares the lane', () => {
    const other = {
      ...{ id: 'other', score: -5, batch: 1, slice: SLICE, cursor: 0, ordinals: 10_000, released: [] },
      ...{ lapseAt: 0, notBefore: 0 },
    };
    const campaigns = [
      { ...other, weight: 1 },
      { ...other, id: 'own', ordinals: 700, weight: 1 },
    ];
    expectAround(sent({ campaigns }, {}), HOUR);
    // Its own weight of 4 gives it four requests of five.
    const heavy = [
      { ...other, weight: 1 },
      { ...other, id: 'own', ordinals: 600, weight: 4 },
    ];
    expectAround(sent({ campaigns: heavy }, {}), 2_000);
  });

  test('is not affected by a campaign that will only be launched later', () => {
    const later = {
      ...{
        id: 'later',
        score: NOW + 2 * HOUR,
        weight: 1,
        batch: 1,
        slice: SLICE,
        cursor: 0,
        ordinals: 10_000,
      },
      ...{ released: [], lapseAt: 0, notBefore: 0 },
    };
    expect(sent({ scheduled: [later] }, { requests: 1500 })).toEqual(sent({}, { requests: 1500 }));
    expect(sent({ scheduled: [later] }, { requests: 4000 }).earliest).toBeGreaterThan(5 * HOUR);
  });

  test('is after the end of a backoff, and after the launch', () => {
    expectAround(sent({ opensAt: NOW + HOUR, isBackingOff: true }, {}), HOUR);
    expectAround(sent({}, { launchAt: NOW + 5 * HOUR }), 5 * HOUR);
  });

  test('is spread over the window with smooth pacing', () => {
    expectAround(sent({}, { requests: 500 }, { smooth: true }), HOUR / 2);
  });

  test('is not after the end of its validity', () => {
    expectAround(sent({}, { requests: 100_000, lapseAt: NOW + 2 * HOUR }), 2 * HOUR);
  });

  test('has no latest while the quota is being learned, with the reason', () => {
    const learning = sent({ quota: 0, isProven: false }, {}, { quota: 0 });
    expect(learning).toMatchObject({ latest: null, reason: 'the quota is still being learned' });
    // Nothing is claimed about it: 300,000 requests take minutes at the speed of the connection, and days with a quota.
    expect(sent({ quota: 0, isProven: false }, { requests: 300_000 }, { quota: 0 }).earliest).toBe(0);
  });

  test('has a latest as soon as a quota is learned, by what a window certainly admits until it is proven', () => {
    const learned = { quota: 100, certain: 50 };
    const proven = sent({ ...learned, isProven: true }, { requests: 500 }, { quota: 0 });
    expectAround(proven, 6 * HOUR + 60_000);
    const unproven = sent({ ...learned, isProven: false }, { requests: 500 }, { quota: 0 });
    expect(unproven).toMatchObject({ earliest: proven.earliest, reason: null });
    expect(unproven.latest).toBeGreaterThan(12 * HOUR);
  });

  test('is not before the permit for which a lane waits that has used its quota up', () => {
    const returning = [NOW + 0.5 * HOUR, 800, 200];
    expect(sent({ returning }, { requests: 1 }).earliest).toBe(0.5 * HOUR);
    expect(sent({ returning, quota: 1001 }, { requests: 1 }).earliest).toBe(0);
    // Of 1,010 permits in use or in flight, eleven must return first.
    const two = [NOW + 0.25 * HOUR, 10, 0, NOW + 0.5 * HOUR, 980, 0];
    expect(sent({ returning: two, inFlightSends: 20 }, { requests: 1 }).earliest).toBe(0.5 * HOUR);
  });

  test('has no latest while an operator must act', () => {
    expect(sent({ held: 'held' }, {})).toMatchObject({
      latest: null,
      reason: 'the lane is held until you resume it',
    });
    expect(sent({ stopped: '403' }, {}).reason).toBe('the lane is stopped until you resume it');
    expect(sent({ noToken: 'refused', opensAt: NOW + HOUR }, {})).toEqual({
      earliest: expect.any(Number),
      latest: null,
      reason: 'the lane waits for an access token',
    });
    expect(sent({ noToken: 'refused', opensAt: NOW + HOUR }, {}).earliest).toBeGreaterThanOrEqual(HOUR);
    expect(sent({ isBackingOff: true, isUnreachable: true, opensAt: NOW + HOUR }, {})).toMatchObject({
      latest: null,
      reason: 'the service does not respond',
    });
    expect(sent({}, { obstacle: 'no worker is running' }).reason).toBe('no worker is running');
  });

  test('has no latest if more campaigns are before it than were read', () => {
    expect(sent({ unlisted: 20, campaigns: [] }, { requests: 5 }).latest).not.toBeNull();
    const first = {
      ...{ id: 'first', score: 0, weight: 1, batch: 1, slice: SLICE, cursor: 0, ordinals: 1, released: [] },
      ...{ lapseAt: 0, notBefore: 0 },
    };
    expect(sent({ unlisted: 20, campaigns: [first] }, {}).reason).toBe('20 more campaigns wait in the lane');
  });

  test('does not exist when everything is sent', () => {
    expect(estimate(idle, rules, { ...own, requests: 0 })).toEqual({ eta: null, completion: null });
  });
});

describe('The time of the last final status', () => {
  const completion = (
    lane: Partial<LaneOutlook>,
    campaign: Partial<EstimatedCampaign>,
    more: Partial<EstimateRules> = {},
  ) => estimate({ ...idle, ...lane }, { ...rules, ...more }, { ...own, ...campaign }).completion;

  test('is at most the follow-up deadline and the wait for a permit after the last message', () => {
    const { eta, completion } = estimate(idle, rules, own);
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
    expect(seen).toEqual({
      earliest: new Date(NOW).toISOString(),
      latest: new Date(NOW + 71 * HOUR).toISOString(),
      reason: null,
    });
  });

  test('has no latest while unknown outcomes wait for the operator', () => {
    expect(completion({}, { requests: 0, unknown: 1 })).toMatchObject({
      latest: null,
      reason: 'requests with an unknown outcome wait for `resolve`',
    });
    expect(completion({}, { requests: 0, unknown: 1 }, { resolveAfter: HOUR })?.latest).not.toBeNull();
  });
});

test('No estimate lets a lane send more than its quota, and the range is ordered and narrow', () => {
  const cases = fc.record({
    requests: fc.integer({ min: 1, max: 100_000 }),
    quota: fc.integer({ min: 2, max: 5_000 }),
    used: fc.double({ min: 0, max: 1, noNaN: true }),
    returnsIn: fc.double({ min: 0.01, max: 1, noNaN: true }),
    pollShare: fc.double({ min: 0, max: 0.5, noNaN: true }),
    smooth: fc.boolean(),
  });
  fc.assert(
    fc.property(cases, ({ requests, quota, used, returnsIn, pollShare, smooth }) => {
      const spent = Math.floor(quota * used);
      const returning = spent > 0 ? [NOW + returnsIn * HOUR, spent, 0] : [];
      const { earliest, latest } = sent({ quota, returning }, { requests }, { quota, pollShare, smooth });
      if (latest === null) throw new Error('the quota is known');
      expect(latest).toBeGreaterThanOrEqual(earliest);
      expect(latest - earliest).toBeLessThanOrEqual(Math.max(HOUR / 2, earliest / 4));
      // However the windows lie, this many fit at most.
      expect(quota * (Math.floor(latest / HOUR) + 2) - spent).toBeGreaterThanOrEqual(requests);
    }),
    { numRuns: 200 },
  );
});

/** Windows in UTC around the time of these estimates, 8:00. */
const MORNING = 'Mon-Sun 09:00-10:00; UTC';

test('A campaign whose window is closed is estimated from its opening on', () => {
  const { earliest, latest } = sent({}, { requests: 100, windows: [MORNING] });
  expect(earliest).toBeGreaterThanOrEqual(HOUR);
  expect(earliest).toBeLessThan(HOUR + 60_000);
  expect(latest).toBeLessThan(2 * HOUR);
});

test('While the quota is being learned, the last message is not before the window opens', () => {
  const learning = (campaign: Partial<EstimatedCampaign>) =>
    sent({ quota: 0, isProven: false }, { windows: [MORNING], ...campaign }, { quota: 0 });
  expect(learning({})).toMatchObject({ earliest: HOUR, latest: null });
  expect(learning({ launchAt: NOW + 3 * HOUR }).earliest).toBe(25 * HOUR);
  expect(learning({ lapseAt: NOW + 60_000 }).earliest).toBe(60_000);
});

test('The estimate counts the open hours of both windows only', () => {
  // Without windows, 2,500 requests at 1,000 an hour take two hours.
  expect(sent({}, { requests: 2_500 }).earliest).toBeLessThan(3 * HOUR);
  const closesSoon = 'Mon-Sun 08:00-08:30, Mon-Sun 09:30-10:30; UTC';
  const { earliest, latest } = sent({}, { requests: 2_500, windows: [closesSoon, MORNING] });
  // Half an hour a day, from 9:30 on. A new quota is there each day.
  expect(earliest).toBeGreaterThanOrEqual(25.5 * HOUR);
  expect(latest).toBeLessThan(7 * 24 * HOUR);
});

test('Messages that may lapse do not delay the time from which all recipients may be final', () => {
  const many = { ...own, requests: 100_000, lapseAt: NOW + 2 * HOUR };
  const { completion } = estimate(idle, rules, many);
  expect(Date.parse(completion?.earliest ?? '')).toBeLessThanOrEqual(NOW + 2 * HOUR + rules.firstPoll);
  expect(Date.parse(completion?.latest ?? '')).toBeLessThanOrEqual(NOW + 2 * HOUR + rules.deadline + HOUR);
  // Of messages that certainly do not lapse, each takes a send and a poll.
  const few = { ...own, requests: 5_000, lapseAt: NOW + 100 * HOUR };
  expect(estimate(idle, rules, few)).toEqual(estimate(idle, rules, { ...few, lapseAt: 0 }));
});

test('What does not fit into the window before it lapses is not sent', () => {
  const lapseAt = NOW + 90 * 60_000;
  const estimated = { ...own, requests: 3_000, windows: [MORNING], lapseAt };
  expect(requestsInTime(idle, rules, estimated).atMost).toBeLessThan(2_100);
  expect(requestsInTime(idle, rules, { ...estimated, lapseAt: NOW + HOUR - 1 })).toMatchObject({ atMost: 0 });
});
