import { describe, expect, test } from 'vitest';
import { BLOCK_CODES, BLOCKS } from '../../src/campaign/states/block-codes.js';
import { WAITING_CODES, type Waiting } from '../../src/campaign/views/live-views.js';
import type { CampaignStatus, LaneStatus } from '../../src/campaign/views/views.js';
import { campaignWaiting, laneWaiting } from '../../src/reporting/waiting.js';
import { isoAt, NOON, statusWith } from '../surfaces/cli/campaign-status.js';

type Changes = NonNullable<Parameters<typeof statusWith>[0]>;
type Block = NonNullable<CampaignStatus['blockedBy']>;
function block(state: Block['state'], reason: string, until: string | null = null): Block {
  const since = ['held', 'stopped', 'paused'].includes(state) ? isoAt(-3_600_000) : null;
  const code = BLOCK_CODES.find((each) => BLOCKS[each].state === state) ?? 'paused';
  return { code, state, reason, since, until };
}
const throttled = (reason: string, until: string | null): Block => ({
  ...block('backingOff', reason, until),
  code: 'throttled',
});
const quota = {
  ...{ used: 5_000, limit: 5_000, span: '1h', keptForPolls: 0 },
  ...{ nextPermitAt: isoAt(300_000), nextPermits: 310 },
};
const failure = { kind: 'send' as const, since: isoAt(-60_000), error: 'ERR not an integer.' };
const SINCE = isoAt(-3_600_000);
const NOTHING = 'There is nothing to do';
const BY_ITSELF = `${NOTHING}: Volley tries again by itself.`;
/** What is advised where no other advice is expected. */
const ADVICE: Partial<Record<Waiting['code'], string>> = {
  quota: 'To send faster, ask the service for a higher limit.',
  window: `${NOTHING}.`,
  backingOff: BY_ITSELF,
  recovering: `${NOTHING}: it continues by itself.`,
  noToken: 'Volley tries again by itself. If that does not help, check the password of the account.',
  held: 'Resume it to continue.',
  stopped: 'Ask those who look after the account to fix the cause, then resume it.',
  failing: 'Volley tries again every second. If that does not help, the log of its workers says more.',
  paused: 'Resume it to continue.',
  unknown: 'Decide whether it is sent again.',
  workers: 'Ask those who run Volley to start one.',
  unserved: 'Ask those who run Volley to set one up.',
  reports: `${NOTHING}: a phone that is off gets it later.`,
};

