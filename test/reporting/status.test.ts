import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/index.js';
import { keyNames } from '../../src/base/redis/keys.js';
import type { LaneOutlook } from '../../src/campaign/estimate/lane-outlook.js';
import { readWindow } from '../../src/campaign/estimate/window.js';
import { OLDER_DATA } from '../../src/campaign/states/block-codes.js';
import { readLaneOutlook } from '../../src/engine/lane/lane-outlook.js';
import type { LaneStatusRecord } from '../../src/engine/lane/lane-status.js';
import type { StoredState } from '../../src/engine/store/campaigns.js';
import { beginImport } from '../../src/intake/import/import-session.js';
import { campaignStatus, laneStatus } from '../../src/reporting/status.js';
import { testRedis } from '../base/redis/test-redis.js';
import { closedBy } from '../engine/lane/closed-by.js';
import { laneFixture, RULES, runningState, START } from '../engine/lane/lane-fixture.js';
import { draft } from '../scene/draft.js';
import { storedLane } from '../scene/stored.js';

const { redis, prefix } = testRedis('campaign-status');
const LATER = START + 60_000;
const at = (ms: number): string => new Date(ms).toISOString();

const OPEN: LaneStatusRecord = {
  now: START,
  sends: 0,
  polls: 0,
  inFlightSends: 0,
  inFlightPolls: 0,
  limit: 100,
  learned: null,
  nextPermitAt: 0,
  nextPermits: 0,
  keptForPolls: 0,
  window: 3_600_000,
  width: 9_375,
  ahead: 393_750,
  buckets: [],
  perMinute: [0, 0, 0, 0, 0],
  permitsToCome: [],
  closed: [],
  throttled: 0,
  epoch: 0,
  running: 1,
  scheduled: 0,
  waiting: 0,
  awaiting: 0,
  unknown: 0,
  sendAt: 0,
  pollAt: -1,
  sendBlocked: '',
  pollBlocked: '',
  latency: 100,
  losses: 0,
  pollDueAt: 0,
  closedMs: 0,
  failures: [],
};

const META = draft('c', { name: 'Spring', created: START });

const RUNNING: StoredState = { ...runningState(2), batch: 1 };

const { lanes } = loadConfig({
  API_KEY: 'key',
  MESSAGING_BASE_URL: 'http://127.0.0.1:9',
  HOURLY_QUOTA: '100',
});

const statusOf = (
  state: Partial<StoredState>,
  view: Partial<LaneStatusRecord> = {},
  hasWorkers = true,
  meta = META,
) =>
  campaignStatus({
    meta,
    state: { ...RUNNING, ...state },
    lane: { name: 'main', rules: RULES },
    isConfigured: true,
    view: { ...OPEN, ...view },
    outlook: null,
    unknownOutcomes: [],
    hasWorkers,
    acceptedCost: null,
  });

describe('a campaign in a window', () => {
  const ruleOf = (window: string): string => {
    const read = readWindow({ hours: window, zone: 'UTC' }, START);
    if (!read.ok) throw new Error(read.reason);
    return read.rule;
  };
  // START is a Friday, at eight.
  const [open, closed] = [ruleOf('Fri 08:00-12:00'), ruleOf('Fri 10:00-12:00')];
  const statusIn = (
    window: string | undefined,
    sendWindow: string | undefined,
    outlook: LaneOutlook | null = null,
  ) =>
    campaignStatus({
      meta: { ...META, ...(window !== undefined && { window }) },
      state: RUNNING,
      lane: { name: 'main', rules: { ...RULES, ...(sendWindow !== undefined && { sendWindow }) } },
      isConfigured: true,
      view: OPEN,
      outlook,
      unknownOutcomes: [],
      hasWorkers: true,
      acceptedCost: null,
    });
  const until = at(START + 7_200_000);

  test('waits while the window of its lane is closed, also if its own is open', () => {
    const reason = 'the window of its lane is closed (Fri 10:00-12:00 UTC)';
    const waits = { blockedBy: { state: 'waiting', reason, until }, waitingFor: 'window' };
    expect(statusIn(undefined, closed)).toMatchObject({ ...waits, window: null });
    expect(statusIn(open, closed)).toMatchObject({ ...waits, window: { hours: 'Fri 08:00-12:00' } });
  });

  test('waits while its own window is closed, also if that of its lane is open', () => {
    const reason = 'the window is closed (Fri 10:00-12:00 UTC)';
    const waits = { blockedBy: { state: 'waiting', reason, until }, waitingFor: 'window' };
    expect(statusIn(closed, open)).toMatchObject(waits);
  });

  test('is expected to be sent when both windows are open', async () => {
    const outlook = await readLaneOutlook(laneFixture(redis, prefix, 'windows').store, START);
    const earliest = (...windows: Parameters<typeof statusIn>) => statusIn(...windows).eta?.earliest;
    expect(earliest(open, open, outlook)).toBe(at(START));
    expect(earliest(open, closed, outlook)).toBe(until);
    expect(earliest(closed, open, outlook)).toBe(until);
  });

  test('sends while both windows are open', () => {
    expect(statusIn(open, open)).toMatchObject({ blockedBy: null, waitingFor: null });
  });
});

