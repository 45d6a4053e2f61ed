/** How much acknowledged data a server may lose, ms. Infinity: nothing bounds it, so nothing may be sent. */
export interface MayLose {
  readonly ms: number;
  /** The same as soon as it has a replica, which may take over. */
  readonly withReplicaMs: number;
}

/** Workers remember enough claims to recover from this; the upper bound of REDIS_MAY_LOSE. */
export const MAX_LOSS_MS = 60_000;
