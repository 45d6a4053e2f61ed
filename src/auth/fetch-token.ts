import { type Machine, pause } from '../clock.js';
import { lifetimeOf } from './lifetime.js';
import type { LoginBudget, LoginStanding } from './login-budget.js';
import type { LoginOutcome } from './outcome.js';
import type { StopCode } from './reasons.js';
import type { Cause, CurrentToken, TokenRecord } from './token-record.js';

/** What the caller needs. */
export interface Want {
  /** The generation that is of no use to it any more; 0 if it has none. */
  after: number;
  cause: Cause;
  /** `login` leaves the refresh token alone. */
  way: 'any' | 'login';
  /** An operator sets aside whatever has stopped this account. */
  again: boolean;
}

/** What the fleet has for it. Times in ms; those of a token count from `since`, on the monotonic clock. */
export type Fetched =
  | (CurrentToken & { since: number })
  | { kind: 'later'; ms: number; why: string }
  | { kind: 'stopped'; code: StopCode; detail: string };

/** What {@link tokenFetcher} goes by. */
export interface FetchOptions {
  record: TokenRecord;
  budget: LoginBudget;
  login: (signal?: AbortSignal) => Promise<LoginOutcome>;
  refresh: (refreshToken: string, signal?: AbortSignal) => Promise<LoginOutcome>;
  requestTimeoutMs: number;
  freshMs: number;
  /** Aborted when this process wants to end: it stops waiting, but sees through what is on the wire. */
  closing: AbortSignal;
  machine: Machine;
}

type Pair = Extract<LoginOutcome, { kind: 'pair' }>;

/** How long to wait before asking again whether the holder is done: soon at first, as most refreshes take a moment. */
const ASK_AGAIN_MS = (round: number): number => Math.min(25 * 1.5 ** round, 400);

/** What a round of {@link tokenFetcher} comes to: an end, or another round in so many ms. */
type Round = Fetched | { kind: 'again'; inMs: number };
const AT_ONCE: Round = { kind: 'again', inMs: 0 };

/**
 * Gets a token newer than `want.after`, for the whole fleet at once:
 *
 * ```
 * claim ─► current ─────────────────────────────────────────────► done
 *       ─► wait: another holder is at it ─► a moment ─► claim
 *       ─► refresh, marked as spent ─► GET ─► a pair ─► store ───► done
 *                                          └► no pair ─► claim, to log in
 *       ─► login ─► begin, counted ─► POST ─► a pair ─► store ───► done
 *                                          └► no pair ─► settle, release ─► later, stopped, or claim
 * ```
 *
 * A round makes at most one request, and none if it was held up for longer than the request timeout since its claim:
 * its lease lasts twice as long, so nobody has taken its place before the request is answered. A holder that is
 * held up later still (a stopped process) finds its pair refused by `store`. Waiting for others ends after one
 * lease. Throws what Redis throws.
 */
