import type { AccountCredentials } from '../../base/account.js';
import { type Clock, type Machine, systemMachine, unlessAborted } from '../../base/clock.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import type { LoginOutcome } from '../login-outcome.js';
import { type FetchedToken, tokenFetcher } from './fetch-token.js';
import { credentialId, loginBudget } from './login-budget.js';
import { stopReason, type TokenOutcome } from './outcome.js';
import { createSeal } from './seal.js';
import { accountId, type TokenRequest, tokenRecord } from './token-record.js';
import { type TokenState, tokenState } from './token-state.js';

/*
 * The tokens of an account are one hash in Redis, with a generation (claim-token.lua):
 *
 *   a caller ──► token in memory, and not refused? ──► use it
 *                  └─ no ──► claim ──► a newer generation exists: use it
 *                                 ├──► another process is fetching: wait for the next generation
 *                                 └──► the right to fetch: refresh (the refresh token is marked as used first), else log in
 *                                      (the attempt is counted first, login-budget.ts) ──► store the pair as the next generation
 *
 * So an expired token costs the fleet one refresh, the service never sees a refresh token twice, not even after a kill, and a wrong password
 * costs two logins. A request of which nothing left is no attempt. Lifetimes are `exp` − `iat` from receipt, so only the clock of Redis
 * counts.
 */

/** The account, its service, and Redis. */
export interface TokenCacheOptions {
  /** A `protocol` connection: see `connect`. */
  redis: Redis;
  keys: Keys;
  account: AccountCredentials;
  /** The longest that one login or refresh may take, in ms. A lease lasts twice as long. */
  requestTimeoutMs: number;
  /** Encrypts tokens at rest; all processes need the same. Without one they are stored in the clear. */
  secretsKey?: string | undefined;
  /** Tokens that were encrypted with it are still used, and encrypted again. */
  previousSecretsKey?: string | undefined;
  login: (signal?: AbortSignal) => Promise<LoginOutcome>;
  refresh: (refreshToken: string, signal?: AbortSignal) => Promise<LoginOutcome>;
  /** Waits after the first, second, … login without an answer, in ms; default 1, 5, 15, and 60 minutes. */
  retryAfterMs?: readonly number[] | undefined;
  /** A token fetched because of a 401 that gets a 401 itself within so many ms stops the account; default 1 min. */
  freshMs?: number | undefined;
  /** How long the local copy is used before it is compared with Redis in the background, in ms; default 30 s. */
  compareEveryMs?: number | undefined;
  /** Default: the clocks and timers of this machine. The wall clock is used for an outcome's `at`. */
  machine?: Machine | undefined;
}

/** The token of one account, shared by the fleet: an expired token costs all processes together one refresh. */
export interface TokenCache {
  /**
   * A usable access token, from memory while it lasts. In the last share of its life callers keep using it while one process
   * fetches the next. Aborting the signal rejects only this caller's promise, with the signal's reason. Rejects if Redis does
   * not answer.
   */
  get(signal?: AbortSignal): Promise<TokenOutcome>;
  /** Call it when the service answers 401 to the token of that generation: returns a newer one, fetched if necessary. */
  replaceRefused(generation: number, signal?: AbortSignal): Promise<TokenOutcome>;
  /**
   * A token newer than that generation, fetched if necessary, for a caller that cannot tell whether its token or its call was
   * refused: it counts nothing against the account.
   */
  newerThan(generation: number, signal?: AbortSignal): Promise<TokenOutcome>;
  /** The token's state for people. Contains no token, and fetches none. */
  show(): Promise<TokenState>;
  /** Logs in again. `again` also overrides a stop, and replaces a token that was sealed with another key. */
  login(options: { again: boolean }): Promise<TokenOutcome>;
  /** Renews the token now. */
  refreshNow(): Promise<TokenOutcome>;
  /** Stops waiting for other processes, and finishes the requests in flight. The caller closes the connection. */
  close(): Promise<void>;
}

const MINUTE_MS = 60_000;
const RETRY_AFTER_MS = [1, 5, 15, 60].map((minutes) => minutes * MINUTE_MS);
const ANSWER_WITHIN_MS = 2_000;
/** Tries of a script: with the pauses between them long enough for a failover, short enough for a waiting caller. */
const TRIES = 6;
/** The pause after a failed renewal in the background. The current token is still valid. */
const RENEW_AGAIN_MS = 5_000;

