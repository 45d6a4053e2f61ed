import type { Stopwatch } from '../../base/clock.js';
import { type DeliveryStatus, STATUS_LETTER } from '../../campaign/states/recipient.js';
import type { MessagingClient } from '../../service/client/messaging-client.js';
import type { SendOutcome } from '../../service/client/outcome.js';
import { confirmPermit, type GrantedPermit, limitPermit, type PermitTiming } from '../claim/permit.js';
import type { TokenSource } from '../jobs/token-source.js';
import { runTurn, type TurnEnd, type TurnLane, type TurnOptions } from '../jobs/turn.js';
import { type TokenLane, turnCredentials } from '../jobs/turn-credentials.js';
import { DamagedError } from '../recipients/damaged.js';
import { placedWords, storedWord } from '../recipients/status-words.js';
import type { Message, Messages } from './message.js';
import type { RecentClaims } from './recent-claims.js';
import type { SendClaim, SendClaims, SendSettlement } from './send-claim.js';

/*
 *   claim ──► render ──► all suppressed? ──► permit still good? ──► POST ──► outcome ──► settle
 *   (durable: `sending`)                     (confirmed)                     (retried until answered)
 *
 * A claim is confirmed right before each message of an outbox, and before a batch if it is old. The check whether a number is suppressed
 * follows its claim, and a claim that is confirmed is checked again. So no request carries a number whose claim began after the number was
 * on a list; one whose number came onto a list meanwhile is released, and rendered again.
 *
 * If a process dies after the claim, the batch stays `sending` until the sweep settles it: it becomes `unknown`, or is planned
 * again under its correlator if the service recognises a repeat (RECIPIENTS.unknown in settle-send.lua).
 */

/** What sending uses of its lane. */
export interface SendingLane extends TurnLane, TokenLane {
  readonly name: string;
  readonly rules: TurnLane['rules'] & PermitTiming;
  readonly commands: TokenLane['commands'] & {
    campaign(command: 'pause', id: string, reason: string): Promise<{ readonly outcome: string }>;
  };
  /** Returns a name that no other turn has. */
  nonce(): string;
  startStopwatch(): Stopwatch;
  retry<Answer>(run: () => Promise<Answer>, signal?: AbortSignal, tries?: number): Promise<Answer>;
}

/** What sending on a lane needs beside it. */
export interface Sending {
  readonly client: Pick<MessagingClient, 'send'>;
  readonly tokens: TokenSource;
  readonly messages: Messages;
  readonly recent: Pick<RecentClaims, 'self' | 'claimed' | 'settled' | 'replayed' | 'replayAfterLoss'>;
  readonly claims: SendClaims;
  /** Reports an error that keeps a campaign from being sent. */
  failed(lane: string, error: Error): void;
}

/** Why a batch is not repeated. */
const FIRST_MAY_DIFFER =
  'a number was removed from the suppression list since; an earlier request, which may have left it out, may have been accepted';

/** How often a claim is tried after the signal, in about a second. */
const TRIES_AFTER_SIGNAL = 6;

/** One turn of a lane's sends. Rejects only on a defect in the code or the data, never because Redis or the service is down. */
export async function sendTurn(lane: SendingLane, sending: Sending, options: TurnOptions): Promise<TurnEnd> {
  const { client, tokens, messages, recent, claims } = sending;
  const { signal } = options;
  const turn = lane.nonce();
  const credentials = await turnCredentials(lane, tokens);

  const send = async (
    claim: SendClaim,
    message: Message,
    granted: GrantedPermit,
  ): Promise<SendSettlement> => {
    const letters = message.suppressed.map((is) => (is ? 'S' : '-')).join('');
    if (message.recipients.length === 0) return { claim, result: 'suppressed' };
    if (claim.again !== undefined && letters.includes('S'))
      return { claim, result: 'partlySuppressed', letters };
    if (message.firstMayDiffer === true)
      return { claim, result: 'partlySuppressed', letters, reason: FIRST_MAY_DIFFER };
    if (signal.aborted || (await credentials.forRequest()) === undefined)
      return { claim, result: 'released' };
    const { leaveWithinMs } = claim;
    const limited = leaveWithinMs === undefined ? granted : limitPermit(granted, leaveWithinMs);
    const permit = await confirmPermit(
      lane,
      limited,
      // The settings of an outbox may have changed since: a request starts with the earlier ones only if it was confirmed before the change.
      async () => (await messages.isAllowed(claim, message)) && (await claims.confirm(claim)),
      claim.message !== undefined,
    );
    const token = credentials.current();
    if (permit === undefined || permit.isExpired() || token === undefined)
      return { claim, result: 'released' };
    const outcome = await client.send(message, token.bearer, permit);
    const settlement = settlementOf(claim, message, letters, outcome);
    const reason = await credentials.ended(token, outcome);
    return reason === undefined ? settlement : { ...settlement, result: 'stopped', reason };
  };

  /** Pauses a campaign whose data cannot be read, until an operator acts. The lane's other campaigns continue. */
  const setAside = async (claim: SendClaim, damaged: DamagedError): Promise<SendSettlement> => {
    const reason = `its stored data is damaged: ${damaged.message}`;
    const { outcome } = await lane.retry(() => lane.commands.campaign('pause', claim.campaign, reason));
    if (outcome === 'done') sending.failed(lane.name, damaged);
    return { claim, result: 'released' };
  };

  return runTurn<SendClaim, SendSettlement>(
    lane,
    {
      async claim({ call, want }) {
        const closed = await credentials.closed();
        if (closed !== undefined) return closed;
        await recent.replayed;
        const age = lane.startStopwatch();
        const take = () => claims.take({ turn, call, want, age, ...recent.self });
        const reply = await lane.retry(take, signal).catch((error: unknown) => {
          if (!signal.aborted) throw error;
          // The claim whose reply was lost may have been made. Only this turn knows that it sends none of it, and can release it.
          return lane.retry(take, undefined, TRIES_AFTER_SIGNAL);
        });
        recent.claimed(reply.claims);
        lane.emit(reply.events);
        recent.replayAfterLoss(reply.events);
        return reply;
      },
      async requests(claimed, permit) {
        const rendered = await lane.retry(() => messages.render(claimed));
        return claimed.map((claim, at) => async () => {
          const message = rendered[at];
          if (message instanceof DamagedError) return setAside(claim, message);
          if (message === undefined) return { claim, result: 'released' };
          return { ...(await send(claim, message, permit)), charge: message.charge };
        });
      },
      async settle(settlements) {
        for (const settlement of settlements) recent.settled(settlement);
        const { events } = await lane.retry(() => claims.settle(settlements));
        lane.emit(events);
      },
    },
    options,
  );
}

