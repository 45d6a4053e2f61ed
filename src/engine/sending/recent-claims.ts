import type { Clock } from '../../base/clock.js';
import { MAX_LOSS_MS, type MayLose } from '../../base/redis/may-lose.js';
import type { ClaimingProcess } from '../claim/claim-reply.js';
import type { ScriptEvent } from '../scripts/script-events.js';
import type { SendClaim, SendSettlement } from './send-claim.js';

/** A recent claim of this process. Without a `settlement`, it is still in flight. */
export interface RecentClaim {
  readonly claim: SendClaim;
  /** When Redis last stored something of it: the claim, its settlement, or both again. */
  at: number;
  settlement?: SendSettlement;
}

/** Longer than the time of which Redis may lose the writes. It ends with the last claims that Redis gave: an outage does not count. */
const KEEP_MS = MAX_LOSS_MS + 30_000;
/** Longer than any request takes (LONGEST_TIMEOUT_MS in policy.lua): what is not settled by then is of a turn that failed. */
const UNSETTLED_MS = 900_000;
/** Some 20 MB. */
const MAX_CLAIMS = 50_000;
/** At least; more if Redis may lose more. */
const POLLS_MS = 10_000;

/** This process, and how much acknowledged data Redis may lose. */
interface Self {
  readonly process: string;
  mayLose(): MayLose;
  /** The highest claim number of the lane that no crash and no failover can have lost; default: none is known. */
  kept?(): number;
}

const NO_PROCESS: Self = { process: '', mayLose: () => ({ ms: 0, withReplicaMs: 0 }) };

/** As the scripts read it. */
const forScripts = (ms: number): number => (Number.isFinite(ms) ? ms : -1);

/**
 * The recent claims of a process on a lane. If Redis loses its last writes (a replica took over, or its file lost the end), the
 * process replays them.
 */
export interface RecentClaims {
  /** This process, for the lane's scripts. */
  readonly self: ClaimingProcess;
  claimed(claims: readonly SendClaim[]): void;
  /** Keeps only the times of polls: a lost poll is repeated, but its permit is spent. */
  polled(claims: readonly { readonly number: number }[]): void;
  /**
   * Polls of the 10 s up to the last one, or of as long as Redis may lose: as many permits may be lost. They count however long Redis has been
   * away since.
   */
  readonly polls: number;
  settled(settlement: SendSettlement): void;
  /** Starts to replay the claims to Redis, after the replay that is running. */
  replay(): void;
  /** Does the same if a script's events report a loss of data. Do not delay it: the lane waits for it, at most 60 s. */
  replayAfterLoss(events: readonly ScriptEvent[]): void;
  /** Does the same for a loss that another process has announced, once: announcements are repeated. */
  replayOnce(lossName: string): void;
  /** Resolves when no replay is running. Until then, this process claims no sends. */
  readonly replayed: Promise<unknown>;
  /** All claims, in the order in which they were made. */
  all(): RecentClaim[];
}

/** Starts without claims. `replay` replays them to Redis, and returns how many it has restored. */
export function recentClaims(
  monotonic: Clock,
  self: Self = NO_PROCESS,
  replay: (recent: RecentClaims) => Promise<number> = async () => 0,
): RecentClaims {
  const claims = new Map<string, RecentClaim>();
  const keyOf = ({ number, turn }: SendClaim): string => `${number} ${turn}`;
  let [seen, claimedAt] = [0, 0];
  let polls: number[] = [];
  const countedPolls = (): number[] => {
    const { ms, withReplicaMs } = self.mayLose();
    const from = (polls.at(-1) ?? 0) - Math.max(POLLS_MS, ...[ms, withReplicaMs].filter(Number.isFinite));
    return polls.filter((at) => at >= from);
  };
  let replayed: Promise<unknown> = Promise.resolve();
  /** Another replay may begin during one. */
  const untilReplayed = async (): Promise<void> => {
    let awaited: Promise<unknown> | undefined;
    while (awaited !== replayed) {
      awaited = replayed;
      await awaited;
    }
  };
  const losses = new Set<string>();
  const expire = (): void => {
    const before = claimedAt - KEEP_MS;
    for (const [key, { at, settlement }] of claims) {
      const until = settlement === undefined ? at + UNSETTLED_MS : at;
      if (claims.size <= MAX_CLAIMS && until >= before) return;
      claims.delete(key);
    }
  };
  /** Redis may lose again what a replay has just restored. */
  const renew = (): void => {
    for (const claim of claims.values()) claim.at = monotonic();
  };
  const recent: RecentClaims = {
    get self() {
      const { ms, withReplicaMs } = self.mayLose();
      const kept = self.kept?.() ?? 0;
      return {
        process: self.process,
        seen: Math.max(seen, kept),
        kept,
        mayLoseMs: forScripts(ms),
        withReplicaMs: forScripts(withReplicaMs),
      };
    },
    claimed(list) {
      if (list.length === 0) return;
      // These may be the first after an outage, and what was claimed right before it may be lost. The next ones follow the replay.
      expire();
      claimedAt = monotonic();
      for (const claim of list) {
        seen = Math.max(seen, claim.number);
        claims.set(keyOf(claim), { claim, at: claimedAt });
      }
    },
    polled(list) {
      if (list.length === 0) return;
      const now = monotonic();
      polls = polls.filter((at) => at >= now - MAX_LOSS_MS);
      for (const { number } of list) {
        seen = Math.max(seen, number);
        polls.push(now);
      }
    },
    get polls() {
      return countedPolls().length;
    },
    settled(settlement) {
      const claim = claims.get(keyOf(settlement.claim));
      if (claim !== undefined) Object.assign(claim, { settlement, at: monotonic() });
    },
    get replayed() {
      return untilReplayed();
    },
    replay() {
      replayed = replayed
        .then(async () => {
          if ((await replay(recent)) > 0) renew();
        })
        .catch(() => {});
    },
    replayAfterLoss(events) {
      for (const event of events) if (event.type === 'dataLoss') recent.replayOnce(event.lossName);
    },
    replayOnce(lossName) {
      if (losses.has(lossName)) return;
      losses.add(lossName);
      recent.replay();
      // How many were restored is not known if a reply was lost.
      replayed = replayed.then(() => {
        renew();
        polls = countedPolls().map(() => monotonic());
      });
    },
    all: () => [...claims.values()],
  };
  return recent;
}