describe('a campaign', () => {
  test.each<[string, Partial<StoredState>, Partial<LaneStatusRecord>, boolean, object]>([
    ['sends on an open lane', {}, {}, true, { blockedBy: null, waitingFor: null }],
    ['waits for workers if there are none', {}, {}, false, { waitingFor: 'workers' }],
    [
      'waits for permits if the quota is used up',
      {},
      { sends: 100, nextPermitAt: LATER },
      true,
      {
        blockedBy: { code: 'quotaUsed', reason: 'the quota is used up', until: at(LATER) },
        waitingFor: 'permits',
      },
    ],
    [
      'waits for its lane while that backs off',
      {},
      { closed: [closedBy('throttled', { until: LATER })] },
      true,
      {
        blockedBy: { code: 'throttled', reason: 'the service returned 429', until: at(LATER) },
        waitingFor: 'lane',
      },
    ],
    [
      'waits for its lane while sending fails there',
      {},
      { failures: [{ kind: 'send', since: START, error: 'broken' }] },
      true,
      {
        blockedBy: { code: 'sendingFails', state: 'failing', reason: 'broken', until: null },
        waitingFor: 'lane',
        turnFailures: [{ kind: 'send', since: at(START), error: 'broken' }],
      },
    ],
    [
      'waits for its lane while asking for reports fails there and everything is sent',
      { counts: { deliveredToNetwork: 2 } },
      { failures: [{ kind: 'poll', since: START, error: 'broken' }] },
      true,
      {
        blockedBy: { code: 'pollingFails', state: 'failing', reason: 'broken', until: null },
        waitingFor: 'lane',
      },
    ],
    [
      'waits for its lane while that has no token, and shows why and the next attempt',
      {},
      { closed: [closedBy('noToken', { why: 'api.example refuses connections', until: LATER })] },
      true,
      {
        blockedBy: { state: 'noToken', reason: 'api.example refuses connections', until: at(LATER) },
        waitingFor: 'lane',
      },
    ],
    [
      'shows no time while its lane is trying to get a token',
      {},
      { closed: [closedBy('noToken', { why: 'api.example refuses connections', until: START - 1 })] },
      true,
      { blockedBy: { state: 'noToken', until: null }, waitingFor: 'lane' },
    ],
    [
      'waits for its lane if that has no token to poll with and everything is sent',
      { counts: { deliveredToNetwork: 2 } },
      { closed: [closedBy('noToken', { why: 'api.example refuses connections', until: LATER })] },
      true,
      { blockedBy: { state: 'noToken', until: at(LATER) }, waitingFor: 'lane' },
    ],
    [
      'waits for its lane if a poll has stopped it after everything was sent, and shows why',
      { counts: { deliveredToNetwork: 2 } },
      { closed: [closedBy('stopped', { why: 'HTTP 403' })] },
      true,
      { blockedBy: { state: 'stopped', reason: 'HTTP 403', until: null }, waitingFor: 'lane' },
    ],
    [
      'waits for its lane if a poll has stopped it after the campaign was cancelled',
      { state: 'cancelled', counts: { deliveredToNetwork: 1, cancelled: 1 } },
      { closed: [closedBy('stopped', { why: 'HTTP 403' })] },
      true,
      { blockedBy: { state: 'stopped', reason: 'HTTP 403', until: null }, waitingFor: 'lane' },
    ],
    [
      'shows no failure of its lane once it has ended',
      { endedAt: LATER, state: 'completed', counts: { deliveredToTerminal: 2 } },
      { failures: [{ kind: 'poll', since: START, error: 'broken' }] },
      true,
      { turnFailures: [], waitingFor: null },
    ],
    [
      'waits for its start if it is scheduled',
      { state: 'scheduled', launchAt: LATER },
      {},
      true,
      {
        blockedBy: { code: 'scheduled', reason: 'scheduled for later', until: at(LATER) },
        waitingFor: 'start',
      },
    ],
    [
      'waits for an operator if it is paused',
      { state: 'paused' },
      {},
      true,
      { blockedBy: { code: 'paused', reason: 'paused', until: null }, waitingFor: 'operator' },
    ],
    [
      'waits for a decision if only unknown outcomes are left',
      { counts: { unknown: 2 } },
      {},
      true,
      { blockedBy: null, waitingFor: 'resolve', eta: null },
    ],
    [
      'waits for reports if everything is sent',
      { counts: { deliveredToNetwork: 2 } },
      {},
      true,
      { blockedBy: null, waitingFor: 'reports' },
    ],
    [
      'waits for nothing when it has ended',
      { state: 'completed', counts: { deliveredToTerminal: 2 }, endedAt: LATER },
      {},
      false,
      { blockedBy: null, waitingFor: null, endedAt: at(LATER) },
    ],
  ])('%s', (_title, state, view, hasWorkers, expected) => {
    expect(statusOf(state, view, hasWorkers)).toMatchObject(expected);
  });
});

