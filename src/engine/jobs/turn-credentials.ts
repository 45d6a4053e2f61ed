import type { Alarm, Clock } from '../../base/clock.js';
import type { PollOutcome, SendOutcome } from '../../service/client/outcome.js';
import { withMessage } from '../../service/client/reason.js';
import type { ClaimReply, Why } from '../claim/claim-reply.js';
import { NO_PERMIT } from '../claim/permit.js';
import type { ScriptEvent } from '../scripts/script-events.js';
import type { BearerOutcome, TokenSource } from './token-source.js';

/** How long a lane waits before it reads its token again after Redis did not answer. */
const RETRY_MS = 1_000;
/** The shortest time a lane without a token waits, however soon one is expected. */
const MIN_WAIT_MS = 250;
/** A lane that has waited so long for the account service says so. */
const SLOW_MS = 1_000;
/** Outcomes that show nothing about the token. */
const NO_RESPONSE: ReadonlySet<(SendOutcome | PollOutcome)['kind']> = new Set([
  'unknown',
  'unanswered',
  'notSent',
]);

/** What a turn without a token does to its lane. */
export interface TokenLane {
  readonly clock: Clock;
  readonly alarm: Alarm;
  readonly commands: {
    stop(reason: string, epoch: number): Promise<boolean>;
    awaitToken(reason: string, inMs: number): Promise<void>;
  };
  freshStatus(): Promise<{ readonly epoch: number }>;
  retry<Answer>(run: () => Promise<Answer>): Promise<Answer>;
  emit(events: readonly ScriptEvent[]): void;
}

/** What a request may carry now. */
type UsableToken = Extract<BearerOutcome, { kind: 'token' }>;

/** The token that the requests of one turn carry, and what happens to the lane when there is none. */
interface TurnCredentials {
  /** Undefined: no request may be sent. */
  current(): UsableToken | undefined;
  /**
   * Call it right before a request. After a 401, it fetches a newer token. Undefined: no request may be sent, or Redis does not
   * answer.
   */
  forRequest(): Promise<UsableToken | undefined>;
  /**
   * Call it with how each request with this token ended. After a 401, it fetches a newer one. If that stops the lane, it returns the
   * reason, and the caller settles its claim as `stopped`.
   */
  ended(used: UsableToken, outcome: SendOutcome | PollOutcome): Promise<string | undefined>;
  /** Call it before each claim. Undefined when there is a token; otherwise the reply to use in place of a claim. */
  closed(): Promise<ClaimReply<never> | undefined>;
}

/** Gets the token for a turn of this lane. Rejects if Redis does not answer. */
export async function turnCredentials(lane: TokenLane, tokens: TokenSource): Promise<TurnCredentials> {
  const get = async (): Promise<BearerOutcome> => {
    const slow = 'the account service has not answered yet';
    const silence = lane.alarm(SLOW_MS, () => void lane.commands.awaitToken(slow, 0).catch(() => {}));
    try {
      return await tokens.get();
    } finally {
      silence();
    }
  };
  let token = await get();
  let isRefused = false;

  const closedFor = (why: Why, againInMs: number | null): ClaimReply<never> => {
    return { claims: [], permit: NO_PERMIT, why, againInMs, now: lane.clock(), events: [] };
  };
  const current = (): UsableToken | undefined => (token.kind === 'token' ? token : undefined);
  return {
    current,

    async forRequest() {
      if (current() === undefined) return undefined;
      const newest = await tokens.getForRequest().catch(() => undefined);
      if (newest === undefined) return undefined;
      // Meanwhile, the response to another request may have stopped the lane, or brought a token that is newer still.
      if (token.kind === 'token' && !(newest.kind === 'token' && newest.generation < token.generation))
        token = newest;
      return current();
    },

    async ended(used, outcome) {
      if (outcome.kind !== 'unauthorised') {
        if (!NO_RESPONSE.has(outcome.kind)) tokens.worked(used.generation);
        return undefined;
      }
      token = await tokens.replaceRefused(used.generation).catch((error: unknown) => {
        // Redis did not answer. The 401 is settled anyway, and the lane reads its token again later.
        const reason = error instanceof Error ? error.message : String(error);
        return { kind: 'later', at: lane.clock() + RETRY_MS, reason, cause: reason } as const;
      });
      isRefused = token.kind === 'stopped';
      return token.kind === 'stopped' ? withMessage(token.reason, outcome.message) : undefined;
    },

    async closed() {
      // Settling the refused claim stops the lane, unless an operator has resumed it in the meantime. In that case the next
      // turn finds out whether the token works.
      if (isRefused) return closedFor('stopped', null);
      token = await get();
      if (token.kind === 'stopped') {
        // Read the lane's epoch first and the token again afterwards: a lane whose credentials an operator corrects before
        // resuming it must not be stopped once more.
        const { epoch } = await lane.retry(() => lane.freshStatus());
        token = await tokens.get();
        if (token.kind === 'stopped') {
          const { reason } = token;
          const isStopped = await lane.retry(() => lane.commands.stop(reason, epoch));
          if (isStopped) lane.emit([{ type: 'stopped', reason }]);
        }
      }
      switch (token.kind) {
        case 'token':
          return undefined;
        case 'later': {
          const { cause, at } = token;
          const inMs = Math.max(MIN_WAIT_MS, at - lane.clock());
          await lane.retry(() => lane.commands.awaitToken(cause, inMs));
          return closedFor('waiting', inMs);
        }
        case 'stopped':
          return closedFor('stopped', null);
        default:
          return token satisfies never;
      }
    },
  };
}
