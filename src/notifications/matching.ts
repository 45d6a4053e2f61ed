import { requestReference } from '../campaign/campaign.js';
import type { Events } from '../events/events.js';
import { plainSender } from '../gateway/notification.js';
import type { Lane } from '../lane/lane.js';
import type { Located } from '../recipients/request-index.js';
import { listUnknown } from '../sending/unknown.js';
import { type BatchNumbers, batchOfCorrelator } from './batch-lookup.js';
import type { MatchStore } from './match-store.js';
import type { WaitingReports } from './notification-store.js';
import { type CandidateBatch, uniqueMatches } from './unique-matches.js';

/*
 * A notification may name a request whose response was lost. It settles nothing by itself: if the request fits exactly one
 * batch of unknown outcome, and its id was never given to a request of ours, the follow-up stage polls it, and the response of
 * the service decides (follow-up.ts).
 */

/** Matches that are recorded in one round. */
const MAX_MATCHES = 100;

/** What {@link notificationMatching} works with. */
interface MatchingOptions {
  readonly lane: Lane;
  readonly matches: MatchStore;
  readonly events: Events;
  readonly numbersOf: BatchNumbers;
  /** The sender of a campaign, as it goes on the wire; null if the campaign has been removed. */
  senderOf(lane: string, campaign: string): Promise<string | null>;
  /** Ends the wait for a Redis that does not respond. */
  readonly signal: AbortSignal;
}

/** Matches reports of unknown requests to the lane's unknown outcomes. */
export function notificationMatching(
  options: MatchingOptions,
): (waiting: readonly WaitingReports[]) => Promise<void> {
  const { lane, matches, events, numbersOf, senderOf, signal } = options;
  const retry = <Answer>(run: () => Promise<Answer>) => lane.retry(run, signal);

  /** Null if the campaign has been removed. */
  const candidate = async (
    located: Located,
    outcome: Pick<CandidateBatch, 'number' | 'claimedAt' | 'matchedRequestId' | 'isSettled'>,
  ): Promise<CandidateBatch | null> => {
    const { campaign, first } = located;
    const sender = await senderOf(lane.name, campaign);
    const recipients = sender === null ? null : await numbersOf(located);
    if (sender === null || recipients === null) return null;
    return { campaign, first, sender: plainSender(sender), recipients, ...outcome };
  };

  const candidates = async (): Promise<CandidateBatch[]> => {
    const unknown = await retry(() => listUnknown(lane));
    if (unknown.length === 0) return [];
    const settled = await retry(() => matches.withoutId());
    // A batch that was resent and is unknown again is one candidate: a report of either request is a report of the batch.
    const isUnknown = new Set(unknown.map(({ campaign, first }) => `${campaign} ${first}`));
    const others = settled.filter(({ campaign, first }) => !isUnknown.has(`${campaign} ${first}`));
    const found = await Promise.all([
      ...unknown.map((batch) => {
        const { number, matchedRequestId } = batch;
        // The time of a replayed claim is not known.
        const claimedAt = batch.isRestored ? 0 : batch.claimedAt;
        return candidate(batch, { number, claimedAt, matchedRequestId, isSettled: false });
      }),
      ...others.map((located) =>
        candidate(located, { number: 0, claimedAt: 0, matchedRequestId: null, isSettled: true }),
      ),
    ]);
    return found.filter((batch) => batch !== null);
  };

  return async (waiting) => {
    const batches = await candidates();
    if (batches.length === 0) return;
    const requests = waiting.map(({ requestId, sender, correlator = null, letters, receivedAt }) => ({
      requestId,
      sender,
      numbers: Object.keys(letters),
      receivedAt,
      correlated: batchOfCorrelator(correlator),
    }));
    const pairs = uniqueMatches(batches, requests).slice(0, MAX_MATCHES);
    if (pairs.length === 0) return;
    // A late or repeated report of a request that is settled has an id of ours that the index does not hold any more.
    const ours = await retry(() => matches.everAccepted(pairs.map(({ requestId }) => requestId)));
    for (const { batch, requestId } of pairs) {
      const { number, campaign, first } = batch;
      if (ours.has(requestId)) continue;
      if (!(await retry(() => matches.match({ number, campaign, first, requestId })))) continue;
      const request = requestReference(campaign, number);
      events.emit({ type: 'request.matched', lane: lane.name, campaign, request, requestId });
    }
  };
}