describe('a lane', () => {
  test.each<[string, Partial<LaneStatusRecord>, object]>([
    ['is open', {}, { state: 'open', blockedBy: null }],
    [
      'backs off while the service is unreachable',
      { closed: [closedBy('unreachable', { until: LATER })] },
      {
        state: 'backingOff',
        blockedBy: {
          code: 'unreachable',
          reason: 'the service is unreachable or does not respond',
          until: at(LATER),
        },
      },
    ],
    [
      'probes when its backoff is over',
      { closed: [closedBy('throttled', { until: START - 1 })] },
      { state: 'probing', blockedBy: null },
    ],
    [
      'is recovering while workers replay their claims after a loss of data',
      { closed: [closedBy('recovering', { until: LATER })] },
      {
        state: 'recovering',
        blockedBy: {
          reason: 'workers report again what they sent last, in case Redis has lost data',
          until: at(LATER),
        },
      },
    ],
    [
      'is held by an operator',
      { closed: [closedBy('held', { why: 'held by an operator', since: LATER })] },
      {
        state: 'held',
        blockedBy: { code: 'held', reason: 'held by an operator', since: at(LATER), until: null },
      },
    ],
    [
      'is held because a backup was restored',
      { closed: [closedBy('held', { why: OLDER_DATA })] },
      { state: 'held', blockedBy: { code: 'olderData', until: null } },
    ],
    [
      'waits for a token, whose reason and next attempt it shows',
      { closed: [closedBy('noToken', { why: 'api.example refuses connections', until: LATER })] },
      {
        state: 'noToken',
        blockedBy: { reason: 'api.example refuses connections', until: at(LATER) },
      },
    ],
    [
      'waits for a token even while it would probe',
      { closed: [closedBy('noToken', { why: 'a timeout' }), closedBy('throttled', { until: START - 1 })] },
      { state: 'noToken', blockedBy: { reason: 'a timeout', until: null } },
    ],
    [
      'is stopped, whether it has a token or not',
      { closed: [closedBy('stopped', { why: 'HTTP 403' }), closedBy('noToken', { why: 'a timeout' })] },
      { state: 'stopped', blockedBy: { reason: 'HTTP 403', until: null } },
    ],
    [
      'is stopped',
      { closed: [closedBy('stopped', { why: 'HTTP 403' })] },
      { state: 'stopped', blockedBy: { reason: 'HTTP 403', until: null } },
    ],
  ])('%s', (_title, view, expected) => {
    const [settings] = lanes;
    if (settings === undefined) throw new Error('the configuration has no lane');
    expect(laneStatus({ id: 'main', name: 'main', settings }, { ...OPEN, ...view })).toMatchObject(expected);
  });
});

