import { expect, test } from 'vitest';
import type { EstimateRules } from '../../../src/campaign/estimate/lane-outlook.js';
import { estimateZones, windowOfZones, zonesAt } from '../../../src/campaign/estimate/zones.js';
import { zonesText, zoneTexts } from '../../../src/campaign/views/zone-views.js';
import { idleLane } from '../simulated-lane.js';

const HOUR = 3_600_000;
const WINDOW = 'Mon-Sat 09:00-20:00; recipient';
/** A Tuesday at 13:00 in Oslo, 5:00 in Denver, and 2:00 in Honolulu. */
const NOW = Date.parse('2030-01-15T12:00Z');
const at = (hours: number): string => new Date(NOW + hours * HOUR).toISOString();
const count = (zone: string, waiting: number, recipients = waiting) => ({ zone, recipients, waiting });

test('The zones of a campaign say when each opens in its own time, those that are open first', () => {
  const counts = [
    count('America/Denver', 1_204),
    count('country:US', 7),
    count('Asia/Tokyo', 0, 5),
    count('Europe/Oslo', 3, 10),
  ];
  const zones = zonesAt(WINDOW, undefined, counts, NOW);
  expect(
    zones.map(({ zone, country, opensAt, opensAtLocal }) => [zone ?? country, opensAt, opensAtLocal]),
  ).toEqual([
    ['Europe/Oslo', null, null],
    ['Asia/Tokyo', null, null],
    ['America/Denver', at(4), '09:00'],
    ['US', at(7), '09:00'],
  ]);
  expect(zoneTexts(zones)).toEqual([
    'waits for 09:00 in America/Denver: 1,204 recipients',
    'waits for 09:00 in all zones of US: 7 recipients',
  ]);
  expect(zonesText([...zones, ...zones, ...zones])).toBe(
    'waits for 09:00 in America/Denver: 1,204 recipients; for 09:00 in all zones of US: 7 recipients; for 09:00 in America/Denver: 1,204 recipients; and for 3 more zones',
  );
  expect(windowOfZones(WINDOW, zones, NOW)).toMatchObject({ zone: 'recipient', opensAt: null });
  expect(windowOfZones(WINDOW, zones.slice(2), NOW)).toMatchObject({ opensAt: at(4) });
});

test('A zone that opens on another day names it, and the window of the lane counts', () => {
  // Saturday at 21:00 in Oslo.
  const saturday = Date.parse('2030-01-19T20:00Z');
  const [oslo] = zonesAt(WINDOW, undefined, [count('Europe/Oslo', 1)], saturday);
  expect(zoneTexts(oslo === undefined ? [] : [oslo])).toEqual([
    'waits for Mon 09:00 in Europe/Oslo: 1 recipient',
  ]);
  const [late] = zonesAt(WINDOW, 'Mon-Sun 15:00-16:00; UTC', [count('Europe/Oslo', 1)], NOW);
  expect(late).toMatchObject({ opensAt: at(3), opensAtLocal: '16:00' });
});

const rules: EstimateRules = {
  ...{ quota: 1000, window: HOUR, smooth: false, inFlight: 32, timeout: 30_000 },
  ...{ firstPoll: 15_000, deadline: 72 * HOUR, resolveAfter: 0 },
};
const campaign = {
  ...{ id: 'own', weight: 1, launchAt: 0, lapseAt: 0, sending: 0, awaiting: 0, unknown: 0, obstacle: null },
};
const etaOf = (zones: readonly (readonly [string, number])[]) =>
  estimateZones(idleLane(NOW, 1000, HOUR, 0.2), rules, campaign, {
    window: WINDOW,
    zones: zones.map(([zone, requests]) => ({ zone, requests })),
  }).eta;

test('A campaign in several zones is sent when the last of them has opened, and not later than all would be there', () => {
  const hoursOf = (time: string | null | undefined): number => (Date.parse(time ?? '') - NOW) / HOUR;
  const few = etaOf([
    ['Europe/Oslo', 50],
    ['America/Denver', 50],
  ]);
  expect(hoursOf(few?.earliest)).toBeGreaterThanOrEqual(3.9);
  expect(hoursOf(few?.earliest)).toBeLessThanOrEqual(4.1);
  expect(hoursOf(few?.latest)).toBeGreaterThanOrEqual(4);
  expect(hoursOf(few?.latest)).toBeLessThanOrEqual(4.2);
  // Oslo takes three hours before Denver opens, and Denver then has 100 to send.
  const many = etaOf([
    ['Europe/Oslo', 3_500],
    ['America/Denver', 100],
  ]);
  expect(hoursOf(many?.earliest)).toBeLessThanOrEqual(4.1);
  expect(hoursOf(many?.latest)).toBeGreaterThanOrEqual(4.1);
  expect(etaOf([['Europe/Oslo', 0]])).toBeNull();
});

test('Recipients with times are sent to between their last time and when all would be sent from then on', () => {
  const hoursOf = (time: string | null | undefined): number => (Date.parse(time ?? '') - NOW) / HOUR;
  const lane = idleLane(NOW, 1000, HOUR, 0.2);
  const zonesOf = (requests: number, times: number) =>
    Array.from({ length: times }, (_, place) => ({
      zone: '',
      requests,
      at: NOW + ((place + 1) * 6 * HOUR) / times,
    }));
  const { eta, inTime } = estimateZones(lane, rules, campaign, { window: undefined, zones: zonesOf(10, 30) });
  expect(hoursOf(eta?.earliest)).toBeGreaterThanOrEqual(5.7);
  expect(hoursOf(eta?.earliest)).toBeLessThanOrEqual(6.1);
  expect(hoursOf(eta?.latest)).toBeGreaterThanOrEqual(6);
  expect(hoursOf(eta?.latest)).toBeLessThanOrEqual(6.3);
  expect(inTime).toEqual({ atLeast: 300, atMost: 300 });
  // What comes after three hours lapses.
  const lapsing = { ...campaign, lapseAt: NOW + 3.5 * HOUR };
  const some = estimateZones(lane, rules, lapsing, { window: undefined, zones: zonesOf(100, 6) }).inTime;
  expect(some).toEqual({ atLeast: 300, atMost: 300 });
});

test('Times without a zone are shown in that of the campaign', () => {
  const counts = [
    { zone: '', at: NOW + 2.5 * HOUR, recipients: 12, waiting: 12 },
    { zone: '', at: NOW - HOUR, recipients: 5, waiting: 4 },
  ];
  const zones = zonesAt(undefined, undefined, counts, NOW, 'Europe/Oslo');
  expect(zones.map(({ zone, sendAt, opensAt }) => [zone, sendAt, opensAt])).toEqual([
    ['Europe/Oslo', at(-1), null],
    ['Europe/Oslo', at(2.5), at(2.5)],
  ]);
  expect(zonesText(zones)).toBe('waits for 15:30 in Europe/Oslo: 12 recipients');
  expect(zoneTexts(zonesAt(undefined, undefined, counts, NOW))).toEqual([
    'waits for 14:30 in UTC: 12 recipients',
  ]);
  expect(windowOfZones(undefined, zones, NOW)).toBeNull();
});
