import { requestReference } from '../campaign/campaign.js';
import { InputError, NotFoundError } from '../campaign/errors.js';
import { readState } from '../lane/campaigns.js';
import type { LaneFinder } from '../lane/lane-finder.js';
import type { Wakers } from '../lane/queues.js';
import { wakeLane } from '../lane/wake.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { listUnknown, resolveBatches } from './unknown.js';

/** How to settle requests with an unknown outcome. */
export interface Resolution {
  /** `resend` risks a second message, `abandon` gives the recipients up, and `accepted` counts them as accepted. */
  readonly as: 'resend' | 'abandon' | 'accepted';
  /** The reference of one request, as status and report show it. Default: all requests with an unknown outcome. */
  readonly request?: string | undefined;
}

/** How many requests, and how many of their recipients, were settled. */
export interface ResolveOutcome {
  readonly requests: number;
  readonly recipients: number;
  /** Requests left unchanged because a worker may still be about to send them, and until when; null if there are none. */
  readonly tooEarly: { readonly requests: number; readonly until: string } | null;
}

/** The reason that the report shows for the recipients. */
const REASONS = {
  resend: 'sent again by the operator',
  abandon: 'given up by the operator',
  accepted: 'counted as accepted by the operator; it cannot be followed up',
};

/**
 * Settles requests with an unknown outcome, by an operator's command. Rejects with an InputError if the campaign is cancelled or
 * has lapsed and the command is `resend`.
 */
export function resolveUnknown(
  redis: Redis,
  keys: Keys,
  finder: LaneFinder,
  wakers: Wakers,
): (id: string, resolution: Resolution) => Promise<ResolveOutcome> {
  return async (id, { as, request }) => {
    const lane = await finder.of(id);
    const own = (await listUnknown(lane)).filter(({ campaign }) => campaign === id);
    const named =
      request === undefined ? own : own.filter(({ number }) => requestReference(id, number) === request);
    if (request !== undefined && named.length === 0) {
      throw new NotFoundError(
        `campaign ${id} has no request ${request} with an unknown outcome; its status lists them`,
      );
    }
    const remainder = as === 'resend' ? (await readState(redis, keys, lane.name, id))?.remainder : undefined;
    if (remainder !== undefined && remainder !== 'planned') {
      const state = remainder === 'lapsed' ? 'has lapsed' : 'is cancelled';
      throw new InputError(
        `campaign ${id} ${state}, so it sends nothing again; abandon its unknown outcomes or count them as accepted`,
      );
    }
    const result = await resolveBatches(lane, as, REASONS[as], named);
    lane.emit(result.events);
    await wakeLane(lane, wakers);
    const { batches, recipients, tooEarly, safeAt } = result;
    return {
      requests: batches,
      recipients,
      tooEarly: tooEarly === 0 ? null : { requests: tooEarly, until: new Date(safeAt).toISOString() },
    };
  };
}