/** See {@link TokenCache}. Opens no connection before the first call. */
export function createTokenCache(options: TokenCacheOptions): TokenCache {
  const { redis, keys, account, requestTimeoutMs, login, refresh } = options;
  const { machine = systemMachine, freshMs = MINUTE_MS, compareEveryMs = 30_000 } = options;
  const { clock, monotonic, alarm } = machine;
  const closing = new AbortController();
  const retry = { answerWithinMs: Math.min(ANSWER_WITHIN_MS, requestTimeoutMs), tries: TRIES, alarm };
  const record = tokenRecord(
    redis,
    keys,
    accountId(account),
    createSeal(options.secretsKey, options.previousSecretsKey),
    retry,
  );
  const budget = loginBudget({
    redis,
    keys,
    credentialId: () => credentialId(account),
    attemptMs: 2 * requestTimeoutMs,
    retryAfterMs: options.retryAfterMs ?? RETRY_AFTER_MS,
    retry,
    closing: closing.signal,
  });
  const fetchToken = tokenFetcher({
    record,
    budget,
    login,
    refresh,
    requestTimeoutMs,
    freshMs,
    closing: closing.signal,
    machine,
  });
  const local = localCopy(monotonic, compareEveryMs);
  const outcomeOf = ({ token, generation, receivedAt }: LocalToken): TokenOutcome => ({
    kind: 'token',
    token,
    generation,
    ageMs: monotonic() - receivedAt,
  });
  /** All callers of this process share one fetch. */
  let flight: Promise<TokenOutcome> | undefined;
  let background: Promise<void> | undefined;
  let backgroundFrom = 0;

  async function fetched(wanted: TokenRequest): Promise<TokenOutcome> {
    const result = await fetchToken(wanted);
    switch (result.kind) {
      case 'current':
        return outcomeOf(local.take(result));
      case 'later': {
        const cause = result.reason.replace(/\.$/, '');
        return { kind: 'later', at: clock() + result.ms, reason: `No token yet: ${cause}.`, cause };
      }
      case 'stopped':
        return { kind: 'stopped', reason: stopReason(result.code, account, result.detail) };
      default:
        return result satisfies never;
    }
  }

  function shared(wanted: Pick<TokenRequest, 'after' | 'cause'>): Promise<TokenOutcome> {
    flight ??= fetched({ ...wanted, way: 'any', again: false }).finally(() => {
      flight = undefined;
    });
    return flight;
  }

  /** Renews the local copy, or compares it with Redis, while its callers go on using it. */
  function refreshInBackground(current: LocalToken): void {
    const now = monotonic();
    const isDue = now >= current.renewAt;
    if (background !== undefined || now < backgroundFrom || !(isDue || now >= current.compareAt)) return;
    const failed = (): void => {
      backgroundFrom = monotonic() + RENEW_AGAIN_MS;
    };
    const renew = async (): Promise<void> => {
      current.compareAt = now + compareEveryMs;
      if (!isDue && (await record.generation()) <= current.generation) return;
      const outcome = await shared({ after: current.generation, cause: 'need' });
      if (outcome.kind !== 'token') failed();
    };
    background = renew()
      .catch(failed)
      .finally(() => {
        background = undefined;
      });
  }

  async function newerThan(generation: number, cause: TokenRequest['cause']): Promise<TokenOutcome> {
    for (;;) {
      const current = local.usable();
      if (current !== undefined && current.generation > generation) return outcomeOf(current);
      const outcome = await shared({ after: generation, cause });
      // A fetch that another caller started earlier may return a token that this caller cannot use.
      if (outcome.kind !== 'token' || outcome.generation > generation) return outcome;
    }
  }

  const operatorFetch = async (wanted: Pick<TokenRequest, 'way' | 'again'>): Promise<TokenOutcome> =>
    fetched({ ...wanted, after: Math.max(await record.generation(), local.latest()), cause: 'need' });

  return {
    get(signal) {
      const current = local.usable();
      if (current === undefined) return unlessAborted(newerThan(local.latest(), 'need'), signal);
      refreshInBackground(current);
      return unlessAborted(Promise.resolve(outcomeOf(current)), signal);
    },

    replaceRefused(generation, signal) {
      local.drop(generation);
      return unlessAborted(newerThan(generation, 'refused'), signal);
    },

    newerThan: (generation, signal) => unlessAborted(newerThan(generation, 'need'), signal),
    show: async () => tokenState(...(await Promise.all([record.read(), budget.read()])), account),
    login: ({ again }) => operatorFetch({ way: 'login', again }),
    refreshNow: () => operatorFetch({ way: 'any', again: false }),

    async close() {
      closing.abort();
      await Promise.allSettled([flight, background]);
    },
  };
}

/** This process's copy of the token. Times on the monotonic clock; infinite if the token has no expiry. */
interface LocalToken {
  token: string;
  generation: number;
  receivedAt: number;
  renewAt: number;
  expiresAt: number;
  /** When to check in the background whether Redis has a newer one. */
  compareAt: number;
}

/** Keeps the latest token in memory, so that a request needs no call to Redis for it. */
function localCopy(monotonic: Clock, compareEveryMs: number) {
  let held: LocalToken | undefined;
  /** The latest generation that this process has seen, held or dropped. Older ones are not taken back. */
  let latest = 0;

  return {
    take(fetched: FetchedToken & { kind: 'current' }): LocalToken {
      const { token, generation, ageMs, since } = fetched;
      const taken: LocalToken = {
        token,
        generation,
        receivedAt: since - ageMs,
        renewAt: since + (fetched.renewInMs ?? Number.POSITIVE_INFINITY),
        expiresAt: since + (fetched.expiresInMs ?? Number.POSITIVE_INFINITY),
        compareAt: since + compareEveryMs,
      };
      if (generation > latest) {
        held = taken;
        latest = generation;
      }
      return taken;
    },
    /** The local copy, unless it has expired. */
    usable: (): LocalToken | undefined =>
      held !== undefined && monotonic() < held.expiresAt ? held : undefined,
    /** The service refused this generation, so it and older ones are unusable. */
    drop(generation: number): void {
      latest = Math.max(latest, generation);
      if (held !== undefined && held.generation <= generation) held = undefined;
    },
    latest: (): number => latest,
  };
}