/** Each cause, with its code, its sentence, and what else it says. */
const CAUSES: readonly (readonly [
  changes: Changes,
  code: Waiting['code'],
  text: string,
  more?: Partial<Omit<Waiting, 'remedy'>> & { readonly remedy?: string },
])[] = [
  [{ state: 'importing' }, 'importing', 'Importing its list.'],
  [
    { state: 'scheduled', waitingFor: 'start', sendAt: isoAt(60_000) },
    'scheduled',
    'Scheduled.',
    { until: isoAt(60_000), next: 'starts' },
  ],
  [{}, 'sending', 'Sending.'],
  [
    { waitingFor: 'permits', quota },
    'quota',
    'The hourly limit of 5,000 is used up.',
    { until: isoAt(300_000), next: 'continues' },
  ],
  [
    { waitingFor: 'permits', quota: { ...quota, span: '1m', nextPermitAt: null, nextPermits: 0 } },
    'quota',
    'The limit of 5,000 per minute is used up.',
    { next: 'continues' },
  ],
  [
    { waitingFor: 'permits', quota: { ...quota, used: 4_000, keptForPolls: 1_000 } },
    'quota',
    'The hourly limit of 5,000 is used up, but for 1,000 that are kept for delivery reports.',
    { until: isoAt(300_000), next: 'continues' },
  ],
  [
    { waitingFor: 'permits', quota: { ...quota, used: 40, limit: null } },
    'quota',
    'The service has taken 40 requests, and its hourly limit is not known yet.',
    { until: isoAt(300_000), next: 'continues' },
  ],
  [
    {
      waitingFor: 'window',
      blockedBy: block('waiting', 'the window is closed (Mon 9:00-17:00 UTC)', isoAt(9_000)),
    },
    'window',
    'The window is closed (Mon 9:00-17:00 UTC).',
    { until: isoAt(9_000), next: 'opens' },
  ],
  [
    { waitingFor: 'window', blockedBy: block('waiting', 'the window of its lane is closed (Mon)') },
    'window',
    'The window of its account is closed (Mon).',
    { next: 'opens' },
  ],
  [
    {
      waitingFor: 'lane',
      blockedBy: throttled('the service returned 429: {"message":"slow"}', isoAt(42_000)),
    },
    'backingOff',
    'The service answers that there are too many requests.',
    { until: isoAt(42_000), next: 'tries again', details: '{"message":"slow"}' },
  ],
  [
    { waitingFor: 'lane', blockedBy: throttled('the service returned 429', isoAt(-1)) },
    'backingOff',
    'The service answers that there are too many requests.',
    { next: 'tries again' },
  ],
  [
    {
      waitingFor: 'lane',
      blockedBy: {
        ...throttled('the service is unreachable or does not respond: cannot resolve host', isoAt(1)),
        code: 'unreachable',
      },
    },
    'backingOff',
    'The service does not respond.',
    { until: isoAt(1), next: 'tries again', details: 'cannot resolve host' },
  ],
  [
    {
      waitingFor: 'lane',
      blockedBy: { ...throttled('nothing bounds how much Redis may lose', null), code: 'unboundedLoss' },
    },
    'backingOff',
    'Nothing bounds how much Redis may lose.',
    { next: 'tries again' },
  ],
  [
    {
      waitingFor: 'lane',
      blockedBy: block('recovering', 'workers report again what they sent', isoAt(5_000)),
    },
    'recovering',
    'Volley checks what it sent last, because Redis may have lost data.',
    { until: isoAt(5_000), next: 'continues' },
  ],
  [
    { waitingFor: 'lane', blockedBy: block('noToken', 'api.example refuses connections', isoAt(5_000)) },
    'noToken',
    'The account service gives no access token.',
    { until: isoAt(5_000), next: 'tries again', details: 'api.example refuses connections' },
  ],
  [
    { waitingFor: 'lane', blockedBy: block('held', 'held by cli ann@host') },
    'held',
    'Sending is held by cli ann@host.',
    { since: SINCE, remedy: 'resumeLane /v1/lanes/main/resume' },
  ],
  [
    {
      waitingFor: 'lane',
      blockedBy: block('stopped', 'The service answered 403: no key. The service says: {"message":"no"}'),
    },
    'stopped',
    'Sending is stopped: the service answered 403: no key.',
    {
      since: SINCE,
      details: '{"message":"no"}',
      remedy: 'resumeLane /v1/lanes/main/resume',
    },
  ],
  [
    {
      waitingFor: 'lane',
      blockedBy: block('failing', failure.error),
      turnFailures: [failure],
      counts: { planned: 1 },
    },
    'failing',
    'Sending fails again and again.',
    { since: failure.since, details: failure.error },
  ],
  [
    { state: 'paused', waitingFor: 'operator', blockedBy: block('paused', 'paused by cli ann@host') },
    'paused',
    'Paused by cli ann@host.',
    { since: SINCE, remedy: 'resumeCampaign /v1/campaigns/c1/resume' },
  ],
  [
    {
      state: 'paused',
      waitingFor: 'operator',
      blockedBy: block('paused', 'the service refuses every request. The service says: no'),
    },
    'paused',
    'Paused: the service refuses every request.',
    {
      ...{ since: SINCE, details: 'no' },
      remedy: 'resumeCampaign /v1/campaigns/c1/resume',
    },
  ],
  [
    {
      state: 'paused',
      waitingFor: 'operator',
      blockedBy: block('paused', 'paused by cli ann@host'),
      counts: { unknown: 2 },
    },
    'unknown',
    'Paused by cli ann@host. It is not known whether 2 recipients got the message.',
    { remedy: 'resolveCampaign /v1/campaigns/c1/resolve' },
  ],
  [
    { state: 'paused', waitingFor: 'operator', sendAt: isoAt(60_000) },
    'paused',
    'Paused.',
    { advice: 'Resume it to let it start in time.', remedy: 'resumeCampaign /v1/campaigns/c1/resume' },
  ],
  [
    { waitingFor: 'lane', turnFailures: [{ ...failure, kind: 'poll' }] },
    'failing',
    'Asking for delivery reports fails again and again.',
    { since: failure.since, details: failure.error },
  ],
  [
    { waitingFor: 'resolve', counts: { unknown: 7_000 } },
    'unknown',
    'It is not known whether 7,000 recipients got the message.',
    { remedy: 'resolveCampaign /v1/campaigns/c1/resolve' },
  ],
  [
    { waitingFor: 'resolve', counts: { unknown: 1 } },
    'unknown',
    'It is not known whether one recipient got the message.',
    { remedy: 'resolveCampaign /v1/campaigns/c1/resolve' },
  ],
  [{ waitingFor: 'workers' }, 'workers', 'No worker is running, so nothing is sent.'],
  [
    { waitingFor: 'workers', blockedBy: block('waiting', 'lane main is not configured') },
    'unserved',
    'Nothing is sent: no worker that runs is set up for it.',
    { next: 'continues', details: 'lane main is not configured' },
  ],
  [
    { waitingFor: 'reports', counts: { deliveredToNetwork: 1_200 } },
    'reports',
    'Everything is sent. Waits for the delivery reports of 1,200 recipients.',
  ],
  [
    { state: 'cancelled', waitingFor: 'reports', counts: { cancelled: 2, deliveredToNetwork: 1 } },
    'reports',
    'Stopped: 0 got it, 1 more may still arrive. Nothing more is sent. Waits for the delivery report of one recipient.',
  ],
  [
    { waitingFor: 'reports', counts: { cancelled: 2, deliveredToNetwork: 1 } },
    'reports',
    'Nothing more is sent. Waits for the delivery report of one recipient.',
  ],
  [
    { state: 'cancelled', counts: { cancelled: 90, deliveredToTerminal: 2_408, sending: 30, unknown: 2 } },
    'finishing',
    'Stopped: 2,408 got it, 30 more may still arrive, and it is not known whether 2 got it. Nothing more is sent.',
  ],
  [
    { state: 'cancelled', endedAt: isoAt(0), counts: { cancelled: 90, deliveredToTerminal: 10 } },
    'cancelled',
    'Stopped: 10 got it. Nothing more is sent.',
  ],
  ended({ deliveredToTerminal: 5 }, 'Finished in 1m: everyone got it.'),
  ended({ deliveredToTerminal: 3, rejected: 2 }, 'Finished in 1m: 3 of 5 got it.'),
  ended(
    { deliveredToTerminal: 1, unconfirmed: 1, rejected: 3 },
    'Finished in 1m: 1 of 5 got it, and 1 may have got it.',
  ),
  ended({ rejected: 5 }, 'Finished in 1m: no one got it.'),
];

