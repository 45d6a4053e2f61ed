import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readTime } from '../../../src/campaign/time/moment.js';
import { applyRule, parseSendTimeRule } from '../../../src/campaign/time/send-time.js';
import { formatInZone, isZone, localTime, momentsOf } from '../../../src/campaign/time/zone.js';

const LONDON = 'Europe/London';

/** The time that a rule gives, in the zone. */
function sendAt(text: string, value: string, zone = LONDON): string {
  const rule = parseSendTimeRule(text);
  const time = readTime(value, zone, 'the outbox');
  if (rule?.kind !== 'relative' || !time.ok) throw new Error(time.ok ? `no rule: ${text}` : time.reason);
  return formatInZone(zone, applyRule(rule, time.at, zone));
}

describe('A send-time rule', () => {
  test.each([
    ['now', { kind: 'now' }],
    ['appointment', { kind: 'relative', column: 'appointment', elapsedMs: 0, days: 0 }],
    ['appointment - 24h', { kind: 'relative', column: 'appointment', elapsedMs: -86_400_000, days: 0 }],
    ['appointment-90m', { kind: 'relative', column: 'appointment', elapsedMs: -5_400_000, days: 0 }],
    ['next visit + 1d', { kind: 'relative', column: 'next visit', elapsedMs: 0, days: 1 }],
  ] as const)('%s is read', (text, rule) => {
    expect(parseSendTimeRule(text)).toEqual(rule);
  });

  test.each(['', '- 24h', 'now - 1h', 'appointment - 24', 'appointment - 1w', 'appointment -'])(
    '%j is none',
    (text) => {
      expect(parseSendTimeRule(text)).toBeNull();
    },
  );

  test('with hours counts elapsed time, and with days keeps the time of day', () => {
    // The clocks go forward on 31 March 2030, and back on 27 October 2030.
    expect(sendAt('a - 24h', '2030-03-31T14:30')).toBe('2030-03-30T13:30:00+00:00');
    expect(sendAt('a - 1d', '2030-03-31T14:30')).toBe('2030-03-30T14:30:00+00:00');
    expect(sendAt('a - 24h', '2030-10-27T14:30')).toBe('2030-10-26T15:30:00+01:00');
    expect(sendAt('a - 1d', '2030-10-27T14:30')).toBe('2030-10-26T14:30:00+01:00');
  });

  test('with days moves past a gap, and takes the first of two', () => {
    expect(sendAt('a - 1d', '2030-04-01T01:30')).toBe('2030-03-31T02:30:00+01:00');
    expect(sendAt('a - 1d', '2030-10-28T01:30')).toBe('2030-10-27T01:30:00+01:00');
  });
});

describe('A time', () => {
  test.each([
    ['2030-03-31T01:30', /skips/],
    ['2030-10-27T01:30', /twice/],
    ['2030-02-30T12:00', /a time that does not exist/],
    ['tomorrow', /not a time/],
    ['2030-05-01T12:00+99:00', /offset does not exist/],
  ])('%s is refused', (text, reason) => {
    expect(readTime(text, LONDON, 'the outbox')).toMatchObject({
      ok: false,
      reason: expect.stringMatching(reason),
    });
  });

  test('may have microseconds, as many languages write it', () => {
    const at = Date.UTC(2030, 4, 1, 10, 0, 0, 123);
    expect(readTime('2030-05-01T10:00:00.123456Z', undefined, 'the outbox')).toEqual({ ok: true, at });
    expect(readTime('2030-05-01T11:00:00.123456', LONDON, 'the outbox')).toEqual({ ok: true, at });
  });

  test('with an offset needs no zone, and without one it does', () => {
    expect(readTime('2030-10-27T01:30+01:00', undefined, 'the outbox')).toEqual({
      ok: true,
      at: Date.UTC(2030, 9, 27, 0, 30),
    });
    expect(readTime('2030-10-27T01:30', undefined, 'the outbox')).toMatchObject({ ok: false });
  });
});

const zones = fc.constantFrom(
  ...[
    'Europe/London',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kolkata',
    'Pacific/Auckland',
    'America/Sao_Paulo',
  ],
);
const minutes = fc.integer({ min: Date.UTC(2024, 0) / 60_000, max: Date.UTC(2034, 0) / 60_000 });

test('Every moment is one of those at which its zone has its local time', () => {
  fc.assert(
    fc.property(zones, minutes, (zone, minute) => {
      const at = minute * 60_000;
      const found = momentsOf(zone, localTime(zone, at));
      expect(found).toContain(at);
      expect(found.length).toBeLessThan(3);
      for (const moment of found) expect(localTime(zone, moment)).toBe(localTime(zone, at));
    }),
    { numRuns: 500 },
  );
});

test('A rule in days keeps the time of day, except in the hours after a gap', () => {
  fc.assert(
    fc.property(zones, minutes, fc.integer({ min: -40, max: 40 }), (zone, minute, days) => {
      const at = minute * 60_000;
      const sent = applyRule({ kind: 'relative', column: 'a', elapsedMs: 0, days }, at, zone);
      const wanted = localTime(zone, at) + days * 86_400_000;
      const isSkipped = momentsOf(zone, wanted).length === 0;
      const later = localTime(zone, sent) - wanted;
      expect(isSkipped ? later > 0 && later <= 3_600_000 : later === 0).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('A zone has a name', () => {
  expect(['Europe/London', 'UTC', 'Europe/Londn', '+02:00', ''].map(isZone)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});

test('An abbreviation that means several zones, or an offset without daylight saving, is no zone', () => {
  expect(['PST', 'est', 'BST', 'IST'].filter(isZone)).toEqual([]);
  expect(['CET', 'GMT', 'EST5EDT', 'Etc/GMT+5', 'GB'].filter((zone) => !isZone(zone))).toEqual([]);
});
