import { expect, test } from 'vitest';
import { campaignSentence } from '../../src/cli/sentence.js';
import { isoAt, NOON, statusWith } from './campaign-status.js';

const sentence = (changes: Parameters<typeof statusWith>[0]): string =>
  campaignSentence(statusWith(changes), NOON).text;

test('A pause that ends by itself shows its reason and its end', () => {
  const blockedBy = { reason: 'the service answered 429', until: isoAt(5_000) };
  expect(sentence({ waitingFor: 'lane', blockedBy })).toBe(
    'Lane main is paused: the service answered 429, until 12:00:05 (in 5s).',
  );
});

test('A pause whose end has passed shows no time', () => {
  const blockedBy = { reason: 'the service answered 429', until: isoAt(-1) };
  expect(sentence({ waitingFor: 'lane', blockedBy })).toBe('Lane main is paused: the service answered 429.');
});

test('The next step for the operator is shown as a command', () => {
  expect(
    sentence({ state: 'paused', waitingFor: 'operator', blockedBy: { reason: 'paused', until: null } }),
  ).toBe('Paused. To resume it: volley resume c1');
  const refused = { reason: 'the service refuses every request; check sender and text', until: null };
  expect(sentence({ state: 'paused', waitingFor: 'operator', blockedBy: refused })).toContain(
    'Paused: the service refuses every request; check sender and text. To resume it: volley resume c1',
  );
  expect(sentence({ waitingFor: 'resolve', recipients: { unknown: 7 } })).toMatch(
    /7 recipients have an unknown outcome.*volley resolve c1/,
  );
  expect(sentence({ waitingFor: 'resolve', recipients: { unknown: 1 } })).toContain(
    'One recipient has an unknown outcome',
  );
  const stopped = { reason: 'The service answered 403: it cannot be used.', until: null };
  expect(sentence({ waitingFor: 'lane', blockedBy: stopped })).toBe(
    'Lane main is stopped: The service answered 403: it cannot be used. To resume it: volley lane resume main',
  );
  expect(sentence({ waitingFor: 'workers' })).toMatch(/No worker is running.*volley up/);
});

test('Waiting for permits, for reports, and for the start have different sentences', () => {
  expect(sentence({ waitingFor: 'permits', eta: isoAt(3_600_000) })).toBe(
    'Waiting for permits. Last message about 13:00:00 (in 1h).',
  );
  expect(sentence({ waitingFor: 'reports' })).toBe('Everything is sent. Waiting for delivery reports.');
  expect(sentence({ state: 'scheduled', waitingFor: 'start', launchAt: isoAt(60_000) })).toBe(
    'Starts 12:01:00 (in 1m).',
  );
});

test('A completed campaign shows how long it took', () => {
  expect(sentence({ state: 'completed', endedAt: isoAt(0) })).toBe(
    'Completed in 1m: every recipient is accounted for.',
  );
  expect(sentence({ state: 'cancelled', endedAt: isoAt(0) })).toBe('Cancelled.');
  expect(sentence({ state: 'cancelled' })).toBe('Cancelled. Finishing in-flight requests.');
});

test('A reason from the service cannot contain escape sequences', () => {
  expect(sentence({ waitingFor: 'lane', blockedBy: { reason: 'x\u001b[2J', until: null } })).not.toContain(
    '\u001b',
  );
});
