import { z } from 'zod';
import { type LaneStore, laneScript } from '../lane/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../lane/script-events.js';
import { recordsKey, statusesKey } from '../recipients/campaign-keys.js';

/** What became of batches of unknown outcome. `safeAt`: when those it was too early for may be sent again, ms. */
export interface Resolved {
  readonly batches: number;
  readonly recipients: number;
  readonly tooEarly: number;
  readonly safeAt: number;
  readonly events: readonly ScriptEvent[];
}

/** A batch of whose outcome nobody knows; `number` is its claim's. Times in ms. */
export interface UnknownBatch {
  readonly number: number;
  readonly campaign: string;
  readonly first: number;
  readonly count: number;
  readonly claimedAt: number;
  readonly since: number;
  readonly reason: string;
  /** The request that it may be, which is being asked about; null for none. */
  readonly matchedRequestId: string | null;
  /** Redis had forgotten its claim, or it was claimed for nobody: when its request was sent is not known. */
  readonly isRestored: boolean;
}

/** A script must not hold the server up, nor unpack more than some thousands. */
const RESOLVED_AT_ONCE = 500;

const resolveScript = laneScript(import.meta.url, './resolve-unknown.lua', (reply): Resolved => {
  const [batches, recipients, tooEarly, safeAt, events] = z
    .tuple([z.number(), z.number(), z.number(), z.string(), z.string()])
    .parse(reply);
  return { batches, recipients, tooEarly, safeAt: Number(safeAt), events: scriptEvents(events) };
});

const unknownBatch = z.object({
  c: z.string(),
  f: z.number(),
  k: z.number(),
  at: z.number(),
  since: z.number(),
  why: z.string(),
  e: z.number().optional(),
  s: z.string().optional(),
});
/** The epoch of claims that Redis had forgotten and that were restored; theirs is not the time at which they were made. */
export const OF_NO_EPOCH = -1;

/** A lane's batches with an unknown outcome. */
export async function listUnknown({
  redis,
  keys,
  name,
}: Pick<LaneStore, 'redis' | 'keys' | 'name'>): Promise<UnknownBatch[]> {
  const all = await redis.hgetall(keys.lane(name, 'unknown'));
  return Object.entries(all).map(([number, json]) => {
    const { c, f, k, at, since, why, e, s } = unknownBatch.parse(JSON.parse(json));
    return {
      number: Number(number),
      campaign: c,
      first: f,
      count: k,
      claimedAt: at,
      since,
      reason: why,
      matchedRequestId: s ?? null,
      isRestored: e === OF_NO_EPOCH,
    };
  });
}

/** Settles batches with an unknown outcome, by an operator's command or by the lane's policy. */
export async function resolveBatches(
  store: LaneStore,
  as: 'resend' | 'abandon' | 'accepted',
  reason: string,
  batches: readonly { number: number; campaign: string; first: number }[],
  now?: number,
): Promise<Resolved> {
  const all = { batches: 0, recipients: 0, tooEarly: 0, safeAt: 0, events: [] as ScriptEvent[] };
  for (let from = 0; from < batches.length; from += RESOLVED_AT_ONCE) {
    const some = batches.slice(from, from + RESOLVED_AT_ONCE);
    const entryKeys = some.flatMap(({ campaign, first }) => [
      statusesKey(store.keys, store.name, campaign),
      recordsKey(store.keys, store.name, campaign, first),
    ]);
    const numbers = JSON.stringify(some.map(({ number }) => String(number)));
    const part = await resolveScript(store, { as, reason, numbers, time: now }, entryKeys);
    all.batches += part.batches;
    all.recipients += part.recipients;
    all.tooEarly += part.tooEarly;
    all.safeAt = Math.max(all.safeAt, part.safeAt);
    all.events.push(...part.events);
  }
  return all;
}
