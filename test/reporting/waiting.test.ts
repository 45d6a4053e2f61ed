import { describe, expect, test } from 'vitest';
import { BLOCK_CODES, BLOCKS } from '../../src/campaign/states/block-codes.js';
import { WAITING_CODES } from '../../src/campaign/views/live-views.js';
import type { CampaignStatus, LaneStatus } from '../../src/campaign/views/views.js';
import { campaignWaiting, laneWaiting } from '../../src/reporting/waiting.js';
import { isoAt, NOON, statusWith } from '../surfaces/cli/campaign-status.js';

type Changes = Parameters<typeof statusWith>[0];
type Block = NonNullable<CampaignStatus['blockedBy']>;
const block = (state: Block['state'], reason: string, until: string | null = null): Block => {
  const since = ['held', 'stopped', 'paused'].includes(state) ? isoAt(-3_600_000) : null;
  const code = BLOCK_CODES.find((each) => BLOCKS[each].state === state) ?? 'paused';
  return { code, state, reason, since, until };
};
const quota = { used: 5_000, limit: 5_000, keptForPolls: 0, nextPermitAt: isoAt(300_000), nextPermits: 310 };
const failure = { kind: 'send' as const, since: isoAt(-60_000), error: 'ERR not an integer.' };

/** Each cause, with its code, its sentence, until when it lasts, and the operation that ends it. */
const CAUSES: readonly (readonly [
  changes: Changes,
  code: string,
  text: string,
  until?: string | null | undefined,
  operation?: string,
])[] = [
  [{ state: 'importing' }, 'importing', 'Importing its list.'],
  [
    { state: 'scheduled', waitingFor: 'start', sendAt: isoAt(60_000) },
    'scheduled',
    'Starts 12:01:00 UTC.',
    isoAt(60_000),
  ],
  [{}, 'sending', 'Sending.'],
  [
    { waitingFor: 'permits', quota },
    'quota',
    'Waits for quota: 5,000 of 5,000 used; 310 return at 12:05:00 UTC.',
    isoAt(300_000),
  ],
  [
    { waitingFor: 'permits', quota: { ...quota, used: 5_100, nextPermitAt: null, nextPermits: 0 } },
    'quota',
    'Waits for quota: all 5,000 used.',
  ],
  [
    { waitingFor: 'permits', quota: { ...quota, used: 4_000, keptForPolls: 1_000 } },
    'quota',
    'Waits for quota: 4,000 of 5,000 used, 1,000 kept for delivery reports; 310 return at 12:05:00 UTC.',
    isoAt(300_000),
  ],
  [
    {
      waitingFor: 'window',
      blockedBy: block('waiting', 'the window is closed (Mon 9:00-17:00 UTC)', isoAt(9_000)),
    },
    'window',
    'The window is closed (Mon 9:00-17:00 UTC) until 12:00:09 UTC.',
    isoAt(9_000),
  ],
  [
    { waitingFor: 'lane', blockedBy: block('backingOff', 'the service returned 429', isoAt(42_000)) },
    'backingOff',
    'Lane main is backing off: the service returned 429, until 12:00:42 UTC.',
    isoAt(42_000),
  ],
  [
    { waitingFor: 'lane', blockedBy: block('backingOff', 'the service returned 429', isoAt(-1)) },
    'backingOff',
    'Lane main is backing off: the service returned 429.',
  ],
  [
    {
      waitingFor: 'lane',
      blockedBy: block('recovering', 'workers report again what they sent', isoAt(5_000)),
    },
    'recovering',
    'Lane main is recovering: workers report again what they sent, until 12:00:05 UTC.',
    isoAt(5_000),
  ],
  [
    { waitingFor: 'lane', blockedBy: block('noToken', 'api.example refuses connections', isoAt(5_000)) },
    'noToken',
    'Lane main waits for an access token: api.example refuses connections, next attempt 12:00:05 UTC.',
    isoAt(5_000),
  ],
  [
    { waitingFor: 'lane', blockedBy: block('held', 'held by cli ann@host') },
    'held',
    'Lane main is held by cli ann@host (since 11:00:00 UTC). Resume it to continue.',
    null,
    'resumeLane /v1/lanes/main/resume',
  ],
  [
    { waitingFor: 'lane', blockedBy: block('stopped', 'the service answered 403.') },
    'stopped',
    'Lane main is stopped (since 11:00:00 UTC): the service answered 403. Fix the cause, then resume it.',
    null,
    'resumeLane /v1/lanes/main/resume',
  ],
  [
    {
      waitingFor: 'lane',
      blockedBy: block('failing', failure.error),
      turnFailures: [failure],
      counts: { planned: 1 },
    },
    'failing',
    'Lane main: sending has failed since 11:59:00 UTC: ERR not an integer. Volley tries again every second; the log of its workers says more.',
  ],
  [
    { state: 'paused', waitingFor: 'operator', blockedBy: block('paused', 'paused by cli ann@host') },
    'paused',
    'Paused by cli ann@host (since 11:00:00 UTC). Resume it to continue.',
    null,
    'resumeCampaign /v1/campaigns/c1/resume',
  ],
  [
    {
      state: 'paused',
      waitingFor: 'operator',
      blockedBy: block('paused', 'the service refuses every request'),
    },
    'paused',
    'Paused: the service refuses every request (since 11:00:00 UTC). Resume it to continue.',
    null,
    'resumeCampaign /v1/campaigns/c1/resume',
  ],
  [
    {
      state: 'paused',
      waitingFor: 'operator',
      blockedBy: block('paused', 'paused by cli ann@host'),
      counts: { unknown: 2 },
    },
    'unknown',
    'Paused by cli ann@host (since 11:00:00 UTC). 2 recipients have an unknown outcome. Resolve them.',
    null,
    'resolveCampaign /v1/campaigns/c1/resolve',
  ],
  [
    { state: 'paused', waitingFor: 'operator', sendAt: isoAt(60_000) },
    'paused',
    'Paused. If it is resumed before, it starts 12:01:00 UTC. Resume it to continue.',
    null,
    'resumeCampaign /v1/campaigns/c1/resume',
  ],
  [
    { waitingFor: 'lane', turnFailures: [{ ...failure, kind: 'poll' }] },
    'failing',
    'Lane main: asking for delivery statuses has failed since 11:59:00 UTC: ERR not an integer. Volley tries again every second; the log of its workers says more.',
  ],
  [
    { waitingFor: 'resolve', counts: { unknown: 7_000 } },
    'unknown',
    '7,000 recipients have an unknown outcome. Resolve them.',
    null,
    'resolveCampaign /v1/campaigns/c1/resolve',
  ],
  [
    { waitingFor: 'resolve', counts: { unknown: 1 } },
    'unknown',
    'One recipient has an unknown outcome. Resolve it.',
    null,
    'resolveCampaign /v1/campaigns/c1/resolve',
  ],
  [{ waitingFor: 'workers' }, 'workers', 'No worker is running, so nothing happens.'],
  [
    { waitingFor: 'workers', blockedBy: block('waiting', 'lane main is not configured') },
    'unserved',
    'Nothing happens: lane main is not configured.',
  ],
  [
    { waitingFor: 'reports', counts: { deliveredToNetwork: 1_200 } },
    'reports',
    'Everything is sent. Waits for the delivery reports of 1,200 recipients.',
  ],
  [
    { state: 'cancelled', waitingFor: 'reports', counts: { cancelled: 2, deliveredToNetwork: 1 } },
    'reports',
    'Nothing more is sent. Waits for the delivery report of one recipient.',
  ],
  [{ state: 'cancelled' }, 'finishing', 'Cancelled. Finishing in-flight requests.'],
  [{ state: 'cancelled', endedAt: isoAt(0) }, 'cancelled', 'Cancelled.'],
  [
    { state: 'completed', endedAt: isoAt(0) },
    'completed',
    'Completed in 1m: every recipient is accounted for.',
  ],
];