/** What an outcome means for the batch. */
function settlementOf(
  claim: SendClaim,
  message: Message,
  letters: string,
  outcome: SendOutcome,
): SendSettlement {
  switch (outcome.kind) {
    case 'accepted':
      return {
        claim,
        result: 'accepted',
        letters: acceptedLetters(message, outcome),
        words: acceptedWords(message, outcome),
        ...(outcome.contradicted === undefined
          ? {}
          : { contradicted: contradictedLetters(message, outcome.contradicted) }),
        requestId: outcome.requestId ?? '',
        reason: noteOf(outcome),
      };
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
      return stoppedSettlement(claim, letters, outcome);
    case 'refused':
      return {
        claim,
        result: 'refused',
        letters: refusedLetters(message, outcome),
        reason: outcome.reason,
        ...(outcome.isText ? { isText: true } : {}),
      };
    case 'notSent':
      return { claim, result: 'notSent', reason: outcome.reason };
    case 'unknown':
      if (outcome.isFinal) return unclear(claim, letters, outcome.reason, outcome.isKnown);
      return {
        claim,
        result: 'unknown',
        letters,
        reason: outcome.reason,
        // A service that deduplicates may answer each repeat with its first response.
        ...(outcome.isAnswered && claim.again === 'underCorrelator' ? { isFinal: true } : {}),
      };
    default:
      return outcome satisfies never;
  }
}

/** What a response means that would be the same for every repeat. */
function unclear(claim: SendClaim, letters: string, reason: string, isKnown = false): SendSettlement {
  return { claim, result: 'unclear', letters, reason, isFinal: true, ...(isKnown ? { isKnown } : {}) };
}

/** A response to a repeat says nothing about other requests: the service may refuse nothing but the correlator. */
function stoppedSettlement(
  claim: SendClaim,
  letters: string,
  { reason, isAccount, isConflict }: SendOutcome & { kind: 'stopped' },
): SendSettlement {
  if (claim.again === 'underCorrelator') return unclear(claim, letters, reason);
  if (claim.again !== undefined && isConflict) return unclear(claim, letters, reason, true);
  return { claim, result: isAccount ? 'accused' : 'stopped', reason };
}

/** What is unusual about an accepted request, for its recipients' lines in the report. */
function noteOf({ requestId, otherCorrelator }: SendOutcome & { kind: 'accepted' }): string {
  return [
    ...(requestId === null ? ['accepted without a request id: cannot be followed up'] : []),
    ...(otherCorrelator === undefined
      ? []
      : [`the service answered with another clientCorrelator: ${otherCorrelator}`]),
  ].join('; ');
}

/** The service's own words for the recipients of an accepted request. */
function acceptedWords(message: Message, { words }: SendOutcome & { kind: 'accepted' }) {
  if (words === undefined) return undefined;
  let next = 0;
  const ofPlace = message.suppressed.map((isSuppressed) => {
    const word = isSuppressed ? undefined : words.get(message.recipients[next++] ?? '');
    return word === undefined ? undefined : storedWord(word);
  });
  return placedWords(ofPlace.length, (place) => ofPlace[place]);
}

/** One letter per recipient of the batch; `omitted` for those who were left out. */
function lettersOf(message: Message, omitted: string, letterOf: (number: string) => string): string {
  let next = 0;
  return message.suppressed
    .map((isOmitted) => (isOmitted ? omitted : letterOf(message.recipients[next++] ?? '')))
    .join('');
}

/** `R` for the recipients that the service names as the reason of its refusal. */
function refusedLetters(message: Message, { recipients = [] }: SendOutcome & { kind: 'refused' }): string {
  return lettersOf(message, '-', (number) => (recipients.includes(number) ? 'R' : '-'));
}

/** Without a request id, recipients without a final status cannot be followed up: they become `unconfirmed`. */
function acceptedLetters(message: Message, outcome: SendOutcome & { kind: 'accepted' }): string {
  const open = outcome.requestId === null ? 'C' : 'N';
  return lettersOf(message, 'S', (number) => {
    const status = outcome.statuses.get(number);
    const letter = status === undefined ? open : STATUS_LETTER[status];
    return letter === 'N' ? open : letter;
  });
}

function contradictedLetters(message: Message, contradicted: ReadonlyMap<string, DeliveryStatus>): string {
  return lettersOf(message, '-', (number) => {
    const status = contradicted.get(number);
    return status === undefined ? '-' : STATUS_LETTER[status];
  });
}
