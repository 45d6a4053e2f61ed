import type { Stopwatch } from '../../base/clock.js';
import type { Events } from '../../base/events/events.js';
import type { MessagingClient } from '../../service/client/messaging-client.js';
import type { PollOutcome } from '../../service/client/outcome.js';
import { confirmPermit, type GrantedPermit, type PermitTiming } from '../claim/permit.js';
import type { TokenSource } from '../jobs/token-source.js';
import { runTurn, type TurnEnd, type TurnLane, type TurnOptions } from '../jobs/turn.js';
import { type TokenLane, turnCredentials } from '../jobs/turn-credentials.js';
import type { MatchStore } from '../notifications/match-store.js';
import { DamagedError } from '../recipients/damaged.js';
import type { RecentClaims } from '../sending/recent-claims.js';
import type { SendClaims } from '../sending/send-claim.js';
import { settleMatch } from './match.js';
import type { PollClaim, PollClaims, PollSettlement } from './poll-claim.js';
import { type FollowedRequest, type FollowedRequests, lettersOf, wordsOf } from './requests.js';

/*
 *   claim (pushes the request's due time forward) ──► GET ──► outcome ──► settle: final ones end, others are due again later
 *
 * A poll changes nothing at the service. After a crash, it is repeated when its request is due again. A request gets its first due
 * time when its send is settled (sending/settle-send.lua). The lane's job starts this turn (worker.ts).
 *
 * One GET serves all recipients of a request. The first poll is due after 15 s, or later if the lane has learned that reports take
 * longer: four in five requests should be final by then. After that, a request waits for 15 s or half its age, whichever is longer.
 * A final status replaces one that is not, whatever the order; a contradiction of a final status is reported, not applied. The first
 * answered poll after FOLLOW_UP_DEADLINE (72 h by default) makes open recipients `unconfirmed`, which a later final report still replaces.
 */

/** What the follow-up uses of its lane. */
interface FollowUpLane extends TurnLane, TokenLane {
  readonly name: string;
  readonly rules: TurnLane['rules'] & PermitTiming;
  /** Returns a name that no other turn has. */
  nonce(): string;
  startStopwatch(): Stopwatch;
  retry<Answer>(run: () => Promise<Answer>, signal?: AbortSignal): Promise<Answer>;
}

/** What following up a lane's requests needs beside it. */
interface FollowUp {
  readonly client: Pick<MessagingClient, 'deliveryInfos'>;
  readonly tokens: TokenSource;
  readonly requests: FollowedRequests;
  readonly recent: Pick<RecentClaims, 'self' | 'polled' | 'replayAfterLoss'>;
  readonly events: Pick<Events, 'emit'>;
  /** Unknown outcomes of the lane that a notification has matched to a request. */
  readonly matches: Pick<MatchStore, 'everAccepted' | 'clear'>;
  readonly claims: PollClaims;
  /** For a batch whose outcome a notification reveals. */
  readonly sends: Pick<SendClaims, 'settle'>;
}

/** One turn of a lane's polls. */
export async function followUpTurn(
  lane: FollowUpLane,
  followUp: FollowUp,
  options: TurnOptions,
): Promise<TurnEnd> {
  const { client, tokens, requests, recent, events, matches, claims, sends } = followUp;
  const { signal } = options;
  const turn = lane.nonce();
  const credentials = await turnCredentials(lane, tokens);

  const poll = async (
    claim: PollClaim,
    request: FollowedRequest,
    granted: GrantedPermit,
  ): Promise<PollSettlement> => {
    if (signal.aborted || (await credentials.forRequest()) === undefined)
      return { claim, result: 'released' };
    // If the claim was settled meanwhile, its permit may have been used: this poll would exceed the quota.
    const permit = await confirmPermit(lane, granted, () => claims.confirm(claim));
    const token = credentials.current();
    if (permit === undefined || token === undefined) return { claim, result: 'released' };
    const answer = await client.deliveryInfos(request.sender, request.requestId, token.bearer, permit);
    const { unknown } = request;
    const match = { lane, events, matches, sends };
    const isUndecided = unknown !== undefined && (await settleMatch(match, claim, request, unknown, answer));
    // A request that only a notification names may belong to another key, so a response such as 403 does not stop the lane.
    const isForeign = answer.kind === 'stopped' && unknown !== undefined;
    const outcome: PollOutcome = isForeign ? { kind: 'missing' } : answer;
    if (outcome.kind === 'infos' && outcome.unlisted.length > 0) {
      const statuses = outcome.unlisted.join(', ');
      events.emit({
        type: 'request.unlistedStatus',
        lane: lane.name,
        requestId: request.requestId,
        statuses,
      });
    }
    const settlement: PollSettlement = isUndecided
      ? { claim, result: 'undecided' }
      : settlementOf(claim, request, outcome);
    const reason = await credentials.ended(token, outcome);
    return reason === undefined ? settlement : { ...settlement, result: 'stopped', reason };
  };

  /** Requests whose data cannot be read are polled again later: a backup may bring it back. Each campaign is reported once in a turn. */
  const reported = new Set<string>();
  const damaged = (claim: PollClaim, error: DamagedError): PollSettlement => {
    if (!reported.has(claim.campaign))
      events.emit({ type: 'turn.failed', lane: lane.name, kind: 'poll', error });
    reported.add(claim.campaign);
    return { claim, result: 'damaged' };
  };

  return runTurn<PollClaim, PollSettlement>(
    lane,
    {
      async claim({ call, want }) {
        const closed = await credentials.closed();
        if (closed !== undefined) return closed;
        const age = lane.startStopwatch();
        const reply = await lane.retry(() => claims.take({ turn, call, want, age, ...recent.self }), signal);
        recent.polled(reply.claims);
        recent.replayAfterLoss(reply.events);
        lane.emit(reply.events);
        return reply;
      },
      async requests(claimed, permit) {
        const followed = await lane.retry(() => requests.find(claimed));
        return claimed.map((claim, at) => async () => {
          const request = followed[at];
          // Settling a removed request removes it from the due requests.
          if (request === undefined) return { claim, result: 'gone' };
          return request instanceof DamagedError ? damaged(claim, request) : poll(claim, request, permit);
        });
      },
      async settle(settlements) {
        const { events: settled } = await lane.retry(() => claims.settle(settlements));
        lane.emit(settled);
      },
    },
    options,
  );
}

/** What an outcome means for the request. */
function settlementOf(claim: PollClaim, request: FollowedRequest, outcome: PollOutcome): PollSettlement {
  const { requestId } = request;
  switch (outcome.kind) {
    case 'infos':
      return {
        claim,
        result: 'infos',
        letters: lettersOf(request, outcome.statuses),
        ...(outcome.contradicted === undefined
          ? {}
          : { contradicted: lettersOf(request, outcome.contradicted) }),
        words: wordsOf(request, outcome),
        requestId,
      };
    case 'missing':
      return { claim, result: 'missing', requestId, reason: outcome.message ?? '' };
    case 'throttled':
      return {
        claim,
        result: 'throttled',
        retryAfterMs: outcome.retryAfterMs ?? 0,
        reason: outcome.message ?? '',
      };
    case 'unauthorised':
      return { claim, result: 'unauthorised', reason: outcome.reason };
    case 'stopped':
      return { claim, result: 'accused', requestId, reason: outcome.reason };
    case 'notSent':
      return { claim, result: 'notSent', reason: outcome.reason };
    case 'unanswered': {
      const result = outcome.isAnswered ? 'unreadable' : 'unanswered';
      return { claim, result, requestId, reason: outcome.reason };
    }
    default:
      return outcome satisfies never;
  }
}
