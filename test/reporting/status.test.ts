import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/index.js';
import type { LaneOutlook } from '../../src/campaign/estimate/lane-outlook.js';
import { readWindow } from '../../src/campaign/estimate/window.js';
import { OLDER_DATA } from '../../src/campaign/states/block-codes.js';
import { readLaneOutlook } from '../../src/engine/lane/lane-outlook.js';
import type { LaneStatusRecord } from '../../src/engine/lane/lane-status.js';
import type { StoredState } from '../../src/engine/store/campaigns.js';
import { laneStatus } from '../../src/reporting/status.js';
import { testRedis } from '../base/redis/test-redis.js';
import { closedBy } from '../engine/lane/closed-by.js';
import { laneFixture, RULES, START } from '../engine/lane/lane-fixture.js';

import { META, OPEN, statusOf } from './status-fixture.js';

const { redis, prefix } = testRedis('campaign-status');
const LATER = START + 60_000;
const at = (ms: number): string => new Date(ms).toISOString();

const { lanes } = loadConfig({
  API_KEY: 'key',
  MESSAGING_BASE_URL: 'http://127.0.0.1:9',
  HOURLY_QUOTA: '100',
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
    statusOf(
      {},
      {},
      {
        meta: { ...META, ...(window !== undefined && { window }) },
        lane: { name: 'main', rules: { ...RULES, ...(sendWindow !== undefined && { sendWindow }) } },
        outlook,
      },
    );
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

  test('waits for the first of the zones of its recipients that opens', () => {
    const window = 'Mon-Sun 09:00-20:00; recipient';
    const zoneCounts = [
      { zone: 'America/Denver', recipients: 10, waiting: 4 },
      { zone: 'Pacific/Honolulu', recipients: 1, waiting: 1 },
    ];
    const given = { meta: { ...META, window }, zones: zoneCounts, outlook: null };
    // At eight UTC, it is two at night in Denver, and ten in Oslo.
    expect(statusOf({}, {}, given)).toMatchObject({
      waitingFor: 'window',
      window: { hours: 'Mon-Sun 09:00-20:00', zone: 'recipient', opensAt: at(START + 7 * 3_600_000) },
      blockedBy: { code: 'windowClosed', until: at(START + 7 * 3_600_000) },
      zones: [
        { zone: 'America/Denver', recipientCount: 10, waiting: 4, opensAtLocal: '09:00' },
        { zone: 'Pacific/Honolulu', recipientCount: 1, waiting: 1 },
      ],
    });
    const open = [...zoneCounts, { zone: 'Europe/Oslo', recipients: 5, waiting: 5 }];
    expect(statusOf({}, {}, { ...given, zones: open })).toMatchObject({ blockedBy: null, waitingFor: null });
  });

  test('sends while both windows are open', () => {
    expect(statusIn(open, open)).toMatchObject({ blockedBy: null, waitingFor: null });
  });
});

const NO_TOKEN = closedBy('noToken', { why: 'api.example refuses connections', until: LATER });
const STOPPED = closedBy('stopped', { why: 'HTTP 403' });
const SENT = { counts: { deliveredToNetwork: 2 } };
const failing = (kind: 'send' | 'poll') => ({ failures: [{ kind, since: START, error: 'broken' }] });

