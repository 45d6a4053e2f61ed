import { requestReference } from '../campaign/campaign-id.js';
import type { Events } from '../events/events.js';
import { plainSender } from '../gateway/notification.js';
import type { Lane } from '../lane/lane.js';
import type { Located } from '../recipients/request-index.js';
import type { BatchNumbers } from './batch-numbers.js';
import { fitting, type OpenBatch } from './match-batch.js';
import type { MatchStore } from './match-store.js';
import { ownBatch } from './merged-reports.js';
import type { WaitingNotice } from './notification-store.js';

/** Requests that are asked about in one round. */
const SUSPECTED_AT_ONCE = 100;

/** What {@link notificationMatching} goes by. */
export interface MatchingOptions {
  readonly lane: Lane;
  readonly matches: MatchStore;
  readonly events: Events;
  readonly numbersOf: BatchNumbers;
  /** The sender of a campaign, as it goes on the wire; null for one that is gone. */
  senderOf(lane: string, campaign: string): Promise<string | null>;
  /** Ends the asking of a Redis that does not answer. */
  readonly signal: AbortSignal;
}

/**
 * Has the service asked about requests that nobody knows, and that fit a batch of unknown outcome. A notification alone
 * settles nothing of the kind: the ordinary follow-up asks, and the service's answer decides.
 */
export function notificationMatching(
  options: MatchingOptions,
): (waiting: readonly WaitingNotice[]) => Promise<void> {
  const { lane, matches, events, numbersOf, senderOf, signal } = options;
  const answered = <Answer>(run: () => Promise<Answer>) => lane.answered(run, signal);

  /** The batch, if its campaign is still there. */
  const readable = async (
    located: Located,
    more: Pick<OpenBatch, 'number' | 'claimedAt' | 'suspect' | 'isSettled'>,
  ): Promise<OpenBatch | null> => {
    const { campaign, first } = located;
    const sender = await senderOf(lane.name, campaign);
    const recipients = sender === null ? null : await numbersOf(located);
    if (sender === null || recipients === null) return null;
    return { campaign, first, sender: plainSender(sender), recipients, ...more };
  };

  /** Those of unknown outcome, and those that are settled, and whose request has an id that nobody knows. */
  const openBatches = async (): Promise<OpenBatch[]> => {
    const open = await answered(() => lane.commands.unknown());
    if (open.length === 0) return [];
    const unnamed = await answered(() => matches.withoutId());
    // What was sent again and is unknown again is the same batch: whatever is told of either request is told of it.
    const again = new Set(open.map(({ campaign, first }) => `${campaign} ${first}`));
    const others = unnamed.filter(({ campaign, first }) => !again.has(`${campaign} ${first}`));
    const found = await Promise.all([
      ...open.map(({ number, suspect, ...batch }) => {
        const claimedAt = batch.isRestored ? 0 : batch.claimedAt;
        return readable(batch, { number, suspect, claimedAt, isSettled: false });
      }),
      ...others.map((located) =>
        readable(located, { number: 0, suspect: null, claimedAt: 0, isSettled: true }),
      ),
    ]);
    return found.filter((batch) => batch !== null);
  };

  return async (waiting) => {
    const batches = await openBatches();
    if (batches.length === 0) return;
    const pairs = fitting(
      batches,
      waiting.map(({ requestId, sender, correlator, letters, cameAt }) => ({
        requestId,
        sender,
        numbers: Object.keys(letters),
        cameAt,
        named: ownBatch(correlator ?? null),
      })),
    ).slice(0, SUSPECTED_AT_ONCE);
    if (pairs.length === 0) return;
    // A late or repeated notification of a request that is settled names an id that is not looked up any more.
    const settled = await answered(() => matches.everAccepted(pairs.map(({ requestId }) => requestId)));
    for (const { batch, requestId } of pairs) {
      if (settled.has(requestId)) continue;
      const { number, campaign, first } = batch;
      if (!(await answered(() => matches.match({ number, campaign, first, requestId })))) continue;
      const request = requestReference(campaign, number);
      events.emit({ type: 'request.matched', lane: lane.name, campaign, request, requestId });
    }
  };
}
