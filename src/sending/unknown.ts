import { z } from 'zod';
import { type LaneStore, laneScript } from '../lane/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../lane/script-events.js';
import { recordsKey, statusesKey } from '../recipients/campaign-keys.js';

/** How many batches were resolved. `safeAt`: when those it was too early for may be sent again, ms. */
export interface ResolveResult {
  readonly batches: number;
  readonly recipients: number;
  readonly tooEarly: number;
  readonly safeAt: number;
  readonly events: readonly ScriptEvent[];
}

/** A batch with an unknown outcome; `number` is its claim's. Times in ms. */
export interface UnknownBatch {
  readonly number: number;
  readonly campaign: string;
  readonly first: number;
  readonly count: number;
  readonly claimedAt: number;
  readonly since: number;
  readonly reason: string;
  /** The request that a notification has matched to it, and that is polled; null for none. */
  readonly matchedRequestId: string | null;
  /** Its claim was replayed or is a placeholder: when its request was sent is not known. */
  readonly isRestored: boolean;
}

/** Bounds one call, which must not block Redis for long. */
const RESOLVED_AT_ONCE = 500;

const resolveScript = laneScript(import.meta.url, './resolve-unknown.lua', (reply): ResolveResult => {
  const [batches, recipients, tooEarly, safeAt, events] = z
    .tuple([z.number(), z.number(), z.number(), z.string(), z.string()])
    .parse(reply);
  return { batches, recipients, tooEarly, safeAt: Number(safeAt), events: scriptEvents(events) };
});

const unknownBatch = z.object({
  campaign: z.string(),
  first: z.number(),
  count: z.number(),
  at: z.number(),
  since: z.number(),
  reason: z.string(),
  epoch: z.number().optional(),
  matched: z.string().optional(),
});
/** The epoch of replayed and placeholder claims; their time is not the time at which they were made. */
export const OF_NO_EPOCH = -1;

/** A lane's batches with an unknown outcome. */
export async function listUnknown({
  redis,
  keys,
  name,
}: Pick<LaneStore, 'redis' | 'keys' | 'name'>): Promise<UnknownBatch[]> {
  const all = await redis.hgetall(keys.lane(name, 'unknown'));
  return Object.entries(all).map(([number, json]) => {
    const { at, epoch, matched, ...batch } = unknownBatch.parse(JSON.parse(json));
    return {
      ...batch,
      number: Number(number),
      claimedAt: at,
      matchedRequestId: matched ?? null,
      isRestored: epoch === OF_NO_EPOCH,
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
): Promise<ResolveResult> {
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
