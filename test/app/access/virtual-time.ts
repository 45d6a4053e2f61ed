import { vi } from 'vitest';
import type { SpreadTime } from '../../../src/app/runtime/instance.js';
import { serverTime } from '../../../src/base/redis/connection.js';
import { SOON } from '../../base/soon.js';

const PATIENCE = { ...SOON, interval: 10 };
const STEP_MS = 5_000;

/** A time in which changes of stored lanes spread only as the test lets it pass. Several processes may share it. */
export function virtualTime() {
  let passedMs = 0;
  const alarms = new Set<{ readonly at: number; readonly ring: () => void }>();
  /** How many waits of so many ms have begun. */
  const begun = new Map<number, number>();
  const time: SpreadTime = {
    alarm(ms, ring) {
      const alarm = { at: passedMs + ms, ring };
      alarms.add(alarm);
      begun.set(ms, (begun.get(ms) ?? 0) + 1);
      return () => void alarms.delete(alarm);
    },
    ofRedis: async (redis) => (await serverTime(redis)) + passedMs,
  };
  const step = (): void => {
    passedMs += STEP_MS;
    for (const alarm of [...alarms]) {
      if (alarm.at > passedMs) continue;
      alarms.delete(alarm);
      alarm.ring();
    }
  };
  /** Lets time pass until something is so. */
  const until = async (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> => {
    const passing = vi.waitUntil(async () => {
      step();
      return isSo();
    }, PATIENCE);
    await passing.catch((error: unknown) => {
      throw new Error(`it never happened: ${what}`, { cause: error });
    });
  };
  return {
    time,
    until,
    /** Lets time pass until a promise is settled. */
    async settled<Result>(promise: Promise<Result>): Promise<Result> {
      let isSettled = false;
      const settle = (): void => {
        isSettled = true;
      };
      promise.then(settle, settle);
      await until('a promise is settled', () => isSettled);
      return promise;
    },
    /** Lets time pass until what is done every `everyMs` was done so often. */
    async rounds(everyMs: number, times: number): Promise<void> {
      const before = begun.get(everyMs) ?? 0;
      await until(`${times} rounds`, () => (begun.get(everyMs) ?? 0) >= before + times);
    },
  };
}
