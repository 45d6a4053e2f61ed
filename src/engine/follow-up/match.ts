import type { Events } from '../../base/events/events.js';
import { requestReference } from '../../campaign/states/campaign.js';
import type { PollOutcome } from '../../service/client/outcome.js';
import type { MatchStore } from '../notifications/match-store.js';
import { sourceOf } from '../scripts/announced-events.js';
import type { ScriptEvent } from '../scripts/script-events.js';
import type { SendClaims } from '../sending/send-claim.js';
import type { PollClaim } from './poll-claim.js';
import { type FollowedRequest, lettersOf, type MatchedBatch, wordsOf } from './requests.js';

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
 * accepted only if the response to this poll lists exactly its recipients, and the request is not known to be another batch's. A response
 * without some or all of them decides nothing: services report before they answer polls. True if the request must be polled again.
 */
export async function settleMatch(
  { lane, events, matches, sends }: MatchContext,
  { campaign, first, message }: PollClaim,
  request: FollowedRequest,
  { number, turn, sent }: MatchedBatch,
  outcome: PollOutcome,
): Promise<boolean> {
  const { requestId } = request;
  const isOthers = async () => (await lane.retry(() => matches.everAccepted([requestId]))).has(requestId);
  let verdict = verdictOf(request.recipients, sent, outcome);
  if (verdict === 'confirmed' && (await isOthers())) verdict = 'disproved';
  if (outcome.kind === 'infos' && verdict === 'confirmed') {
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
    if (settled === 0) return false;
    events.emit({
      type: 'request.confirmed',
      lane: lane.name,
      ...sourceOf({ campaign, message }),
      request: requestReference(campaign, number),
      recipientCount: sent.length,
    });
    return false;
  }
  if (verdict === undefined) return false;
  const match = { number, campaign, first, requestId };
  return !(await lane.retry(() => matches.clear(match, verdict === 'disproved')));
}

/** Whether the request is that of the batch; undefined without an answer. */
function verdictOf(
  recipients: readonly string[],
  sent: readonly boolean[],
  outcome: PollOutcome,
): 'confirmed' | 'disproved' | 'undecided' | undefined {
  if (outcome.kind === 'missing') return 'undecided';
  if (outcome.kind === 'stopped') return 'disproved';
  if (outcome.kind !== 'infos') return undefined;
  const expected = new Set(recipients.filter((_, at) => sent[at] === true));
  const numbers = [...outcome.statuses.keys()];
  if (expected.size === 0 || numbers.some((number) => !expected.has(number))) return 'disproved';
  // An unlisted status may belong to a number that is not ours.
  const isWhole = outcome.unlisted.length === 0 && outcome.unread !== true;
  return isWhole && numbers.length === expected.size ? 'confirmed' : 'undecided';
}
