import { expect, test } from 'vitest';
import { campaignSentence } from '../../../src/surfaces/cli/sentence.js';
import { isoAt, NOON, statusWith } from './campaign-status.js';

const sentence = (changes: Parameters<typeof statusWith>[0]): string =>
  campaignSentence(statusWith(changes), NOON).text;

test('A backoff shows its reason and its end', () => {
  const blockedBy = {
    code: 'throttled' as const,
    state: 'backingOff' as const,
    reason: 'the service answered 429',
    since: null,
    until: isoAt(5_000),
  };
  expect(sentence({ waitingFor: 'lane', blockedBy })).toBe(
    'Lane main is backing off: the service answered 429, until 12:00:05 UTC (in 5s).',
  );
});

test('While a lane waits after a 429, the time of the last message is shown as far as it is bounded', () => {
  const blockedBy = {
    code: 'throttled' as const,
    state: 'backingOff' as const,
    reason: 'the service answered 429',
    since: null,
    until: isoAt(5_000),
  };
  const eta = { earliest: isoAt(60_000), latest: isoAt(90_000), reason: null };
  expect(sentence({ waitingFor: 'lane', blockedBy, eta })).toBe(
    'Lane main is backing off: the service answered 429, until 12:00:05 UTC (in 5s). Last message between 12:01:00 and 12:01:30 UTC (in 1m to 1m 30s).',
  );
  const unbounded = { ...eta, latest: null, reason: 'the service does not respond' };
  expect(sentence({ waitingFor: 'lane', blockedBy, eta: unbounded })).not.toContain('Last message');
});

test('A backoff whose end has passed shows no time', () => {
  const blockedBy = {
    code: 'throttled' as const,
    state: 'backingOff' as const,
    reason: 'the service answered 429',
    since: null,
    until: isoAt(-1),
  };
  expect(sentence({ waitingFor: 'lane', blockedBy })).toBe(
    'Lane main is backing off: the service answered 429.',
  );
});

test('A campaign whose lane fails to send or to poll says so, since when, and why', () => {
  const failure = { since: isoAt(-60_000), error: 'ERR value is not an integer.' };
  const blockedBy = {
    code: 'sendingFails' as const,
    state: 'failing' as const,
    reason: failure.error,
    since: null,
    until: null,
  };
  expect(
    sentence({
      waitingFor: 'lane',
      blockedBy,
      turnFailures: [{ kind: 'send', ...failure }],
      counts: { planned: 1 },
    }),
  ).toBe(
    'Lane main: sending has failed since 11:59:00 UTC: ERR value is not an integer. Volley tries again every second; the log of its workers says more.',
  );
  expect(sentence({ waitingFor: 'lane', turnFailures: [{ kind: 'poll', ...failure }] })).toMatch(
    /^Lane main: asking for delivery statuses has failed since 11:59:00 UTC: ERR value is not an integer\. /,
  );
});

test('The next step for the operator is shown as a command', () => {
  expect(
    sentence({
      state: 'paused',
      waitingFor: 'operator',
      blockedBy: { code: 'paused', state: 'paused', reason: 'paused', since: null, until: null },
    }),
  ).toBe('Paused. Resume it to continue: volley resume c1');
  expect(sentence({ state: 'paused', waitingFor: 'operator', sendAt: isoAt(60_000) })).toBe(
    'Paused. If it is resumed before, it starts 12:01:00 UTC. Resume it to continue: volley resume c1',
  );
  const byAnn = {
    code: 'paused' as const,
    state: 'paused' as const,
    reason: 'paused by cli ann@host',
    since: null,
    until: null,
  };
  expect(sentence({ state: 'paused', waitingFor: 'operator', blockedBy: byAnn })).toBe(
    'Paused by cli ann@host. Resume it to continue: volley resume c1',
  );
  const refused = {
    code: 'paused' as const,
    state: 'paused' as const,
    reason: 'the service refuses every request; check sender and text',
    since: null,
    until: null,
  };
  expect(sentence({ state: 'paused', waitingFor: 'operator', blockedBy: refused })).toContain(
    'Paused: the service refuses every request; check sender and text. Resume it to continue: volley resume c1',
  );
  expect(sentence({ waitingFor: 'resolve', counts: { unknown: 7 } })).toMatch(
    /7 recipients have an unknown outcome.*volley resolve c1/,
  );
  expect(sentence({ waitingFor: 'resolve', counts: { unknown: 1 } })).toContain(
    'One recipient has an unknown outcome',
  );
  const stopped = {
    code: 'stopped' as const,
    state: 'stopped' as const,
    reason: 'The service answered 403: it cannot be used.',
    since: null,
    until: null,
  };
  expect(sentence({ waitingFor: 'lane', blockedBy: stopped })).toBe(
    'Lane main is stopped: The service answered 403: it cannot be used. Fix the cause, then resume it: volley lane resume main',
  );
  const held = {
    code: 'held' as const,
    state: 'held' as const,
    reason: 'held by an operator',
    since: null,
    until: null,
  };
  expect(sentence({ waitingFor: 'lane', blockedBy: held })).toBe(
    'Lane main is held by an operator. Resume it to continue: volley lane resume main',
  );
  const noToken = {
    code: 'noToken' as const,
    state: 'noToken' as const,
    reason: 'api.example refuses connections',
    since: null,
  };
  expect(sentence({ waitingFor: 'lane', blockedBy: { ...noToken, until: isoAt(9_000) } })).toBe(
    'Lane main waits for an access token: api.example refuses connections, next attempt 12:00:09 UTC (in 9s).',
  );
  expect(sentence({ waitingFor: 'lane', blockedBy: { ...noToken, until: null } })).toBe(
    'Lane main waits for an access token: api.example refuses connections.',
  );
  const waiting = statusWith({ waitingFor: 'workers' });
  expect(campaignSentence(waiting, NOON, 'To start one: volley work').text).toBe(
    'No worker is running, so nothing happens. To start one: volley work',
  );
});