describe('a campaign', () => {
  test.each<[string, Partial<StoredState>, Partial<LaneStatusRecord>, object, hasWorkers?: boolean]>([
    ['sends on an open lane', {}, {}, { blockedBy: null, waitingFor: null }],
    ['waits for workers if there are none', {}, {}, { waitingFor: 'workers' }, false],
    [
      'waits for permits if the quota is used up',
      {},
      { sends: 100, nextPermitAt: LATER },
      {
        blockedBy: { code: 'quotaUsed', reason: 'the quota is used up', until: at(LATER) },
        waitingFor: 'permits',
      },
    ],
    [
      'waits for its lane while that backs off',
      {},
      { closed: [closedBy('throttled', { until: LATER })] },
      {
        blockedBy: { code: 'throttled', reason: 'the service returned 429', until: at(LATER) },
        waitingFor: 'lane',
      },
    ],
    [
      'waits for its lane while sending fails there',
      {},
      failing('send'),
      {
        blockedBy: { code: 'sendingFails', state: 'failing', reason: 'broken', until: null },
        waitingFor: 'lane',
        turnFailures: [{ kind: 'send', since: at(START), error: 'broken' }],
      },
    ],
    [
      'waits for its lane while asking for reports fails there and everything is sent',
      SENT,
      failing('poll'),
      {
        blockedBy: { code: 'pollingFails', state: 'failing', reason: 'broken', until: null },
        waitingFor: 'lane',
      },
    ],
    [
      'waits for its lane while that has no token, and shows why and the next attempt',
      {},
      { closed: [NO_TOKEN] },
      {
        blockedBy: { state: 'noToken', reason: 'api.example refuses connections', until: at(LATER) },
        waitingFor: 'lane',
      },
    ],
    [
      'shows no time while its lane is trying to get a token',
      {},
      { closed: [closedBy('noToken', { why: 'api.example refuses connections', until: START - 1 })] },
      { blockedBy: { state: 'noToken', until: null }, waitingFor: 'lane' },
    ],
    [
      'waits for its lane if that has no token to poll with and everything is sent',
      SENT,
      { closed: [NO_TOKEN] },
      { blockedBy: { state: 'noToken', until: at(LATER) }, waitingFor: 'lane' },
    ],
    [
      'waits for its lane if a poll has stopped it after everything was sent, and shows why',
      SENT,
      { closed: [STOPPED] },
      { blockedBy: { state: 'stopped', reason: 'HTTP 403', until: null }, waitingFor: 'lane' },
    ],
    [
      'waits for its lane if a poll has stopped it after the campaign was cancelled',
      { state: 'cancelled', counts: { deliveredToNetwork: 1, cancelled: 1 } },
      { closed: [STOPPED] },
      { blockedBy: { state: 'stopped', reason: 'HTTP 403', until: null }, waitingFor: 'lane' },
    ],
    [
      'shows no failure of its lane once it has ended',
      { endedAt: LATER, state: 'completed', counts: { deliveredToTerminal: 2 } },
      failing('poll'),
      { turnFailures: [], waitingFor: null },
    ],
    [
      'waits for its start if it is scheduled',
      { state: 'scheduled', launchAt: LATER },
      {},
      {
        blockedBy: { code: 'scheduled', reason: 'scheduled for later', until: at(LATER) },
        waitingFor: 'start',
      },
    ],
    [
      'waits for an operator if it is paused',
      { state: 'paused' },
      {},
      { blockedBy: { code: 'paused', reason: 'paused', until: null }, waitingFor: 'operator' },
    ],
    [
      'waits for a decision if only unknown outcomes are left',
      { counts: { unknown: 2 } },
      {},
      { blockedBy: null, waitingFor: 'resolve', eta: null },
    ],
    ['waits for reports if everything is sent', SENT, {}, { blockedBy: null, waitingFor: 'reports' }],
    [
      'waits for nothing when it has ended',
      { state: 'completed', counts: { deliveredToTerminal: 2 }, endedAt: LATER },
      {},
      { blockedBy: null, waitingFor: null, endedAt: at(LATER) },
      false,
    ],
  ])('%s', (_title, state, view, expected, hasWorkers = true) => {
    expect(statusOf(state, view, { hasWorkers })).toMatchObject(expected);
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
      { closed: [NO_TOKEN] },
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
      { closed: [STOPPED, closedBy('noToken', { why: 'a timeout' })] },
      { state: 'stopped', blockedBy: { reason: 'HTTP 403', until: null } },
    ],
    [
      'is stopped',
      { closed: [STOPPED] },
      { state: 'stopped', blockedBy: { reason: 'HTTP 403', until: null } },
    ],
  ])('%s', (_title, view, expected) => {
    const [settings] = lanes;
    if (settings === undefined) throw new Error('the configuration has no lane');
    expect(laneStatus({ id: 'main', name: 'main', settings }, { ...OPEN, ...view })).toMatchObject(expected);
  });
});