function ended(counts: Changes['counts'], text: string): (typeof CAUSES)[number] {
  return [{ state: 'completed', endedAt: isoAt(0), counts: counts ?? {} }, 'completed', text];
}

/** A sentence that says nothing but its text. */
const PLAIN = { since: null, until: null, next: null, details: null };

for (const [changes, code, text, { remedy: operation, ...more } = {}] of CAUSES) {
  test(`A campaign with the code ${code} says: ${text}`, () => {
    const { remedy, tone, ...waiting } = campaignWaiting(statusWith(changes), NOON);
    expect(waiting).toEqual({ ...PLAIN, advice: ADVICE[code] ?? null, ...more, code, text, lane: 'main' });
    expect(remedy === null ? undefined : `${remedy.operation} ${remedy.path}`).toBe(operation);
  });
}

test('A campaign that has ended is as good as its result', () => {
  const toneOf = (counts: Changes['counts']) =>
    campaignWaiting(statusWith({ state: 'completed', endedAt: isoAt(0), counts: counts ?? {} }), NOON).tone;
  expect(toneOf({ deliveredToTerminal: 3, rejected: 1 })).toBe('good');
  expect(toneOf({ unconfirmed: 4 })).toBe('good');
  expect(toneOf({ deliveredToTerminal: 1, rejected: 3 })).toBe('warning');
  expect(toneOf({ rejected: 4 })).toBe('bad');
});

test('No sentence has a word that only developers know', () => {
  for (const [changes] of CAUSES) {
    const { text, advice } = campaignWaiting(statusWith(changes), NOON);
    expect(`${text} ${advice}`).not.toMatch(/\blanes?\b|429|backing off|settled|outcome|resolve|accounted/i);
  }
});

test('Every cause for which nothing moves says what a person can do', () => {
  const silent = CAUSES.filter(([, code]) => ADVICE[code] === undefined).map(([, code]) => code);
  expect(new Set(silent)).toEqual(
    new Set(['importing', 'scheduled', 'sending', 'finishing', 'completed', 'cancelled']),
  );
});

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
      text: 'The hourly limit of 5,000 is used up.',
      until: isoAt(300_000),
    });
    const idle = { campaigns: { running: 0, waiting: 0, scheduled: 2 } };
    expect(laneWaiting(lane(idle), NOON)).toBeNull();
  });

  test('that is closed says why, as its campaigns do', () => {
    const held = { state: 'held' as const, blockedBy: block('held', 'held by cli ann@host') };
    expect(laneWaiting(lane(held), NOON)?.text).toBe('Sending is held by cli ann@host.');
    const blockedBy = { ...block('held', 'Redis has older data than before'), code: 'olderData' as const };
    const older = { state: 'held' as const, blockedBy };
    expect(laneWaiting(lane(older), NOON)?.text).toBe('Sending is held: Redis has older data than before.');
    expect(laneWaiting(lane({ state: 'probing' }), NOON)?.code).toBe('probing');
    const window = {
      hours: 'Mon 09:00-17:00',
      except: [],
      zone: null,
      opensAt: isoAt(9_000),
      closesAt: null,
    };
    expect(laneWaiting(lane({ state: 'waiting', window }), NOON)).toMatchObject({
      text: 'The window is closed.',
      until: isoAt(9_000),
    });
    expect(laneWaiting(lane({ turnFailures: [failure] }), NOON)?.code).toBe('failing');
  });
});

test('A reason of the service cannot move the cursor of a terminal', () => {
  const blockedBy = block('stopped', 'x\u001b[2J The service says: x\u001b[2J');
  const waiting = campaignWaiting(statusWith({ waitingFor: 'lane', blockedBy }), NOON);
  expect(Object.values(waiting).join()).not.toContain('\u001b');
});
