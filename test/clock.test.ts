import { expect, test } from 'vitest';
import { type Alarm, pause, unlessAborted, within } from '../src/clock.js';

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
