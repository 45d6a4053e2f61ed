import type { Clock } from '../clock.js';
import type { ClaimingProcess } from '../lane/claims.js';
import type { ScriptEvent } from '../lane/script-events.js';
import type { SendClaim } from './claims.js';
import type { SendSettlement } from './settlements.js';

/** What this process remembers of a claim: with `settlement` what became of it, without that it is in flight. */
export interface RecentClaim {
  readonly claim: SendClaim;
  readonly at: number;
  settlement?: SendSettlement;
}

/** Longer than any failover loses; and bounded in number, some 20 MB at the most. */
const REMEMBER_MS = 60_000;
const REMEMBER_CLAIMS = 50_000;
/** Longer than what a server may lose. */
const POLLS_MS = 10_000;

/** Who remembers, and how much of what was answered the server may lose, ms. */
interface Self {
  readonly process: string;
  lossMs(): number;
}

const NO_PROCESS: Self = { process: '', lossMs: () => 0 };

/**
 * The last claims of a process on a lane, in case Redis turns out to have lost them: a replica that took over, or a file
 * that lost its tail.
 */
export interface RecentClaims {
  /** How the lane's scripts know this process. */
  readonly self: ClaimingProcess;
  claimed(claims: readonly SendClaim[]): void;
  /** Of polls only the time is kept: a lost one is made again, but its permit is spent. */
  polled(claims: readonly { readonly number: number }[]): void;
  /** Polls of the last seconds that had some, however long Redis was away since: as many permits may be lost. */
  readonly polls: number;
  settled(settlement: SendSettlement): void;
  /** Replays the claims to Redis. */
  replay(): void;
  /** The same, where a script's events say that Redis has lost data: at once, for the grace in which claims wait is short. */
  replayAfterLoss(events: readonly ScriptEvent[]): void;
  /** Resolves when no replay is running; until then this process claims nothing. */
  readonly replayed: Promise<unknown>;
  /** In the order they were claimed. */
  all(): RecentClaim[];
}

/** Opens an empty memory of claims; `replay` brings them back to Redis. */
export function recentClaims(
  monotonic: Clock,
  self: Self = NO_PROCESS,
  replay: (recent: RecentClaims) => Promise<unknown> = async () => {},
): RecentClaims {
  const claims = new Map<number, RecentClaim>();
  let seen = 0;
  let polls: number[] = [];
  let replayed: Promise<unknown> = Promise.resolve();
  const forget = (): void => {
    const before = monotonic() - REMEMBER_MS;
    for (const [number, { at, settlement }] of claims) {
      if (claims.size <= REMEMBER_CLAIMS && (at >= before || settlement === undefined)) return;
      claims.delete(number);
    }
  };
  const recent: RecentClaims = {
    get self() {
      return { process: self.process, seen, loss: self.lossMs() };
    },
    claimed(list) {
      const at = monotonic();
      for (const claim of list) {
        seen = Math.max(seen, claim.number);
        claims.set(claim.number, { claim, at });
      }
      forget();
    },
    polled(list) {
      if (list.length === 0) return;
      const now = monotonic();
      polls = polls.filter((at) => at >= now - POLLS_MS);
      for (const { number } of list) {
        seen = Math.max(seen, number);
        polls.push(now);
      }
    },
    get polls() {
      const last = polls.at(-1) ?? 0;
      return polls.filter((at) => at >= last - POLLS_MS).length;
    },
    settled(settlement) {
      const remembered = claims.get(settlement.claim.number);
      if (remembered !== undefined) remembered.settlement = settlement;
    },
    get replayed() {
      return replayed;
    },
    replay() {
      replayed = replay(recent).catch(() => {});
    },
    replayAfterLoss(events) {
      if (events.some(({ type }) => type === 'dataLoss')) recent.replay();
    },
    all: () => [...claims.values()],
  };
  return recent;
}
