import { requestReference } from '../campaign/campaign-id.js';
import type { Events } from '../events/events.js';
import type { MessagingClient } from '../gateway/messaging.js';
import type { PollOutcome } from '../gateway/outcome.js';
import type { Lane } from '../lane/lane.js';
import { lastDeparture } from '../lane/send-deadline.js';
import { type TokenSource, turnCredentials } from '../lane/token-source.js';
import { runTurn, type TurnEnd, type TurnOptions } from '../lane/turn.js';
import type { MatchStore } from '../notifications/match-store.js';
import { tellAgain } from '../recovery/replay-claims.js';
import type { PollClaim } from '../sending/claims.js';
import type { Followed, Manuscripts, UnknownBatch } from '../sending/messages.js';
import type { Memory } from '../sending/recent-claims.js';
import { type PollSettlement, STATUS_LETTER } from '../sending/settlements.js';

/*
 *   claim (pushes the request forward) ──► GET ──► outcome ──► settle: final ones end, others are due again later
 *
 * A poll harms nobody, so whatever dies on the way is simply asked again when it has become due again.
 */

type Infos = Extract<PollOutcome, { kind: 'infos' }>;

/** What asking after delivery needs beside its lane. */
export interface FollowUpStage {
  readonly messaging: MessagingClient;
  readonly events: Events;
  /** Unknown outcomes of the lane that a notification has matched to a request. */
  readonly matches: Pick<MatchStore, 'everAccepted' | 'clear'>;
}

/** One turn of a lane's polls. */
export async function followUpTurn(
  { messaging, events, matches }: FollowUpStage,
  lane: Lane,
  tokenSource: TokenSource,
  manuscripts: Manuscripts,
  memory: Memory,
  options: TurnOptions,
): Promise<TurnEnd> {
  const turn = lane.nonce();
  const { signal, monotonic } = options;
  const credentials = await turnCredentials(lane, tokenSource);
  let askedAt = monotonic();

  const attempt = async (
    claim: PollClaim,
    claimedAt: number,
    followed: Followed,
  ): Promise<PollSettlement> => {
    if (signal.aborted || credentials.current() === undefined) return { claim, as: 'unsent' };
    // A poll harms nobody, but one whose permit was given up meanwhile would exceed the quota.
    const confirm = () => lane.claims.confirmPoll(claim, turn);
    const latest = await lastDeparture(lane, monotonic, claimedAt, confirm);
    const used = credentials.current();
    if (latest === undefined || used === undefined) return { claim, as: 'unsent' };
    const answer = await messaging.deliveryInfos(followed.sender, followed.requestId, used.token, { latest });
    // What only a notification has named may be another key's request: that it is not for us stops nothing.
    const isNotOurs = answer.kind === 'stopped' && followed.unknown !== undefined;
    const outcome: PollOutcome = isNotOurs ? { kind: 'missing' } : answer;
    if (outcome.kind === 'infos' && outcome.unlisted.length > 0) {
      const statuses = outcome.unlisted.join(', ');
      events.emit({
        type: 'request.unlistedStatus',
        lane: lane.name,
        requestId: followed.requestId,
        statuses,
      });
    }
    if (followed.unknown !== undefined) await judge(claim, followed, followed.unknown, outcome);
    const settlement = toSettlement(claim, followed, outcome);
    if (outcome.kind !== 'unauthorised') return settlement;
    const reason = await credentials.replaceRefused(used);
    return reason === undefined ? settlement : { ...settlement, as: 'stopped', reason };
  };

  /** A notification has named a request that a batch of unknown outcome may be: the service's answer decides. */
  const judge = async (
    { campaign, first }: PollClaim,
    followed: Followed,
    { number, sent }: UnknownBatch,
    outcome: PollOutcome,
  ): Promise<void> => {
    const { requestId } = followed;
    // What has turned out to be another batch meanwhile is not this one.
    const isOthers = async () =>
      (await lane.answered(() => matches.everAccepted([requestId]))).has(requestId);
    if (outcome.kind === 'infos' && isOf(followed.recipients, sent, outcome) && !(await isOthers())) {
      const letters = lettersOf(followed, outcome).replaceAll('-', 'S');
      const claim = { number, campaign, first, count: sent.length };
      const reason = 'found by a notification';
      const entry = { claim, as: 'accepted', letters, requestId, reason, told: true } as const;
      const { settled, events: told } = await lane.answered(() => lane.settlements.send([entry], 0));
      lane.tell(told);
      if (settled === 0) return;
      const request = requestReference(campaign, number);
      events.emit({ type: 'request.confirmed', lane: lane.name, campaign, request, recipients: sent.length });
      return;
    }
    if (outcome.kind === 'infos' || outcome.kind === 'missing') {
      await lane.answered(() => matches.clear({ number, campaign, first, requestId }));
    }
  };

  return runTurn<PollClaim, PollSettlement>(
    {
      async claim(call, want) {
        const closed = await credentials.closed();
        if (closed !== undefined) return closed;
        askedAt = monotonic();
        const reply = await lane.answered(
          () => lane.claims.poll({ turn, call, want, ...memory.hand }),
          signal,
        );
        memory.asked(reply.claims);
        tellAgain(lane, memory, reply.events);
        lane.tell(reply.events);
        return reply;
      },
      async deliver(claims) {
        const claimedAt = askedAt;
        const followed = await lane.answered(() => manuscripts.followed(claims));
        return claims.map((claim, at) => async () => {
          const request = followed[at];
          // Settling takes it off the list.
          return request === undefined ? { claim, as: 'gone' } : attempt(claim, claimedAt, request);
        });
      },
      async settle(entries) {
        const settled = await lane.answered(() => lane.settlements.poll(entries, lane.random()));
        lane.tell(settled.events);
      },
    },
    options,
  );
}

/** What an answer tells of the request's recipients. */
function toSettlement(claim: PollClaim, followed: Followed, outcome: PollOutcome): PollSettlement {
  const { requestId } = followed;
  switch (outcome.kind) {
    case 'infos':
      return { claim, as: 'infos', letters: lettersOf(followed, outcome), requestId };
    case 'missing':
      return { claim, as: 'missing', requestId };
    case 'throttled':
      return { claim, as: 'throttled', retryAfterMs: outcome.retryAfterMs ?? 0 };
    case 'unauthorised':
      return { claim, as: 'released', reason: outcome.reason };
    case 'stopped':
      return { claim, as: 'stopped', reason: outcome.reason };
    case 'notSent':
      return { claim, as: 'notSent', reason: outcome.reason };
    case 'unanswered':
      return { claim, as: 'unanswered', reason: outcome.reason };
    default:
      return outcome satisfies never;
  }
}

/** A letter each recipient; `-` for one that the answer does not speak of. */
function lettersOf({ recipients }: Followed, { statuses }: Infos): string {
  const letters = recipients.map((number) => {
    const status = statuses.get(number);
    return status === undefined ? '-' : STATUS_LETTER[status];
  });
  return letters.join('');
}

/** Whether the answer speaks of all that the batch went out to, and of nobody else. */
function isOf(
  recipients: readonly string[],
  sent: readonly boolean[],
  { statuses, unlisted, unread }: Infos,
): boolean {
  // A word on no list may be said of a number that is none of ours.
  if (unlisted.length > 0 || unread === true) return false;
  const own = recipients.filter((_, at) => sent[at] === true);
  return own.length > 0 && statuses.size === own.length && own.every((number) => statuses.has(number));
}
