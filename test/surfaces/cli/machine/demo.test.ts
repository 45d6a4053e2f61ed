import { expect, test } from 'vitest';
import type { LaneStatus } from '../../../../src/campaign/views/views.js';
import { type Outcome, resultsOf, whyUnfinished } from '../../../../src/surfaces/cli/machine/demo.js';
import { OPEN_LANE } from '../../../reporting/open-lane.js';
import { statusWith } from '../campaign-status.js';

const done = statusWith({
  state: 'completed',
  counts: { deliveredToTerminal: 9, deliveryImpossible: 1 },
});
const auto: LaneStatus = {
  ...OPEN_LANE,
  name: 'auto',
  quota: { ...OPEN_LANE.quota, configured: 'auto', learned: 110, limit: 110 },
  throttled: 2,
};
const message = {
  ...{
    sendAt: null,
    version: null,
    to: null,
    reference: null,
    revision: 0,
    tag: null,
    zone: null,
    values: null,
    text: null,
    campaign: null,
    requestId: null,
    reason: null,
    serviceStatus: null,
    serviceCode: null,
  },
};
const sentAt = '2030-05-01T09:00:14.100Z';
const messages: Outcome['reminders']['messages'] = [
  { ...message, id: 'appt-1', state: 'deliveredToTerminal', sentAt },
  { ...message, id: 'appt-2', state: 'deliveredToTerminal', sentAt },
  { ...message, id: 'appt-3', state: 'cancelled', sentAt: null },
];
const reminders = { messages, movedFrom: '2030-05-01T09:00:08.000Z', movedTo: '2030-05-01T09:00:14.000Z' };
const good: Outcome = {
  reminders,
  statuses: [done, done],
  reported: new Map([
    ['deliveredToTerminal', 18],
    ['deliveryImpossible', 2],
  ]),
  summary: {
    requests: 20,
    recipients: 22,
    duplicates: 0,
    throttled: 2,
    throttledByFault: 0,
    arrivals: 42,
    polls: 20,
    logins: 1,
    loginsGranted: 1,
    refreshes: 2,
    refreshesGranted: 2,
    reusedRefreshTokens: 0,
    clientTokens: 0,
    clientTokensGranted: 0,
    notifications: 0,
    notificationsTwice: 0,
    notificationsLost: 0,
    notificationsForged: 0,
    maxPerWindow: [{ key: 'demo-main', quota: 250, windowMs: 10_000, admitted: 250, arrived: 250 }],
  },
  lanes: [auto],
  workers: 2,
};
const [window] = good.summary.maxPerWindow;

const broken = (outcome: Outcome): string =>
  resultsOf(outcome)
    .flatMap(([label, found, isKept]) => (isKept ? [] : [`${label}: ${found}`]))
    .join('; ');

test('A demo that keeps all promises passes', () => expect(broken(good)).toBe(''));

test('Rows that were left out as duplicates are lines of the report, but no recipients', () => {
  const reported = new Map([
    ['deliveredToTerminal', 20],
    ['duplicate', 3],
  ]);
  expect(broken({ ...good, reported })).toBe('');
});

test('A demo on a machine that is too busy says what became of its messages, and what to do', () => {
  const unfinished = statusWith({ state: 'running', counts: { planned: 3, unknown: 45 } });
  expect(whyUnfinished([done, unfinished])).toMatch(
    /^The campaigns did not complete within 48 s: .* for 45 messages took more than 1 s\..* Run the demo again when/,
  );
  expect(whyUnfinished([done, statusWith({ counts: { planned: 3 } })])).toBe(
    'The campaigns did not complete within 48 s. Run the demo again when this machine is less busy.',
  );
});

const flawed: readonly (readonly [string, Partial<Outcome>, RegExp])[] = [
  [
    'a campaign that is not completed',
    { statuses: [done, { ...done, state: 'running' }] },
    /^recipients: 20 in 2 campaigns, completed, running: /,
  ],
  [
    'a recipient that is not final',
    {
      reported: new Map([
        ['deliveredToTerminal', 19],
        ['unknown', 1],
      ]),
    },
    /^recipients: 20 in 2 campaigns, completed: 19 deliveredToTerminal, 1 unknown$/,
  ],
  [
    'a recipient that is not in the report',
    { reported: new Map([['deliveredToTerminal', 19]]) },
    /^recipients: 20 in 2 campaigns, completed: 19 deliveredToTerminal$/,
  ],
  ['a message sent twice', { summary: { ...good.summary, duplicates: 1 } }, /^duplicates: 1, /],
  [
    'a recipient that the service never got',
    { summary: { ...good.summary, recipients: 21 } },
    /^accepted: 21 messages, /,
  ],
  [
    'a request over the known quota, even if it was refused',
    { summary: { ...good.summary, maxPerWindow: window === undefined ? [] : [{ ...window, arrived: 251 }] } },
    /^lane main: at most 250 requests in any hour, quota 250, 1 more were refused$/,
  ],
  ['a service that never answered 429', { summary: { ...good.summary, throttled: 0 } }, /^429s: 0$/],
  [
    'a quota that was not learned',
    { lanes: [{ ...auto, quota: { ...auto.quota, learned: null } }] },
    /^learned: no requests per hour/,
  ],
  ['no refresh', { summary: { ...good.summary, refreshesGranted: 0 } }, /^tokens: 1 login, 0 refreshes, /],
  [
    'a refresh token presented twice',
    { summary: { ...good.summary, reusedRefreshTokens: 1 } },
    /^tokens: .*, 1 of them with a used token/,
  ],
  [
    'a moved message that was sent at its first time',
    { reminders: { ...reminders, movedTo: '2030-05-01T09:00:15.000Z' } },
    /^reminders: .*moved by 7 s, deliveredToTerminal/,
  ],
  [
    'a cancelled message that was sent',
    {
      reminders: {
        ...reminders,
        messages: [
          ...messages.slice(0, 2),
          { ...message, id: 'appt-3', state: 'deliveredToTerminal', sentAt },
        ],
      },
    },
    /^reminders: .*; 1 deliveredToTerminal;/,
  ],
  ['a single worker', { workers: 1 }, /^tokens: .* shared by 1 worker$/],
];

test.each(flawed)('The demo fails with %s', (_flaw, change, message) => {
  expect(broken({ ...good, ...change })).toMatch(message);
});