describe('The rate of a campaign', () => {
  const HOUR = 3_600_000;
  const sent = { counts: { planned: 500, deliveredToNetwork: 400, unknown: 100 }, total: 1000 };

  test.each<[string, Partial<StoredState>, Partial<LaneStatusRecord>, number | null]>([
    ['is the average of the accepted messages since its launch', {}, {}, 200],
    ['leaves out the time in which its lane could not send', {}, { closedMs: HOUR }, 400],
    ['counts only what closed the lane since its launch', { idleMs: -HOUR }, { closedMs: HOUR }, 200],
    ['leaves out its own pauses', { idleMs: 1.5 * HOUR }, {}, 800],
    ['is null while it is paused', { state: 'paused' }, {}, null],
    ['is null in the first second', {}, { now: START + 999 }, null],
    ['is null before anything is sent', { counts: { planned: 99, sending: 1 } }, {}, null],
    [
      'is null below 100 accepted messages',
      { counts: { planned: 1, unknown: 1, unconfirmed: 99 } },
      {},
      null,
    ],
    [
      'counts every final status of an accepted message',
      { counts: { planned: 1, unconfirmed: 100 } },
      {},
      50,
    ],
    ['is null once everything is sent', { counts: { deliveredToNetwork: 100 } }, {}, null],
    ['counts no recipients who get no message', { counts: { planned: 60, suppressed: 140 } }, {}, null],
  ])('%s', (_, state, view, rate) => {
    expect(statusOf({ ...sent, ...state }, { now: START + 2 * HOUR, ...view }).rate).toBe(rate);
  });

  test('is known while its window is closed, as soon as a worker has noted that', () => {
    // START is at eight.
    const shut = { ...META, window: 'Mon-Sun 06:00-07:00; UTC' };
    const rateOf = (state: Partial<StoredState>) =>
      statusOf({ ...sent, launchAt: START - 2 * HOUR, ...state }, {}, true, shut).rate;
    expect(rateOf({})).toBeNull();
    expect(rateOf({ opensAt: START + 22 * HOUR, activeMs: HOUR })).toBe(400);
  });
});

test('The time in which a campaign is paused, its lane is held, or both, does not count for its rate', async () => {
  const { commands, views, state, campaign } = laneFixture(redis, prefix, 'rate');
  const MINUTE = 60_000;
  const after = (minutes: number): number => START + minutes * MINUTE;
  // Before the campaign, the lane was held for an hour.
  await commands.lane('hold', 'held', after(-60));
  await commands.lane('resume', '', START);
  // A worker sees each change at once.
  await views.tend(1e12, START);
  await campaign('c', 100, { launchAt: START, idleMs: -60 * MINUTE });
  await commands.campaign('pause', 'c', 'paused', after(10));
  await commands.campaign('pause', 'c', 'paused again', after(11));
  await commands.lane('hold', 'held', after(12));
  await commands.lane('hold', 'held again', after(13));
  await commands.campaign('resume', 'c', '', after(20));
  await commands.lane('resume', '', after(30));
  await views.tend(1e12, after(30));
  const activeAt = async (minutes: number): Promise<number> => {
    const { closedMs } = await views.look(after(minutes));
    const { launchAt, idleMs } = await state('c');
    return (after(minutes) - Number(launchAt) - closedMs - Number(idleMs)) / MINUTE;
  };
  // From 0 to 10, and from 30 on.
  expect(await activeAt(30)).toBe(10);
  expect(await activeAt(35)).toBe(15);
  await commands.lane('hold', 'held', after(40));
  expect(await activeAt(50)).toBe(20);
});

test('The rate of a campaign that starts late, because no worker ran, counts from its start', async () => {
  const { commands, views, state, campaign } = laneFixture(redis, prefix, 'late');
  const stored = storedLane({ redis, keys: keyNames(prefix), id: 'late' });
  const after = (minutes: number): number => START + minutes * 60_000;
  await campaign('c', 100, { state: 'scheduled', launchAt: START });
  await stored.schedule('c', START);
  await commands.lane('hold', 'held', after(20));
  await commands.lane('resume', '', after(30));
  await views.tend(1e12, after(60));
  const { closedMs } = await views.look(after(61));
  const { state: now, launchAt, idleMs } = await state('c');
  expect(now).toBe('running');
  expect(after(61) - Number(launchAt) - closedMs - Number(idleMs)).toBe(60_000);
});

