import { expect, test } from 'vitest';
import { standing } from '../../src/cli/standing.js';
import { isoAt, NOON, statusWith } from './campaign-status.js';

const sentence = (changes: Parameters<typeof statusWith>[0]): string =>
  standing(statusWith(changes), NOON).text;

test('a pause that ends by itself says why and when', () => {
  const blockedBy = { reason: 'the service answered 429', until: isoAt(5_000) };
  expect(sentence({ waitingFor: 'lane', blockedBy })).toBe(
    'Lane main is paused: the service answered 429, until 12:00:05 (in 5s).',
  );
});

test('a pause whose end has come names no time', () => {
  const blockedBy = { reason: 'the service answered 429', until: isoAt(-1) };
  expect(sentence({ waitingFor: 'lane', blockedBy })).toBe('Lane main is paused: the service answered 429.');
});

test('whatever an operator has to do stands there as a command', () => {
  expect(
    sentence({ state: 'paused', waitingFor: 'operator', blockedBy: { reason: 'paused', until: null } }),
  ).toBe('Paused. Go on with: volley resume c1');
  const refused = { reason: 'the service refuses every request; check sender and text', until: null };
  expect(sentence({ state: 'paused', waitingFor: 'operator', blockedBy: refused })).toContain(
    'Paused: the service refuses every request; check sender and text. Go on with: volley resume c1',
  );
  expect(sentence({ waitingFor: 'resolve', recipients: { unknown: 7 } })).toMatch(
    /7 of them.*volley resolve c1/,
  );
  expect(sentence({ waitingFor: 'resolve', recipients: { unknown: 1 } })).toContain(
    'whether one of them was',
  );
  const stopped = { reason: 'The service answered 403: it cannot be used.', until: null };
  expect(sentence({ waitingFor: 'lane', blockedBy: stopped })).toBe(
    'Lane main is stopped: The service answered 403: it cannot be used. When it may go on: volley lane resume main',
  );
  expect(sentence({ waitingFor: 'workers' })).toMatch(/No worker runs.*volley up/);
});

test('waiting for permits, reports and the start are told apart', () => {
  expect(sentence({ waitingFor: 'permits', eta: isoAt(3_600_000) })).toBe(
    'Waits for permits. Last text about 13:00:00 (in 1h).',
  );
  expect(sentence({ waitingFor: 'reports' })).toBe('All is sent; delivery reports are awaited.');
  expect(sentence({ state: 'scheduled', waitingFor: 'start', launchAt: isoAt(60_000) })).toBe(
    'Starts 12:01:00 (in 1m).',
  );
});

test('an end says how long it took', () => {
  expect(sentence({ state: 'completed', endedAt: isoAt(0) })).toBe(
    'Completed in 1m: every recipient is accounted for.',
  );
  expect(sentence({ state: 'cancelled', endedAt: isoAt(0) })).toBe('Cancelled.');
  expect(sentence({ state: 'cancelled' })).toBe('Cancelled; what is under way is seen through.');
});

test('a reason from the service cannot bring escape sequences along', () => {
  expect(sentence({ waitingFor: 'lane', blockedBy: { reason: 'x\u001b[2J', until: null } })).not.toContain(
    '\u001b',
  );
});
