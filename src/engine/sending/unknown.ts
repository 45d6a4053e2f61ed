import { z } from 'zod';
import type { Events } from '../../base/events/events.js';
import { NotFoundError } from '../../campaign/errors/errors.js';
import { StateError } from '../../campaign/errors/state-error.js';
import { describeActor } from '../../campaign/states/actor.js';
import type { Operator } from '../../campaign/states/audit.js';
import { requestReference } from '../../campaign/states/campaign.js';
import { activate, type Wakers, wakeLane } from '../jobs/wake.js';
import type { LaneFinder } from '../lane/lane-finder.js';
import { recordsKey, statusesKey } from '../recipients/campaign-keys.js';
import { outboxId } from '../recipients/outbox-messages.js';
import { sourceOf } from '../scripts/announced-events.js';
import { type LaneStore, laneScript } from '../scripts/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../scripts/script-events.js';
import { readState } from '../store/campaigns.js';

/*
 * A request that may have been accepted is sent again only in three cases: the lane's policy says so (`unknownOutcome`), the service is
 * known to deduplicate correlators (`clientCorrelator`, or the lane's profile), or an operator resolves it so.
 *
 *   unknown ──► abandon, accepted: settled
 *      └──────► resend: at once if its worker reported the outcome itself, else two request timeouts and a margin after the claim:
 *               only then can that worker act no more ──► planned, with `again` (campaigns.lua)
 *
 * A batch with `again` that is cancelled, lapses, or is suppressed before it is accepted becomes unknown again, not final. Under
 * the policy `resend`, batches of a campaign that was cancelled or has lapsed are abandoned.
 *
 * Only an acceptance of a repeat under a correlator says what became of the first request. After any other answer, its batch is unknown
 * and is not repeated again: the service may refuse nothing but the correlator. A repeat that was not sent, or got no answer, 401, or 429,
 * is repeated again.
 *
 * A repeat under a correlator leaves only while the service remembers the first request (`firstAt`, `repeatFor` in rules.ts): the claim
 * checks it, and its permit ends then. The correlator names the campaign and the range of the batch, so it is known even if Redis has lost
 * the claim; batches whose bounds are not known stay unknown. A lane that changes its profile, or begins to deduplicate, repeats no request
 * from before.
 */

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
  /** The turn that made the claim, or what Redis claimed it as. */
  readonly turn: string;
  readonly campaign: string;
  readonly first: number;
  readonly count: number;
  /** Of an outbox: the id of the message whose number is `first`. */
  readonly message?: string | undefined;
  readonly claimedAt: number;
  readonly since: number;
  readonly reason: string;
  /** The service's id of the request that a notification has matched to it; it is polled. Null: none. */
  readonly matchedRequestId: string | null;
  /** From when on its worker can no longer send it. */
  readonly safeAt: number;
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
  turn: z.string(),
  campaign: z.string(),
  first: z.number(),
  count: z.number(),
  message: z.string().optional(),
  at: z.number(),
  since: z.number(),
  reason: z.string(),
  safeAt: z.number(),
  epoch: z.number().optional(),
  matched: z.string().optional(),
});
/** The epoch of replayed and placeholder claims. Their time is not that of their request. */
export const NO_EPOCH = -1;

/** Lists a lane's batches with an unknown outcome. */
export async function listUnknown({
  redis,
  keys,
  id,
}: Pick<LaneStore, 'redis' | 'keys' | 'id'>): Promise<UnknownBatch[]> {
  const all = await redis.hgetall(keys.lane(id, 'unknown'));
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
  batches: readonly { number: number; turn: string; campaign: string; first: number }[],
  now?: number,
): Promise<ResolveResult> {
  const all = { batches: 0, recipients: 0, tooEarly: 0, safeAt: 0, events: [] as ScriptEvent[] };
  for (let from = 0; from < batches.length; from += BATCHES_AT_ONCE) {
    const some = batches.slice(from, from + BATCHES_AT_ONCE);
    const entryKeys = some.flatMap(({ campaign, first }) => [
      statusesKey(store.keys, store.id, campaign),
      recordsKey(store.keys, store.id, campaign, first),
    ]);
    const named = JSON.stringify(some.map(({ number, turn }) => ({ number, turn })));
    const part = await resolveScript(store, { as, reason, batches: named, time: now }, entryKeys);
    all.batches += part.batches;
    all.recipients += part.recipients;
    all.tooEarly += part.tooEarly;
    all.safeAt = Math.max(all.safeAt, part.safeAt);
    all.events.push(...part.events);
  }
  return all;
}

/** How to settle requests with an unknown outcome. */
export interface Resolution {
  /** `resend` risks a second message, `abandon` gives the recipients up, and `accepted` counts them as sent, without a delivery report. */
  readonly as: 'resend' | 'abandon' | 'accepted';
  /** The reference of one request, as status and report show it. Default: all requests with an unknown outcome. */
  readonly request?: string | undefined;
}

