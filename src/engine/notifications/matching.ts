import type { Events } from '../../base/events/events.js';
import type { LaneId } from '../../base/redis/keys.js';
import { requestReference } from '../../campaign/states/campaign.js';
import { plainSender } from '../../service/client/notification.js';
import { activate, bySweep } from '../jobs/wake.js';
import type { Located } from '../recipients/request-index.js';
import { sourceOf } from '../scripts/announced-events.js';
import { listUnknown } from '../sending/unknown.js';
import { type BatchNumbers, namedByCorrelator } from './batch-lookup.js';
import type { MatchStore } from './match-store.js';
import type { WaitingReports } from './notification-store.js';
import type { NotifiedLane } from './notified-lane.js';

/*
 * A notification may name a request whose response was lost. It settles nothing by itself: if the request fits exactly one
 * batch of unknown outcome, and its id was never given to a request of ours, the follow-up stage polls it, and the response of
 * the service decides (follow-up.ts).
 *
 * Lanes that may share the subscription count too: a batch of another lane that the report fits, in flight or unknown, or an id that was
 * given to it, rules a match out. Nothing is concluded while a send that was in flight at the time has not ended.
 * Not covered: a request that another client makes with the same key, sender, and number cannot be distinguished from a batch of unknown outcome
 * that was never accepted. A report with neither id nor correlator has no effect.
 */

/** Matches that are recorded in one round. */
const MAX_MATCHES = 100;

/** A batch that a request with an unknown id may be. */
export interface CandidateBatch {
  /** Its claim. */
  readonly number: number;
  readonly campaign: string;
  /** Ordinal of its first recipient, or the number of its message. */
  readonly first: number;
  /** Of an outbox: the id of its message. */
  readonly message?: string | undefined;
  /** What its correlator begins with. */
  readonly owner: string;
  /** Without `tel:`. */
  readonly sender: string;
  /** Of a campaign that was changed: those that it had before. */
  readonly earlierSenders?: readonly string[];
  /** Digits, in the order of the batch. */
  readonly recipients: readonly string[];
  /** In ms of Redis time; 0 if it is not known. */
  readonly claimedAt: number;
  /** The request that the batch is matched to, while a poll of it is due; null for none. */
  readonly matchedRequestId: string | null;
  /** The outcome is known (the batch was resolved, or accepted without an id), but the id of its request is not. */
  readonly isSettled: boolean;
}

/** A request that was reported and whose id Volley does not know. */
interface UnknownRequest {
  readonly requestId: string;
  /** Without `tel:`; null if the notification names none. */
  readonly sender: string | null;
  /** Digits of the recipients that were reported. */
  readonly numbers: readonly string[];
  /** When its first report came, in ms of Redis time. */
  readonly receivedAt: number;
  /** The batch that our correlator names, if the notification repeats it. */
  readonly correlated?: { readonly owner: string; readonly first: number } | null;
}

/** See {@link MatchingOptions}. */
export interface Sender {
  readonly sender: string;
  /** What a campaign had before it was changed. */
  readonly earlier?: readonly { readonly sender: string }[] | undefined;
  /** What its correlators begin with. */
  readonly id: string;
}

/** What {@link notificationMatching} works with. */
interface MatchingOptions {
  readonly lane: NotifiedLane;
  readonly matches: MatchStore;
  readonly events: Events;
  readonly numbersOf: BatchNumbers;
  /** The numbers of a batch of another lane. */
  numbersOfLane(lane: LaneId): BatchNumbers;
  /** The sender of a campaign or an outbox, as it goes on the wire, and what its correlators begin with; null if it has been removed. */
  senderOf(lane: LaneId, campaign: string): Promise<Sender | null>;
  /** Ends the wait for a Redis that does not respond. */
  readonly signal: AbortSignal;
}