export function tokenFetcher(options: FetchOptions): (want: Want) => Promise<Fetched> {
  const { record, budget, requestTimeoutMs, freshMs, closing } = options;
  const { monotonic, alarm, random, nonce: newNonce } = options.machine;
  const leaseMs = 2 * requestTimeoutMs;

  return async function fetchToken(want) {
    const holder = newNonce();
    const giveUpAt = monotonic() + leaseMs;
    let { way, again } = want;

    for (let count = 0; ; count += 1) {
      const round = await playRound();
      if (round.kind !== 'again') return round;
      if (closing.aborted) return { kind: 'later', ms: 0, why: 'this process is shutting down' };
      if (round.inMs === 0) continue;
      if (monotonic() >= giveUpAt) {
        return { kind: 'later', ms: round.inMs, why: 'another process takes long to fetch it' };
      }
      await aMoment(Math.min(round.inMs, ASK_AGAIN_MS(count)));
    }

    async function playRound(): Promise<Round> {
      const since = monotonic();
      const { after, cause } = want;
      const claim = await record.claim({ holder, leaseMs, after, cause, freshMs, way, again: want.again });
      switch (claim.kind) {
        case 'current':
          return { ...claim, since };
        case 'stopped':
          return { ...claim, detail: '' };
        case 'wait':
          return { kind: 'again', inMs: claim.ms };
        case 'refresh':
          return isHeldUp(since) ? AT_ONCE : byRefresh(claim);
        case 'login':
          return byLogin(claim.base, since);
        default:
          return claim satisfies never;
      }
    }

    function isHeldUp(since: number): boolean {
      return monotonic() - since > requestTimeoutMs;
    }

    async function byRefresh({ base, refreshToken }: { base: number; refreshToken: string }): Promise<Round> {
      way = 'login';
      const outcome = await answerOf((signal) => options.refresh(refreshToken, signal));
      switch (outcome.kind) {
        case 'pair':
          return keep(outcome, base);
        case 'blocked':
        case 'wrongTarget':
          // A login would be told the same, and would count against the account at the service.
          return giveBack(base, outcome, await budget.settle(newNonce(), outcome));
        case 'badCredential':
        case 'loginTimeout':
        case 'refused':
        case 'noAnswer':
          return AT_ONCE;
        default:
          return outcome satisfies never;
      }
    }

    async function byLogin(base: number, since: number): Promise<Round> {
      const nonce = newNonce();
      const begun = await budget.begin(nonce, again);
      switch (begun.kind) {
        case 'go':
          break;
        case 'wait':
          await record.release(holder, base);
          return { kind: 'again', inMs: begun.ms };
        case 'later':
        case 'stopped':
          await record.release(holder, base);
          return begun;
        case 'over':
        case 'open':
          return AT_ONCE;
        default:
          return begun satisfies never;
      }
      again = false;
      if (isHeldUp(since)) {
        await budget.settle(nonce, { kind: 'unsent' });
        return AT_ONCE;
      }
      const outcome = await answerOf((signal) => options.login(signal));
      if (outcome.kind !== 'pair') return giveBack(base, outcome, await budget.settle(nonce, outcome));
      const kept = await keep(outcome, base);
      await budget.settle(nonce, outcome);
      return kept;
    }

    async function keep(pair: Pair, base: number): Promise<Round> {
      const since = monotonic();
      const lifetime = lifetimeOf(pair.accessToken);
      const { accessToken, refreshToken } = pair;
      const { cause } = want;
      const age = (): number => monotonic() - since;
      if (!(await record.store({ holder, base, accessToken, refreshToken, cause }, lifetime, age)))
        return AT_ONCE;
      return {
        kind: 'current',
        generation: base + 1,
        token: accessToken,
        renewInMs: lifetime?.renewAfterMs,
        expiresInMs: lifetime?.expiresAfterMs,
        since,
      };
    }

    /** The budget has heard of the outcome before the lease ends, so that the next holder goes by it. */
    async function giveBack(base: number, outcome: LoginOutcome, standing: LoginStanding): Promise<Round> {
      const stop = outcome.kind === 'wrongTarget' ? 'wrongTarget' : '';
      await record.release(holder, base, stop);
      if (stop !== '') return { kind: 'stopped', code: stop, detail: '' };
      return standing.kind === 'open' ? AT_ONCE : standing;
    }
  };

  async function answerOf(request: (signal: AbortSignal) => Promise<LoginOutcome>): Promise<LoginOutcome> {
    const late = new AbortController();
    const silence = alarm(requestTimeoutMs, () => late.abort());
    try {
      return await request(late.signal);
    } catch (error) {
      return { kind: 'noAnswer', reason: error instanceof Error ? error.message : 'the request failed' };
    } finally {
      silence();
    }
  }

  async function aMoment(ms: number): Promise<void> {
    const jittered = ms * (0.75 + 0.5 * random());
    await pause(alarm, jittered, closing).catch(() => {});
  }
}
