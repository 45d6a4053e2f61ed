import { type Machine, pause } from '../../base/clock.js';
import type { LoginOutcome } from '../login-outcome.js';
import type { LoginBudget, LoginBudgetStatus } from './login-budget.js';
import type { StopCode } from './outcome.js';
import { type CurrentToken, lifetimeOf, type TokenRecord, type TokenRequest } from './token-record.js';

/** The result of a fetch. Times in ms; those of a token count from `since`, on the monotonic clock. */
export type FetchedToken =
  | (CurrentToken & { since: number })
  | { kind: 'later'; ms: number; reason: string }
  | { kind: 'stopped'; code: StopCode; detail: string };

/** What a fetch needs. */
interface FetchOptions {
  record: TokenRecord;
  budget: LoginBudget;
  login: (signal?: AbortSignal) => Promise<LoginOutcome>;
  refresh: (refreshToken: string, signal?: AbortSignal) => Promise<LoginOutcome>;
  requestTimeoutMs: number;
  freshMs: number;
  /** Fires when this process ends: it stops waiting for other processes, but finishes its own requests in flight. */
  closing: AbortSignal;
  machine: Machine;
}

/** How long to wait before claiming again while another process fetches: briefly at first, as most refreshes are quick. */
const POLL_MS = (round: number): number => Math.min(25 * 1.5 ** round, 400);

/**
 * How long to wait after so many requests in a row that could not be sent, at least 1. Nothing reached the account service, so trying
 * again soon does no harm.
 */
const SEND_AGAIN_MS = (unsent: number): number => [1_000, 5_000, 15_000][unsent - 1] ?? 60_000;

/** The result of one round of {@link tokenFetcher}: the end, or another round in so many ms. */
type Round = FetchedToken | { kind: 'again'; inMs: number };
const AT_ONCE: Round = { kind: 'again', inMs: 0 };

/**
 * Gets a token newer than `wanted.after`, once for the whole fleet:
 *
 * ```
 * claim ─► current ──────────────────────────────────────────────► done
 *       ─► wait: another holder is fetching ─► pause ─► claim
 *       ─► refresh, marked as spent ─► GET ─► a pair ─► store ────► done
 *                                          ├► not sent ─► unmark, release ─► later
 *                                          └► no pair ─► claim, to log in
 *       ─► login ─► begin, counted ─► POST ─► a pair ─► store ────► done
 *                                          └► no pair ─► settle, release ─► later, stopped, or claim
 * ```
 *
 * A round sends at most one request, and none if the process was held up for longer than the request timeout since its claim:
 * the lease lasts twice as long, so no other process takes over before the request is answered. If the process is held up
 * even later, `store` refuses its pair. It waits for other processes for one lease at most. Throws what Redis throws.
 */