/** Matches reports of unknown requests to the lane's unknown outcomes. */
export function notificationMatching(
  options: MatchingOptions,
): (waiting: readonly WaitingReports[]) => Promise<void> {
  const { lane, matches, events, numbersOf, numbersOfLane, senderOf, signal } = options;
  const retry = <Answer>(run: () => Promise<Answer>) => lane.retry(run, signal);

  /** Null if the campaign has been removed. */
  const candidate = async (
    located: Located,
    outcome: Pick<CandidateBatch, 'number' | 'claimedAt' | 'matchedRequestId' | 'isSettled'>,
    of: LaneId = lane.id,
  ): Promise<CandidateBatch | null> => {
    const { campaign, first, message } = located;
    const found = await senderOf(of, campaign);
    const numbers = of === lane.id ? numbersOf : numbersOfLane(of);
    const recipients = found === null ? null : await numbers(located);
    if (found === null || recipients === null) return null;
    return {
      campaign,
      first,
      message,
      owner: found.id,
      sender: plainSender(found.sender),
      earlierSenders: (found.earlier ?? []).map((each) => plainSender(each.sender)),
      recipients,
      ...outcome,
    };
  };

  const candidates = async (): Promise<CandidateBatch[]> => {
    const unknown = await retry(() => listUnknown(lane));
    if (unknown.length === 0) return [];
    const settled = await retry(() => matches.withoutId());
    // A batch that was resent and is unknown again is one candidate: a report of either request is a report of the batch.
    const isUnknown = new Set(unknown.map(({ campaign, first }) => `${campaign} ${first}`));
    const others = settled.filter(({ campaign, first }) => !isUnknown.has(`${campaign} ${first}`));
    const batches = await Promise.all([
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
    return batches.filter((batch) => batch !== null);
  };

  /** Batches of other lanes are alternatives, too, if their reports may arrive at the same address. */
  const alternatives = async (): Promise<CandidateBatch[]> => {
    const batches = await Promise.all(
      (await retry(() => matches.elsewhere())).map(({ lane: of, claimedAt, ...located }) =>
        candidate(located, { number: 0, claimedAt, matchedRequestId: null, isSettled: true }, of),
      ),
    );
    return batches.filter((batch) => batch !== null);
  };

  return async (waiting) => {
    const batches = await candidates();
    if (batches.length === 0) return;
    const requests = waiting.map(({ requestId, sender, correlator = null, letters, receivedAt }) => ({
      requestId,
      sender,
      numbers: Object.keys(letters),
      receivedAt,
      correlated: namedByCorrelator(correlator),
    }));
    // Most looks find no match, and so need not read other lanes.
    if (uniqueMatches(batches, requests).length === 0) return;
    const all = [...batches, ...(await alternatives())];
    const pairs = uniqueMatches(all, requests).slice(0, MAX_MATCHES);
    if (pairs.length === 0) return;
    // A late or repeated report of a request that is settled has an id of ours that the index does not hold any more.
    const ours = await retry(() => matches.everAccepted(pairs.map(({ requestId }) => requestId)));
    for (const { batch, requestId } of pairs) {
      const { number, campaign, first, message } = batch;
      if (ours.has(requestId)) continue;
      const match = () => matches.match({ number, campaign, first, requestId });
      // The poll is due now, but the lane may have nothing else to do.
      const isMatched = await retry(() => activate(lane, match, (done) => (done ? bySweep() : null)));
      if (!isMatched) continue;
      const request = requestReference(campaign, number);
      const source = sourceOf({ campaign, message });
      events.emit({ type: 'request.matched', lane: lane.name, ...source, request, requestId });
    }
  };
}

/**
 * Pairs requests with the batches of unknown outcome that they may be. A request fits a batch if the sender is the same, the
 * batch has all its numbers, the batch was claimed before the first report came, and the correlator, if there is one, names it.
 *
 * A pair counts only if it is unique: the request fits no other batch, and the batch fits no other request. Batches that are
 * matched or settled already form no pair, but they count as alternatives: either may turn out to be the request's batch. Pure.
 */
export function uniqueMatches(
  batches: readonly CandidateBatch[],
  requests: readonly UnknownRequest[],
): { batch: CandidateBatch; requestId: string }[] {
  const byNumber = new Map<string, Set<CandidateBatch>>();
  for (const batch of batches) {
    for (const number of batch.recipients) {
      byNumber.set(number, (byNumber.get(number) ?? new Set()).add(batch));
    }
  }
  const fits = ({ sender, numbers, receivedAt, correlated = null }: UnknownRequest, batch: CandidateBatch) =>
    (sender === null || batch.sender === sender || batch.earlierSenders?.includes(sender) === true) &&
    batch.claimedAt <= receivedAt &&
    (correlated === null || (correlated.owner === batch.owner && correlated.first === batch.first)) &&
    numbers.every((number) => byNumber.get(number)?.has(batch) === true);

  // By batch, the one request that fits it; null once there are several, or if that request fits other batches as well.
  const candidates = new Map<CandidateBatch, string | null>();
  for (const request of requests) {
    const [number = ''] = request.numbers;
    const fitting = [...(byNumber.get(number) ?? [])].filter((batch) => fits(request, batch));
    for (const batch of fitting) {
      candidates.set(batch, fitting.length === 1 && !candidates.has(batch) ? request.requestId : null);
    }
  }
  const matched = new Set(batches.map(({ matchedRequestId }) => matchedRequestId));
  return [...candidates].flatMap(([batch, requestId]) => {
    const isOpen = batch.matchedRequestId === null && !batch.isSettled;
    return requestId !== null && isOpen && !matched.has(requestId) ? [{ batch, requestId }] : [];
  });
}
