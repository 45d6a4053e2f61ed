import { uptime } from 'node:os';
import { expect, test } from 'vitest';
import {
  type Alarm,
  pause,
  startStopwatch,
  unlessAborted,
  uptimeClock,
  uptimeReader,
  within,
} from '../../src/base/clock.js';

/** An alarm that the test rings; `armed` holds the alarms that are not cancelled. */
function handAlarm(): { alarm: Alarm; armed: Set<() => void> } {
  const armed = new Set<() => void>();
  const alarm: Alarm = (_ms, ring) => {
    armed.add(ring);
    return () => armed.delete(ring);
  };
  return { alarm, armed };
}

const never = new Promise<never>(() => {});

test('A promise that resolves in time leaves no timer behind', async () => {
  const { alarm, armed } = handAlarm();
  expect(await within(10, Promise.resolve('here'), { alarm })).toBe('here');
  await expect(within(10, Promise.reject(new Error('no')), { alarm })).rejects.toThrow('no');
  expect(armed.size).toBe(0);
});

test('A promise that does not resolve in time rejects with the given message, or one that names the time', async () => {
  const { alarm, armed } = handAlarm();
  const plain = within(10, never, { alarm });
  const worded = within(10, never, { alarm, late: 'Redis says nothing' });
  for (const ring of armed) ring();
  await expect(plain).rejects.toThrow('no answer within 10 ms');
  await expect(worded).rejects.toThrow('Redis says nothing');
});

test('a signal ends the waiting with its reason, before or while one waits', async () => {
  const { alarm, armed } = handAlarm();
  const over = new AbortController();
  const [waiting, pausing] = [unlessAborted(never, over.signal), pause(alarm, 10, over.signal)];
  over.abort(new Error('over'));
  for (const ended of [waiting, pausing, unlessAborted(never, over.signal), pause(alarm, 10, over.signal)]) {
    await expect(ended).rejects.toThrow('over');
  }
  expect(armed.size).toBe(0);
});

test('a signal that does not fire changes no answer', async () => {
  const { signal } = new AbortController();
  expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1);
  expect(await unlessAborted(Promise.resolve(2), undefined)).toBe(2);
});

test('A stopwatch shows the longest time of the three clocks, so that it counts a suspension of the machine', () => {
  const time = { clock: 1_800_000_000_000, monotonic: 5_000, uptime: 90_000 };
  const elapsed = startStopwatch({
    clock: () => time.clock,
    monotonic: () => time.monotonic,
    uptime: () => time.uptime,
  });
  time.monotonic += 10;
  expect(elapsed()).toBe(10);
  time.uptime += 4_000;
  expect(elapsed()).toBe(4_000);
  time.clock += 9_000;
  expect(elapsed()).toBe(9_000);
  // A wall clock that is set back is ignored.
  time.clock -= 7_200_000;
  expect(elapsed()).toBe(4_000);
});

test('The uptime is read once a millisecond, and again when it is renewed, also while the monotonic clock stands still', () => {
  let [upSeconds, monotonic] = [100, 5_000];
  const { uptime, renewUptime } = uptimeClock(
    () => upSeconds,
    () => monotonic,
  );
  expect(uptime()).toBe(100_000);
  upSeconds = 160;
  expect(uptime()).toBe(100_000);
  renewUptime();
  expect(uptime()).toBe(160_000);
  upSeconds = 161;
  monotonic += 1;
  expect(uptime()).toBe(161_000);
});

test('The uptime is that of the system, also where its file cannot be read', () => {
  for (const read of [uptimeReader(), uptimeReader('/proc/none'), uptimeReader('/dev/null')]) {
    const before = uptime();
    // The second reading of an open file, too.
    for (const seconds of [read(), read()]) {
      expect(seconds).toBeGreaterThanOrEqual(before);
      expect(seconds).toBeLessThanOrEqual(uptime());
    }
  }
});
