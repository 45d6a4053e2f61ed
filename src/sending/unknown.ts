import { z } from 'zod';
import { type LaneStore, laneScript } from '../lane/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../lane/script-events.js';
import { recordsKey, statusesKey } from '../recipients/campaign-keys.js';

/** How many batches were resolved. `tooEarly`: batches that may not be sent again before `safeAt`, ms. */
interface ResolveResult {
  readonly batches: number;
  readonly recipients: number;
  readonly tooEarly: number;
  readonly safeAt: number;
  readonly events: readonly ScriptEvent[];
}

/** A batch with an unknown outcome. `number`: that of its claim. Times in ms. */
export interface UnknownBatch {
  readonly number: number;
  readonly campaign: string;
  readonly first: number;
  readonly count: number;
  readonly claimedAt: number;
  readonly since: number;
  readonly reason: string;
  /** The service's id of the request that a notification has matched to it; it is polled. Null: none. */
  readonly matchedRequestId: string | null;
  /** Its claim was replayed or is a placeholder, so the time of its request is not known. */
  readonly isRestored: boolean;
}

/** Batches per script call, which must not block Redis for long. */
const BATCHES_AT_ONCE = 500;

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
/** The epoch of replayed and placeholder claims. Their time is not that of their request. */
export const NO_EPOCH = -1;

/** Lists a lane's batches with an unknown outcome. */
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
      isRestored: epoch === NO_EPOCH,
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
  for (let from = 0; from < batches.length; from += BATCHES_AT_ONCE) {
    const some = batches.slice(from, from + BATCHES_AT_ONCE);
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
