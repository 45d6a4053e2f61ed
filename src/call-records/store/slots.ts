import { type Machine, pause, startStopwatch } from '../../base/clock.js';
import { durationOption } from '../../base/duration.js';
import { RecordsBusyError } from './errors.js';
import type { RecordsStore } from './store.js';

/** How long a call may take. */
export interface RecordsOptions {
  /** Ends the waiting, and an open download. A request on the wire is always finished. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for other requests of the credential, such as `20s`. Default: without a limit. */
  readonly wait?: string | undefined;
}

/** A slot of a credential. */
export interface HeldSlot {
  /** Whether a request that starts now may outlast the slot. */
  readonly isLate: () => boolean;
  /** Returns whether it was still held. */
  renew(): Promise<boolean>;
  release(): Promise<void>;
}

/** How often something that another process holds is looked at. */
export const LOOK_EVERY_MS = 500;
/** How soon a slot that is taken is tried again: soon at first, as most requests are quick. */
const TRY_AGAIN_MS = (tries: number): number => Math.min(10 * 1.5 ** tries, LOOK_EVERY_MS);

/** Waits for its turn among the requests of a credential. Call it after each failed try; it rejects once that takes too long. */
export function slotWait(machine: Machine, { signal, wait }: RecordsOptions): (ms: number) => Promise<void> {
  const age = startStopwatch(machine);
  const waitMs = durationOption('wait', wait, Number.POSITIVE_INFINITY);
  let tries = 0;
  return async (ms) => {
    if (age() + ms > waitMs) throw new RecordsBusyError(ms);
    await pause(machine.alarm, Math.min(ms, TRY_AGAIN_MS(tries)), signal);
    tries += 1;
  };
}

/** Takes slots of credentials; `limit`: how many each has. */
export function slotTaker(store: RecordsStore, machine: Machine, limit: number) {
  return async (credential: string, leaseMs: number, options: RecordsOptions): Promise<HeldSlot> => {
    const holder = machine.nonce();
    const slot = { holder, leaseMs, limit };
    const wait = slotWait(machine, options);
    let sinceTaken = startStopwatch(machine);
    for (;;) {
      options.signal?.throwIfAborted();
      sinceTaken = startStopwatch(machine);
      const ms = await store.takeSlot(credential, slot);
      if (ms === 0) break;
      await wait(ms);
    }
    return {
      isLate: () => sinceTaken() > leaseMs / 2,
      async renew() {
        const since = startStopwatch(machine);
        if (!(await store.renewSlot(credential, slot))) return false;
        sinceTaken = since;
        return true;
      },
      release: () => store.releaseSlot(credential, holder),
    };
  };
}

/** See {@link slotTaker}. */
export type SlotTaker = ReturnType<typeof slotTaker>;
