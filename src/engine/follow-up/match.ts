import type { Events } from '../../base/events/events.js';
import { requestReference } from '../../campaign/states/campaign.js';
import type { PollOutcome } from '../../service/client/outcome.js';
import type { MatchStore } from '../notifications/match-store.js';
import { sourceOf } from '../scripts/announced-events.js';
import type { ScriptEvent } from '../scripts/script-events.js';
import type { SendClaims } from '../sending/send-claim.js';
import type { PollClaim } from './poll-claim.js';
import {
  type DeliveryInfos,
  type FollowedRequest,
  lettersOf,
  type MatchedBatch,
  wordsOf,
} from './requests.js';

/** What deciding on a match needs. */
interface MatchContext {
  readonly lane: {
    readonly name: string;
    retry<Answer>(run: () => Promise<Answer>): Promise<Answer>;
    emit(events: readonly ScriptEvent[]): void;
  };
  readonly events: Pick<Events, 'emit'>;
  readonly matches: Pick<MatchStore, 'everAccepted' | 'clear'>;
  readonly sends: Pick<SendClaims, 'settle'>;
}

/**
 * Decides on a match. A notification names a request that may be that of a batch with an unknown outcome. The batch counts as
 * accepted only if the response to this poll lists exactly its recipients, and the request is not known to be another batch's.
 */
export async function settleMatch(
  { lane, events, matches, sends }: MatchContext,
  { campaign, first, message }: PollClaim,
  request: FollowedRequest,
  { number, turn, sent }: MatchedBatch,
  outcome: PollOutcome,
): Promise<void> {
  const { requestId } = request;
  const isOthers = async () => (await lane.retry(() => matches.everAccepted([requestId]))).has(requestId);
  if (outcome.kind === 'infos' && covers(request.recipients, sent, outcome) && !(await isOthers())) {
    const letters = lettersOf(request, outcome.statuses).replaceAll('-', 'S');
    const claim = { number, turn, campaign, first, count: sent.length, message };
    const reason = 'found by a notification';
    const settlement = {
      claim,
      result: 'accepted',
      letters,
      words: wordsOf(request, outcome),
      requestId,
      reason,
      byNotification: true,
    } as const;
    const { settled, events: scriptEvents } = await lane.retry(() => sends.settle([settlement]));
    lane.emit(scriptEvents);
    if (settled === 0) return;
    const reference = requestReference(campaign, number);
    const recipientCount = sent.length;
    const source = sourceOf({ campaign, message });
    events.emit({
      type: 'request.confirmed',
      lane: lane.name,
      ...source,
      request: reference,
      recipientCount,
    });
    return;
  }
  if (outcome.kind === 'infos' || outcome.kind === 'missing') {
    await lane.retry(() => matches.clear({ number, campaign, first, requestId }));
  }
}

/** Whether the response lists all recipients that the batch was sent to, and no others. */
function covers(
  recipients: readonly string[],
  sent: readonly boolean[],
  { statuses, unlisted, unread }: DeliveryInfos,
): boolean {
  // An unlisted status may belong to a number that is not ours.
  if (unlisted.length > 0 || unread === true) return false;
  const expected = recipients.filter((_, at) => sent[at] === true);
  return (
    expected.length > 0 &&
    statuses.size === expected.length &&
    expected.every((number) => statuses.has(number))
  );
}
