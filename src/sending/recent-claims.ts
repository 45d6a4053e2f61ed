import type { Clock } from '../clock.js';
import type { Hand } from '../recovery/recovery-barrier.js';
import type { PollClaim, SendClaim } from './claims.js';
import type { SendSettlement } from './settlements.js';

/** What this process remembers of a claim: with `settlement` what became of it, without that it is in flight. */
export interface Remembered {
  readonly claim: SendClaim;
  readonly at: number;
  settlement?: SendSettlement;
}

/** Longer than any failover loses; and bounded in number, some 20 MB at the most. */
const REMEMBER_MS = 60_000;
const REMEMBER_CLAIMS = 50_000;
/** Longer than what a server may lose. */
const ASKED_MS = 10_000;

/** Who remembers, and how much of what was answered the server may lose, ms. */
export interface Self {
  readonly process: string;
  lossMs(): number;
}

const NOBODY: Self = { process: '', lossMs: () => 0 };

/**
 * What a process remembers of a lane's last claims, in case Redis turns out to have forgotten them: a replica that took
 * over, or a file that lost its tail. Pure but for the clock.
 */
export function createMemory(monotonic: Clock, self: Self = NOBODY) {
  const claims = new Map<number, Remembered>();
  let seen = 0;
  let asked: number[] = [];
  let told: Promise<unknown> = Promise.resolve();
  const forget = (): void => {
    const before = monotonic() - REMEMBER_MS;
    for (const [number, { at, settlement }] of claims) {
      if (claims.size <= REMEMBER_CLAIMS && (at >= before || settlement === undefined)) return;
      claims.delete(number);
    }
  };
  return {
    /** The highest claim number ever seen. */
    get seen(): number {
      return seen;
    },
    /** How the lane's crew knows this process. */
    get hand(): Hand {
      return { process: self.process, seen, loss: self.lossMs() };
    },
    claimed(list: readonly SendClaim[]): void {
      const at = monotonic();
      for (const claim of list) {
        seen = Math.max(seen, claim.number);
        claims.set(claim.number, { claim, at });
      }
      forget();
    },
    /** Of polls only their number is kept: one that is forgotten is made again, but its permit is spent. */
    asked(list: readonly PollClaim[]): void {
      if (list.length === 0) return;
      const now = monotonic();
      asked = asked.filter((at) => at >= now - ASKED_MS);
      for (const { number } of list) {
        seen = Math.max(seen, number);
        asked.push(now);
      }
    },
    /** Polls of the last seconds that had some, however long Redis was away since: as many permits may be forgotten. */
    get polls(): number {
      const last = asked.at(-1) ?? 0;
      return asked.filter((at) => at >= last - ASKED_MS).length;
    },
    settled(settlement: SendSettlement): void {
      const remembered = claims.get(settlement.claim.number);
      if (remembered !== undefined) remembered.settlement = settlement;
    },
    /** While this process tells Redis what it remembers, it claims nothing: `told` resolves when it may again. */
    get told(): Promise<unknown> {
      return told;
    },
    telling(promise: Promise<unknown>): void {
      told = promise.catch(() => {});
    },
    /** In the order they were claimed. */
    all(): Remembered[] {
      return [...claims.values()];
    },
  };
}

/** See {@link createMemory}. */
export type Memory = ReturnType<typeof createMemory>;