/** A lane with one campaign that began at once, by the clock of Redis, before any worker ran. Times are minutes after that. */
async function withoutWorker(name: string) {
  const lane = laneFixture(redis, `${prefix}-${name}`, 'main');
  const session = await beginImport(redis, lane.keys, META);
  for (const number of ['+447700900123', '+447700900124']) session.recipients.add({ number, values: [] });
  await session.commit(META);
  const launchAt = Number((await lane.state('c'))['launchAt']);
  const after = (minutes: number): number => launchAt + minutes * 60_000;
  const claim = (minutes: number) =>
    lane.claims.send({ turn: `at ${minutes}`, call: 1, want: 1, seen: 0, now: after(minutes) });
  /** For how long the campaign could send, in minutes. */
  const activeAt = async (minutes: number): Promise<number> => {
    const { closedMs } = await lane.views.look(after(minutes));
    return minutes - (closedMs + Number((await lane.state('c'))['idleMs'])) / 60_000;
  };
  return { ...lane, after, claim, activeAt };
}

test('The rate of a campaign that starts at once, while no worker runs, counts from the first worker', async () => {
  const { claim, activeAt } = await withoutWorker('claimed');
  expect(await activeAt(59)).toBe(0);
  await claim(60);
  expect(await activeAt(61)).toBe(1);
  await claim(65);
  expect(await activeAt(70)).toBe(10);
});

test('A sweep is a worker too, and time without one that is also time held counts once', async () => {
  const { commands, views, after, activeAt } = await withoutWorker('swept');
  await commands.lane('hold', 'held', after(20));
  await views.tend(1e12, after(30));
  expect(await activeAt(35)).toBe(0);
  await commands.lane('resume', '', after(40));
  expect(await activeAt(50)).toBe(0);
  await views.tend(1e12, after(50));
  expect(await activeAt(52)).toBe(2);
});

test('The rate of a campaign that is resumed while no worker runs counts on from the next worker', async () => {
  const { commands, claim, after, activeAt } = await withoutWorker('resumed');
  await claim(10);
  await commands.campaign('pause', 'c', 'a test', after(15));
  await commands.campaign('resume', 'c', '', after(20));
  expect(await activeAt(30)).toBe(5);
  await claim(40);
  expect(await activeAt(42)).toBe(7);
});

test('The rate of a campaign stays as it was when everything was sent', async () => {
  const { claims, settlements, views, state, campaign } = laneFixture(redis, prefix, 'sent', {
    maxRecipients: 100,
  });
  const HOUR = 3_600_000;
  await campaign('c', 100, { launchAt: START });
  const claimed = await claims.send({ turn: 't', call: 1, want: 1, seen: 0, now: START });
  const [claim] = claimed.claims;
  if (claim === undefined) throw new Error('the lane claimed nothing');
  const accepted = { claim, result: 'accepted', letters: 'TI'.repeat(50), requestId: 'r' } as const;
  await settlements.send([accepted], 0, START + HOUR / 2);
  const { counts, activeMs } = await state('c');
  for (const later of [1, 24]) {
    const now = START + later * HOUR;
    const shown = statusOf({ total: 100, counts, activeMs: Number(activeMs) }, await views.look(now));
    expect(shown.rate).toBe(200);
  }
});

test.each(['cancel', 'lapse'] as const)(
  'The rate of a campaign after a %s leaves out its pauses',
  async (end) => {
    const name = `rate-${end}`;
    const { commands, views, state, campaign } = laneFixture(redis, prefix, name);
    const MINUTE = 60_000;
    const after = (minutes: number): number => START + minutes * MINUTE;
    const counted = { cursor: 110, counts: { planned: 90, deliveredToNetwork: 110 } };
    await campaign('c', 200, { launchAt: START, lapseAt: after(40), ...counted });
    await storedLane({ redis, keys: keyNames(prefix), id: name }).lapse('c', after(40));
    await commands.campaign('pause', 'c', 'paused', after(5));
    await commands.campaign('resume', 'c', '', after(25));
    // A worker sees it at once.
    await views.tend(1e12, after(25));
    if (end === 'cancel') await commands.campaign('cancel', 'c', '', after(40));
    else await views.tend(1e12, after(40));
    const { counts, activeMs } = await state('c');
    expect(counts).toMatchObject(end === 'cancel' ? { cancelled: 90 } : { lapsed: 90 });
    expect(activeMs).toBe(20 * MINUTE);
    const shown = statusOf({ total: 200, counts, activeMs: Number(activeMs) }, await views.look(after(60)));
    expect(shown.rate).toBe(330);
  },
);