export function tokenFetcher(options: FetchOptions): (wanted: TokenRequest) => Promise<FetchedToken> {
  const { record, budget, requestTimeoutMs, freshMs, closing } = options;
  const { monotonic, alarm, random, nonce: newNonce } = options.machine;
  const leaseMs = 2 * requestTimeoutMs;
  /** Requests in a row that could not be sent, and until when this process tries no other one, ms on the monotonic clock. */
  const unsent = { count: 0, until: 0, reason: '' };

  return async function fetchToken(wanted) {
    const holder = newNonce();
    const giveUpAt = monotonic() + leaseMs;
    let { way, again } = wanted;

    for (let count = 0; ; count += 1) {
      const round = await playRound();
      if (round.kind !== 'again') return round;
      if (closing.aborted) return { kind: 'later', ms: 0, reason: 'this process is shutting down' };
      if (round.inMs === 0) continue;
      if (monotonic() >= giveUpAt) {
        return { kind: 'later', ms: round.inMs, reason: 'another process is still fetching it' };
      }
      const jittered = Math.min(round.inMs, POLL_MS(count)) * (0.75 + 0.5 * random());
      await pause(alarm, jittered, closing).catch(() => {});
    }

    async function playRound(): Promise<Round> {
      const since = monotonic();
      const claim = await record.claim({ ...wanted, way, holder, leaseMs, freshMs });
      switch (claim.kind) {
        case 'current':
          return { ...claim, since };
        case 'stopped':
          return { ...claim, detail: '' };
        case 'wait':
          return { kind: 'again', inMs: claim.ms };
        case 'refresh':
          if (isTooSoon()) return putOff(claim.base, true);
          return isHeldUp(since) ? AT_ONCE : refresh(claim);
        case 'login':
          return isTooSoon() ? putOff(claim.base, false) : login(claim.base, since);
        default:
          return claim satisfies never;
      }
    }

    function isHeldUp(since: number): boolean {
      return monotonic() - since > requestTimeoutMs;
    }

    /** Whether the last request could not be sent, so that the next one has to wait. An operator's need not. */
    function isTooSoon(): boolean {
      return !again && monotonic() < unsent.until;
    }

    /** `isUnspent`: this holder was to present the refresh token, and has not. Before it logs in, it may have presented it. */
    async function putOff(base: number, isUnspent: boolean): Promise<Round> {
      await record.release(holder, base, { isUnspent });
      return { kind: 'later', ms: Math.max(0, unsent.until - monotonic()), reason: unsent.reason };
    }

    function notSent(base: number, reason: string, isUnspent: boolean): Promise<Round> {
      unsent.count += 1;
      unsent.until = monotonic() + SEND_AGAIN_MS(unsent.count) * (0.75 + 0.5 * random());
      unsent.reason = reason;
      return putOff(base, isUnspent);
    }

    async function refresh({ base, refreshToken }: { base: number; refreshToken: string }): Promise<Round> {
      way = 'login';
      const outcome = await answerTo((signal) => options.refresh(refreshToken, signal));
      switch (outcome.kind) {
        case 'pair':
          return store(outcome, base);
        case 'blocked':
        case 'wrongTarget':
          // A login would get the same answer and count as a failed one at the service.
          return release(base, outcome, await budget.settle(newNonce(), outcome));
        case 'notSent':
          return notSent(base, outcome.reason, true);
        case 'badCredential':
        case 'loginTimeout':
        case 'refused':
        case 'noAnswer':
          return AT_ONCE;
        default:
          return outcome satisfies never;
      }
    }

    async function login(base: number, since: number): Promise<Round> {
      const nonce = newNonce();
      const start = await budget.begin(nonce, again);
      switch (start.kind) {
        case 'go':
          break;
        case 'wait':
          await record.release(holder, base);
          return { kind: 'again', inMs: start.ms };
        case 'later':
        case 'stopped':
          await record.release(holder, base);
          return start;
        case 'ended':
        case 'open':
          return AT_ONCE;
        default:
          return start satisfies never;
      }
      again = false;
      if (isHeldUp(since)) {
        await budget.settle(nonce, { kind: 'notSent', reason: 'the process was held up' });
        return AT_ONCE;
      }
      const outcome = await answerTo((signal) => options.login(signal));
      if (outcome.kind === 'notSent') {
        await budget.settle(nonce, outcome);
        return notSent(base, outcome.reason, false);
      }
      if (outcome.kind !== 'pair') return release(base, outcome, await budget.settle(nonce, outcome));
      const stored = await store(outcome, base);
      await budget.settle(nonce, outcome);
      return stored;
    }

    async function store(pair: Extract<LoginOutcome, { kind: 'pair' }>, base: number): Promise<Round> {
      const since = monotonic();
      const { accessToken, refreshToken } = pair;
      const lifetime = lifetimeOf(accessToken, pair.lifetimeMs);
      const stored = { holder, base, accessToken, refreshToken, cause: wanted.cause };
      if (!(await record.store(stored, lifetime, () => monotonic() - since))) return AT_ONCE;
      return {
        kind: 'current',
        generation: base + 1,
        token: accessToken,
        ageMs: 0,
        renewInMs: lifetime?.renewAfterMs,
        expiresInMs: lifetime?.expiresAfterMs,
        since,
      };
    }

    /** Called after the budget has recorded the outcome, so that the next holder respects it. */
    async function release(base: number, outcome: LoginOutcome, status: LoginBudgetStatus): Promise<Round> {
      const stop = outcome.kind === 'wrongTarget' ? 'wrongTarget' : '';
      await record.release(holder, base, { stop });
      if (stop !== '') return { kind: 'stopped', code: stop, detail: '' };
      return status.kind === 'open' ? AT_ONCE : status;
    }
  };

  async function answerTo(request: (signal: AbortSignal) => Promise<LoginOutcome>): Promise<LoginOutcome> {
    const timeout = new AbortController();
    const silence = alarm(requestTimeoutMs, () => timeout.abort());
    try {
      const outcome = await request(timeout.signal);
      if (outcome.kind !== 'notSent') unsent.count = 0;
      // The client reports that its caller cancelled the request; people need to know why.
      if (outcome.kind === 'notSent' && timeout.signal.aborted)
        return { ...outcome, reason: 'no connection to the account service within the request timeout' };
      if (outcome.kind === 'noAnswer' && timeout.signal.aborted)
        return { ...outcome, reason: 'no response from the account service within the request timeout' };
      return outcome;
    } catch (error) {
      return { kind: 'noAnswer', reason: error instanceof Error ? error.message : 'the request failed' };
    } finally {
      silence();
    }
  }
}