for (const [changes, code, text, until = null, operation] of CAUSES) {
  test(`A campaign with the code ${code} says: ${text}`, () => {
    const waiting = campaignWaiting(statusWith(changes), NOON);
    const { remedy } = waiting;
    expect(waiting).toMatchObject({ code, text, until, lane: 'main' });
    expect(remedy === null ? undefined : `${remedy.operation} ${remedy.path}`).toBe(operation);
  });
}

test('Every code has a campaign or a lane as its example here', () => {
  const shown = new Set([...CAUSES.map(([, code]) => code), 'probing']);
  expect(WAITING_CODES.filter((code) => !shown.has(code))).toEqual([]);
});

describe('A lane', () => {
  const lane = (changes: Partial<LaneStatus>): LaneStatus => ({
    name: 'main',
    id: 'main',
    targetAccount: null,
    state: 'open',
    quota: {
      configured: 5_000,
      learned: null,
      limit: 5_000,
      span: '1h',
      used: { send: 4_900, poll: 90 },
      inFlight: 10,
      keptForPolls: 0,
      nextPermitAt: isoAt(300_000),
      nextPermits: 310,
      permitsToCome: [],
    },
    blockedBy: null,
    turnFailures: [],
    zone: 'UTC',
    window: null,
    throttled: 0,
    campaigns: { running: 1, waiting: 0, scheduled: 0 },
    awaitingReports: 0,
    unknownOutcomes: 0,
    maxRecipients: 1,
    ...changes,
  });

  test('whose quota is used waits for it while something is left to send', () => {
    expect(laneWaiting(lane({}), NOON)).toMatchObject({
      code: 'quota',
      text: 'Waits for quota: 5,000 of 5,000 used; 310 return at 12:05:00 UTC.',
      until: isoAt(300_000),
    });
    const idle = { campaigns: { running: 0, waiting: 0, scheduled: 2 } };
    expect(laneWaiting(lane(idle), NOON)).toBeNull();
  });

  test('that is closed says why, as its campaigns do', () => {
    const held = { state: 'held' as const, blockedBy: block('held', 'held by cli ann@host') };
    expect(laneWaiting(lane(held), NOON)?.text).toBe(
      'Lane main is held by cli ann@host (since 11:00:00 UTC). Resume it to continue.',
    );
    const blockedBy = { ...block('held', 'Redis has older data than before'), code: 'olderData' as const };
    const older = { state: 'held' as const, blockedBy };
    expect(laneWaiting(lane(older), NOON)?.text).toBe(
      'Lane main is held: Redis has older data than before (since 11:00:00 UTC). Resume it to continue.',
    );
    expect(laneWaiting(lane({ state: 'probing' }), NOON)?.code).toBe('probing');
    const window = { hours: 'Mon 09:00-17:00', except: [], opensAt: isoAt(9_000), closesAt: null };
    expect(laneWaiting(lane({ state: 'waiting', window }), NOON)?.text).toBe(
      'The window of the lane is closed until 12:00:09 UTC.',
    );
    expect(laneWaiting(lane({ turnFailures: [failure] }), NOON)?.code).toBe('failing');
  });
});

test('A reason of the service cannot move the cursor of a terminal', () => {
  const { text } = campaignWaiting(
    statusWith({ waitingFor: 'lane', blockedBy: block('stopped', 'x\u001b[2J') }),
    NOON,
  );
  expect(text).not.toContain('\u001b');
});
