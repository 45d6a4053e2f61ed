import { requestReference } from '../campaign/campaign-id.js';
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
  /** `resend` at the risk of a second message, `abandon`, or count as `accepted`. */
  readonly as: 'resend' | 'abandon' | 'accepted';
  /** Only this request, by the reference that status and report show; by default all of the campaign. */
  readonly request?: string | undefined;
}

/** How many requests, and recipients of them, were settled. */
export interface ResolveOutcome {
  readonly requests: number;
  readonly recipients: number;
  /** Requests left unchanged because a worker may still be about to send them, and until when; null if there are none. */
  readonly tooEarly: { readonly requests: number; readonly until: string } | null;
}

/** What the report says of those whose batch was resolved. */
const WORDS = {
  resend: 'sent again on the word of the operator',
  abandon: 'given up on the word of the operator',
  accepted: 'accepted on the word of the operator; it cannot be followed up',
};

/**
 * Settles batches of whose outcome nobody knows, on the word of an operator. What has lapsed or is cancelled is not sent
 * again: that is an InputError.
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
        `campaign ${id} has no unknown request ${request}; its status names those there are`,
      );
    }
    const rest = as === 'resend' ? (await readState(redis, keys, lane.name, id))?.remainder : undefined;
    if (rest !== undefined && rest !== 'planned') {
      const over = rest === 'lapsed' ? 'has lapsed' : 'is cancelled';
      throw new InputError(
        `campaign ${id} ${over}, so nothing of it is sent again; what is unknown can be given up or counted as accepted`,
      );
    }
    const done = await resolveBatches(lane, as, WORDS[as], named);
    lane.emit(done.events);
    await wakeLane(lane, wakers);
    const { batches, recipients, tooEarly, safeAt } = done;
    return {
      requests: batches,
      recipients,
      tooEarly: tooEarly === 0 ? null : { requests: tooEarly, until: new Date(safeAt).toISOString() },
    };
  };
}