/** How many requests, and how many of their recipients, were settled. */
export interface ResolveOutcome {
  readonly requests: number;
  readonly recipientCount: number;
  /** Requests left unchanged because a worker may still be about to send them, and until when; null if there are none. */
  readonly tooEarly: { readonly requests: number; readonly until: string } | null;
}

/** The reason that the report shows for the recipients. */
const REASONS = {
  resend: 'sent again by the operator',
  abandon: 'given up by the operator',
  accepted: 'counted as sent by the operator, without a delivery report',
};

type FoundLane = LaneStore &
  Parameters<typeof wakeLane>[0] & { readonly name: string; emit(list: readonly ScriptEvent[]): void };

/** What resolving needs besides the lane. */
interface Resolving {
  readonly wakers: Wakers;
  readonly events: Pick<Events, 'emit'>;
  readonly by: Operator;
  /** The time of Redis in ms, for tests. */
  readonly now?: number | undefined;
}

/**
 * Settles requests of a campaign with an unknown outcome, by an operator's command. Rejects with a StateError if the campaign is cancelled
 * or has lapsed and the command is `resend`.
 */
export async function resolveUnknown(
  finder: LaneFinder,
  id: string,
  { as, request }: Resolution,
  resolving: Resolving,
): Promise<ResolveOutcome> {
  const lane = await finder.of(id);
  const ofCampaign = (await listUnknown(lane)).filter(({ campaign }) => campaign === id);
  const named =
    request === undefined
      ? ofCampaign
      : ofCampaign.filter(({ number }) => requestReference(id, number) === request);
  if (request !== undefined && named.length === 0) {
    throw new NotFoundError(
      `campaign ${id} has no request ${request} with an unknown outcome; its status lists them`,
    );
  }
  const remainder =
    as === 'resend' ? (await readState(lane.redis, lane.keys, lane.id, id))?.remainder : undefined;
  if (remainder !== undefined && remainder !== 'planned') {
    const state = remainder === 'lapsed' ? 'has lapsed' : 'is cancelled';
    throw new StateError(
      `campaign ${id} ${state}, so it sends nothing again; abandon its unknown outcomes or count them as accepted`,
    );
  }
  const details = { as, ...(request === undefined ? {} : { request }), requests: named.length };
  const entry = { action: 'campaign.resolve', lane: lane.id, campaign: id, details } as const;
  return settle(lane, as, named, entry, sourceOf({ campaign: id }), resolving);
}

/** How to settle messages of an outbox with an unknown outcome. */
export interface MessageResolution extends Pick<Resolution, 'as'> {
  /** The id of one message. Default: all messages with an unknown outcome. */
  readonly message?: string | undefined;
}

/** Settles messages of an outbox with an unknown outcome, by an operator's command. Each message is a request of its own. */
export async function resolveMessages(
  lane: FoundLane,
  outbox: string,
  { as, message }: MessageResolution,
  resolving: Resolving,
): Promise<ResolveOutcome> {
  const ofOutbox = (await listUnknown(lane)).filter(({ campaign }) => campaign === outboxId(outbox));
  const named = message === undefined ? ofOutbox : ofOutbox.filter((batch) => batch.message === message);
  if (message !== undefined && named.length === 0)
    throw new NotFoundError(`outbox ${outbox} has no message ${message} with an unknown outcome`);
  const details = { outbox, as, messages: named.length };
  const entry = { action: 'outbox.resolve', lane: lane.id, details } as const;
  return settle(lane, as, named, entry, sourceOf({ campaign: outboxId(outbox), message }), resolving);
}

async function settle(
  lane: FoundLane,
  as: Resolution['as'],
  batches: readonly UnknownBatch[],
  entry: Parameters<Operator['audited']>[0],
  source: ReturnType<typeof sourceOf>,
  { wakers, events, by, now }: Resolving,
): Promise<ResolveOutcome> {
  if (batches.length === 0) return { requests: 0, recipientCount: 0, tooEarly: null };
  const result = await by.audited(entry, () =>
    activate(
      lane,
      () => resolveBatches(lane, as, REASONS[as], batches, now),
      () => wakeLane(lane, wakers),
    ),
  );
  lane.emit(result.events);
  const { batches: requests, recipients: recipientCount, tooEarly, safeAt } = result;
  if (requests > 0) {
    const actor = describeActor(by.actor);
    events.emit({
      type: 'request.resolved',
      lane: lane.name,
      ...source,
      as,
      requests,
      recipientCount,
      actor,
    });
  }
  return {
    requests,
    recipientCount,
    tooEarly: tooEarly === 0 ? null : { requests: tooEarly, until: new Date(safeAt).toISOString() },
  };
}