test('Waiting for the quota, for reports, and for the start have different sentences', () => {
  const eta = { earliest: isoAt(9_000), latest: isoAt(13_000), reason: null };
  expect(sentence({ waitingFor: 'permits', eta })).toBe(
    'Waits for quota: 0 of 100 used. Last message between 12:00:09 and 12:00:13 UTC (in 9 to 13 s).',
  );
  expect(sentence({ waitingFor: 'reports', counts: { deliveredToNetwork: 9 } })).toBe(
    'Everything is sent. Waits for the delivery reports of 9 recipients.',
  );
  expect(
    sentence({ waitingFor: 'reports', state: 'cancelled', counts: { cancelled: 9, deliveredToNetwork: 1 } }),
  ).toBe('Nothing more is sent. Waits for the delivery report of one recipient.');
  expect(sentence({ state: 'scheduled', waitingFor: 'start', sendAt: isoAt(60_000) })).toBe(
    'Starts 12:01:00 UTC (in 1m).',
  );
});

test.each([
  [{ earliest: 0, latest: 13_000 }, 'by 12:00:13 UTC (within 13 s)'],
  [{ earliest: 3_600_000, latest: 3_600_400 }, 'at 13:00:00 UTC (in 1h)'],
  [
    { earliest: 352_800_000, latest: 352_860_000 },
    'between Wed 6 May 14:00 and Wed 6 May 14:01 UTC (in 4d 2h)',
  ],
  [{ earliest: 3_500_000, latest: 3_690_000 }, 'between 12:58:20 and 13:01:30 UTC (in 58m 20s to 1h 1m)'],
  [{ earliest: -5_000, latest: -1_000 }, 'at any moment'],
  [{ earliest: 9_000, latest: null }, 'not before 12:00:09 UTC (in 9s): the quota is still being learned'],
  [{ earliest: 0, latest: null }, 'at an unknown time: the quota is still being learned'],
])('The last message is announced as a range: %o', ({ earliest, latest }, text) => {
  const reason = latest === null ? 'the quota is still being learned' : null;
  const eta = { earliest: isoAt(earliest), latest: latest === null ? null : isoAt(latest), reason };
  expect(sentence({ eta })).toBe(`Sending. Last message ${text}.`);
});

test('A completed campaign shows how long it took', () => {
  expect(sentence({ state: 'completed', endedAt: isoAt(0) })).toBe(
    'Completed in 1m: every recipient is accounted for.',
  );
  expect(sentence({ state: 'cancelled', endedAt: isoAt(0) })).toBe('Cancelled.');
  expect(sentence({ state: 'cancelled' })).toBe('Cancelled. Finishing in-flight requests.');
});

test('A reason from the service cannot contain escape sequences', () => {
  expect(
    sentence({
      waitingFor: 'lane',
      blockedBy: { code: 'stopped', state: 'stopped', reason: 'x\u001b[2J', since: null, until: null },
    }),
  ).not.toContain('\u001b');
});

test('A campaign outside its window says until when it waits, and why', () => {
  const reason = 'the window is closed (Mon-Sat 09:00-20:00 Europe/Paris)';
  const blockedBy = {
    code: 'windowClosed' as const,
    state: 'waiting' as const,
    reason,
    since: null,
    until: isoAt(7_200_000),
  };
  expect(sentence({ waitingFor: 'window', blockedBy })).toBe(
    'The window is closed (Mon-Sat 09:00-20:00 Europe/Paris) until 14:00:00 UTC (in 2h).',
  );
});
