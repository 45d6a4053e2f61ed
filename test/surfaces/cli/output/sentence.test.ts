import { expect, test } from 'vitest';
import type { CampaignStatus } from '../../../../src/campaign/views/views.js';
import { campaignSentence } from '../../../../src/surfaces/cli/output/sentence.js';
import { isoAt, NOON, statusWith } from '../campaign-status.js';

/* What a campaign waits for, in words, is tested in reporting/waiting.test.ts. */

const sentence = (changes: Parameters<typeof statusWith>[0], howToStart?: string): string =>
  campaignSentence(statusWith(changes), NOON, howToStart).text;

type Block = NonNullable<CampaignStatus['blockedBy']>;
const held: Block = { code: 'held', state: 'held', reason: 'held by an operator', since: null, until: null };
const paused: Block = { ...held, code: 'paused', state: 'paused', reason: 'paused' };
const backingOff = (untilMs: number): Block => ({
  ...{ code: 'throttled', state: 'backingOff', reason: 'the service returned 429: slow down' },
  ...{ since: null, until: isoAt(untilMs) },
});

test('The next step for the operator is shown as a command', () => {
  expect(sentence({ state: 'paused', waitingFor: 'operator', blockedBy: paused })).toBe(
    'Paused. Resume it to continue: volley resume c1',
  );
  expect(sentence({ waitingFor: 'lane', blockedBy: held })).toBe(
    'Sending is held by an operator. Resume it to continue: volley lane resume main',
  );
  expect(sentence({ waitingFor: 'resolve', counts: { unknown: 7 } })).toBe(
    'It is not known whether 7 recipients got the message. Decide whether it is sent again: volley resolve c1',
  );
  expect(sentence({ waitingFor: 'workers' }, 'To start one: volley work')).toBe(
    'No worker is running, so nothing is sent. To start one: volley work',
  );
});

test('A time that lies ahead is shown with how far away it is', () => {
  const waiting = (untilMs: number) => sentence({ waitingFor: 'lane', blockedBy: backingOff(untilMs) });
  expect(waiting(5_000)).toBe(
    'The service answers that there are too many requests; tries again at 12:00 UTC (in 5s). Details: slow down. There is nothing to do: Volley tries again by itself.',
  );
  expect(waiting(-1)).toBe(
    'The service answers that there are too many requests. Details: slow down. There is nothing to do: Volley tries again by itself.',
  );
});

test('A time on another day has no preposition', () => {
  const blockedBy = { ...backingOff(86_400_000), state: 'waiting', reason: 'the window is closed' } as const;
  expect(sentence({ waitingFor: 'window', blockedBy })).toBe(
    'The window is closed; opens Sun 3 May 12:00 UTC (in 1d). There is nothing to do.',
  );
});

test('While a lane waits after a 429, the time of the last message is shown as far as it is bounded', () => {
  const waiting = { waitingFor: 'lane', blockedBy: backingOff(5_000) } as const;
  const eta = { earliest: isoAt(60_000), latest: isoAt(90_000), isApproximate: false, reason: null };
  expect(sentence({ ...waiting, eta })).toMatch(
    / Last message between 12:01:00 and 12:01:30 UTC \(in 1m to 1m 30s\)\.$/,
  );
  const unbounded = { ...eta, latest: null, isApproximate: false, reason: 'the service does not respond' };
  expect(sentence({ ...waiting, eta: unbounded })).not.toContain('Last message');
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
  [
    { earliest: 9_000, latest: null },
    'not before 12:00:09 UTC (in 9s): the limit of the service is not known yet',
  ],
  [{ earliest: 0, latest: null }, 'at an unknown time: the limit of the service is not known yet'],
])('The last message is announced as a range: %o', ({ earliest, latest }, text) => {
  const reason = latest === null ? 'the limit of the service is not known yet' : null;
  const eta = {
    earliest: isoAt(earliest),
    latest: latest === null ? null : isoAt(latest),
    isApproximate: false,
    reason,
  };
  expect(sentence({ eta })).toBe(`Sending. Last message ${text}.`);
});
