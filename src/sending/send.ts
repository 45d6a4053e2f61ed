import { isDeliveryStatus } from '../campaign/recipient.js';
import type { Clock } from '../clock.js';
import type { MessagingClient } from '../gateway/messaging.js';
import type { SendOutcome } from '../gateway/outcome.js';
import type { Lane } from '../lane/lane.js';
import { lastDeparture } from '../lane/send-deadline.js';
import { type TokenSource, turnCredentials } from '../lane/token-source.js';
import { runTurn, type TurnEnd, type TurnOptions } from '../lane/turn.js';
import { DamagedError } from '../recipients/slices.js';
import { tellAgain } from '../recovery/replay-claims.js';
import type { SendClaim } from './claims.js';
import type { Manuscripts, Message } from './messages.js';
import type { Memory } from './recent-claims.js';
import { type SendSettlement, STATUS_LETTER } from './settlements.js';

/*
 *   claim ──► suppressed? ──► still ours? ──► POST ──► outcome ──► settle
 *   (durable: `sending`)      (if old)                             (retried until answered)
 *
 * Whatever dies after the claim leaves `sending` behind, which the sweep turns into `unknown`; nothing claims it again.
 */

/** What sending needs beside its lane. */
export interface SendStage {
  readonly messaging: MessagingClient;
  readonly monotonic: Clock;
  /** Whether these numbers have been suppressed since they were imported. */
  areSuppressed(numbers: readonly string[]): Promise<readonly boolean[]>;
  /** Tells of a fault that keeps a campaign from being sent. */
  failed(lane: string, error: Error): void;
}

/** One turn of a lane's sends. Rejects only for what is wrong with the code or the data, never for the weather. */
export async function sendTurn(
  stage: SendStage,
  lane: Lane,
  tokenSource: TokenSource,
  manuscripts: Manuscripts,
  memory: Memory,
  options: TurnOptions,
): Promise<TurnEnd> {
  const turn = lane.nonce();
  const { signal } = options;
  const credentials = await turnCredentials(lane, tokenSource);
  let askedAt = stage.monotonic();

  const settle = async (entries: readonly SendSettlement[]): Promise<void> => {
    for (const entry of entries) memory.settled(entry);
    const { events } = await lane.answered(() => lane.settlements.send(entries, lane.random()));
    lane.tell(events);
  };

  const attempt = async (claim: SendClaim, claimedAt: number, message: Message): Promise<SendSettlement> => {
    const letters = message.suppressed.map((is) => (is ? 'S' : '-')).join('');
    if (message.recipients.length === 0) return { claim, as: 'suppressed' };
    if (claim.doubt !== undefined && letters.includes('S')) return { claim, as: 'divided', letters };
    if (signal.aborted || credentials.current() === undefined) return { claim, as: 'unsent' };
    const confirm = () => lane.claims.confirm(claim, turn);
    const latest = await lastDeparture(lane, stage.monotonic, claimedAt, confirm);
    const used = credentials.current();
    if (latest === undefined || used === undefined) return { claim, as: 'unsent' };
    const outcome = await stage.messaging.send(message, used.token, { latest });
    const settlement = toSettlement(claim, message, letters, outcome);
    if (outcome.kind !== 'unauthorised') return settlement;
    const reason = await credentials.replaceRefused(used);
    return reason === undefined ? settlement : { ...settlement, as: 'stopped', reason };
  };

  /** A campaign that cannot be read waits for the operator; the others of its lane go on. */
  const setAside = async (claim: SendClaim, damaged: DamagedError): Promise<SendSettlement> => {
    const reason = `what is stored of it is damaged: ${damaged.message}`;
    const { outcome } = await lane.answered(() => lane.commands.campaign('pause', claim.campaign, reason));
    if (outcome === 'done') stage.failed(lane.name, damaged);
    return { claim, as: 'unsent' };
  };

  return runTurn<SendClaim, SendSettlement>(
    {
      async claim(call, want) {
        const closed = await credentials.closed();
        if (closed !== undefined) return closed;
        await memory.told;
        // Its age counts from when it was asked for: the process may be stopped before it reads the answer.
        askedAt = stage.monotonic();
        const reply = await lane.answered(
          () => lane.claims.send({ turn, call, want, ...memory.hand }),
          signal,
        );
        memory.claimed(reply.claims);
        lane.tell(reply.events);
        tellAgain(lane, memory, reply.events);
        return reply;
      },
      async deliver(claims) {
        const claimedAt = askedAt;
        const messages = await lane.answered(() => manuscripts.messages(claims, stage.areSuppressed));
        return claims.map((claim, at) => async () => {
          const message = messages[at];
          if (message instanceof DamagedError) return setAside(claim, message);
          return message === undefined ? { claim, as: 'unsent' } : attempt(claim, claimedAt, message);
        });
      },
      settle,
    },
    options,
  );
}

/** What an outcome means for the batch. */
function toSettlement(
  claim: SendClaim,
  message: Message,
  letters: string,
  outcome: SendOutcome,
): SendSettlement {
  switch (outcome.kind) {
    case 'accepted':
      return {
        claim,
        as: 'accepted',
        letters: acceptedLetters(message, outcome),
        requestId: outcome.requestId ?? '',
        reason: outcome.requestId === null ? 'accepted without a request id: cannot be followed up' : '',
      };
    case 'throttled':
      return { claim, as: 'throttled', retryAfterMs: outcome.retryAfterMs ?? 0 };
    case 'unauthorised':
      return { claim, as: 'released', reason: outcome.reason };
    case 'stopped':
      return { claim, as: 'stopped', reason: outcome.reason };
    case 'refused':
      return { claim, as: 'refused', reason: outcome.reason };
    case 'notSent':
      return { claim, as: 'notSent', reason: outcome.reason };
    case 'unknown':
      return { claim, as: 'unknown', letters, reason: outcome.reason };
    default:
      return outcome satisfies never;
  }
}

/** Without a request id nothing can be asked about what is not final yet: it stays unconfirmed. */
function acceptedLetters(message: Message, outcome: SendOutcome & { kind: 'accepted' }): string {
  const open = outcome.requestId === null ? 'C' : 'N';
  let next = 0;
  return message.suppressed
    .map((isSuppressed) => {
      if (isSuppressed) return 'S';
      const status = outcome.statuses.get(message.recipients[next++] ?? '');
      const letter = isDeliveryStatus(status) ? STATUS_LETTER[status] : open;
      return letter === 'N' ? open : letter;
    })
    .join('');
}
