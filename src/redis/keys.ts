/**
 * The names of all keys, in one place; those of a campaign are made of them in `recipients/campaign-keys.ts`. What one script
 * touches together shares a hash tag, so that a cluster keeps it on one node: all of a lane under `{prefix:lane}`, all of
 * an account's token under `{prefix:token:id}`.
 */
export function keyNames(prefix: string) {
  return {
    /** One key of a lane: `lane('acme', 'claims')`. */
    lane: (lane: string, key: string): string => `{${prefix}:${lane}}:${key}`,
    /** The token of one account. `id` is a digest, never the credentials themselves. */
    token: (id: string): string => `{${prefix}:token:${id}}`,
    /** Sorted set, all scores 0: `campaignId lane`, so that ids, which begin with their time, list in order. */
    campaigns: `${prefix}:campaigns`,
    /** Set: the lanes that have ever had a campaign and whose data is not gone yet. */
    lanes: `${prefix}:lanes`,
    /** Stream: what happened lately to campaigns and lanes, for those who follow it. */
    events: `${prefix}:events`,
    /** Hash: keys to the HTTP API by their ids. */
    apiKeys: `${prefix}:apiKeys`,
    /** Hash: when each of them was used last, ms. */
    apiKeysUsed: `${prefix}:apiKeys:used`,
    /** Set: suppressed numbers, packed. */
    suppressed: `${prefix}:suppressed`,
    /** String with a lifetime: the campaign that an idempotency key made. */
    idempotency: (digest: string): string => `${prefix}:idempotency:${digest}`,
    /** Sorted set: worker processes by the time of their last sign of life. */
    workers: `${prefix}:workers`,
    /** String with a lifetime: who sweeps these lanes now. Processes that know other lanes sweep those themselves. */
    sweeper: (lanes: string): string => `${prefix}:sweeper:${lanes}`,
    /** String with a lifetime, by which one tells its age: these lanes have been swept. */
    swept: (lanes: string): string => `${prefix}:swept:${lanes}`,
    /** BullMQ's own prefix; each queue gets a hash tag of its own. */
    queue: (name: string): string => `{${prefix}-${name}}`,
  };
}

/** See {@link keyNames}. */
export type Keys = ReturnType<typeof keyNames>;
