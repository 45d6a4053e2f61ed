import { expect, test } from 'vitest';
import { checkOff, checkSubscription } from '../../../src/app/doctor/notifications.js';
import type { LaneStatus } from '../../../src/campaign/views/views.js';

function laneOf(sent: number, awaitingReports: number): Pick<LaneStatus, 'quota' | 'awaitingReports'> {
  const quota = {
    configured: 100,
    learned: null,
    limit: 100,
    span: '1h',
    used: { send: sent, poll: 0 },
    inFlight: 0,
    keptForPolls: 0,
    nextPermitAt: null,
    nextPermits: 0,
    permitsToCome: [],
  };
  return { quota, awaitingReports };
}

const at = (ms: number): string => new Date(ms).toISOString();
const checked = {
  state: 'ours',
  detail: '',
  checkedAt: at(9_000_000),
  oursSince: at(8_000_000),
  heardAt: null,
  now: at(9_060_000),
} as const;
test.each([
  ['never checked', { checkedAt: null, state: null }, 'warn', /not subscribed yet/],
  ['ours', {}, 'warn', /subscribed 17m 40s ago, but none has arrived yet, although requests were sent/],
  ['ours, but newer than the requests', { oursSince: at(9_046_000) }, 'ok', /none has arrived yet$/],
  ['ours, since an unknown time', { oursSince: null }, 'warn', /subscribed, but none has arrived yet/],
  ['ours, but silent for long', { heardAt: at(60_000) }, 'warn', /none has arrived for 2h 30m, although/],
  ['ours, with a recent notification', { heardAt: at(9_030_000) }, 'ok', /the last arrived 30s ago/],
  ['no longer checked', { now: at(19_000_000) }, 'warn', /ago/],
  ['of another system', { state: 'foreign' as const, detail: 'https://a.example/…' }, 'fail', /a\.example/],
  ['refused', { state: 'refused' as const, detail: 'The service answered 406.' }, 'fail', /406/],
])('The doctor checks a subscription that is %s', (_, change, level, found) => {
  const check = checkSubscription('main', { ...checked, ...change }, laneOf(3, 3));
  expect([check.state, check.message]).toEqual([level, expect.stringMatching(found)]);
  if (level !== 'ok') expect(check.advice).toMatch(/volley|running worker/);
});

test('The doctor checks the subscription to messages of people, and expects none', () => {
  expect(checkSubscription('main', { ...checked, now: at(9_060_000) })).toMatchObject({
    state: 'ok',
    name: 'replies of lane main',
    message: 'subscribed when last checked, 1m ago',
  });
  expect(checkSubscription('main', { ...checked, state: 'foreign' }).state).toBe('fail');
});

test('Without CALLBACK_URL, the doctor names lanes that other workers have subscribed', () => {
  expect(checkOff([])).toMatchObject({ state: 'ok', message: expect.stringContaining('off') });
  expect(checkOff(['main', 'reminders'])).toMatchObject({
    state: 'warn',
    message: 'CALLBACK_URL is not set here, but workers have subscribed lanes main, reminders',
  });
});

test('The doctor expects no notification if nothing was sent or every report has arrived', () => {
  expect(checkSubscription('main', checked, laneOf(0, 0))).toMatchObject({ state: 'ok' });
  expect(checkSubscription('main', { ...checked, heardAt: at(60_000) }, laneOf(3, 0))).toMatchObject({
    state: 'ok',
    message: expect.stringContaining('the last arrived 2h 30m ago'),
  });
});
