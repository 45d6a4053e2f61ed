import { type Machine, systemMachine, unlessAborted } from '../clock.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { type Fetched, tokenFetcher, type Want } from './fetch-token.js';
import { accountId, credentialId } from './identity.js';
import { loginBudget } from './login-budget.js';
import type { Account, LoginOutcome, TokenOutcome } from './outcome.js';
import { stopReason } from './reasons.js';
import { createSeal } from './seal.js';
import { type InHand, tokenInHand } from './token-in-hand.js';
import { tokenRecord } from './token-record.js';
import { describeToken, type TokenState } from './token-state.js';

/** What {@link createTokenCache} goes by. */
export interface TokenCacheOptions {
  /** A `protocol` connection: see `connect`. */
  redis: Redis;
  keys: Keys;
  account: Account;
  /** The longest that one login or refresh may take, in ms. A lease lasts twice as long. */
  requestTimeoutMs: number;
  /** Encrypts tokens at rest; all processes need the same. Without one they are stored in the clear. */
  secretsKey?: string | undefined;
  login: (signal?: AbortSignal) => Promise<LoginOutcome>;
  refresh: (refreshToken: string, signal?: AbortSignal) => Promise<LoginOutcome>;
  /** Waits after the first, second, … login without an answer, in ms; default 1, 5, 15 and 60 minutes. */
  retryAfterMs?: readonly number[] | undefined;
  /** A token fetched because of a 401 that gets a 401 itself within so many ms stops the account; default 1 min. */
  freshMs?: number | undefined;
  /** How old the local copy may get before Redis is asked, in passing, for a newer one, in ms; default 30 s. */
  lookAgainMs?: number | undefined;
  /** Default: the machine that this runs on. The wall clock is for the `at` of an outcome. */
  machine?: Machine | undefined;
}

/** The token of one account, shared by the fleet: its expiry costs all processes together one refresh. */
export interface TokenCache {
  /**
   * A usable access token, from memory as long as it lasts. In the last share of its life callers keep it while one
   * process fetches the next. Aborting the signal rejects this caller's promise with the signal's reason; what is
   * under way for the others goes on. Rejects if Redis cannot be asked.
   */
  get(signal?: AbortSignal): Promise<TokenOutcome>;
  /** The service answered 401 to the token of that generation: a newer one, fetched if there is none yet. */
  replaceRefused(generation: number, signal?: AbortSignal): Promise<TokenOutcome>;
  /**
   * A token newer than that generation, fetched if there is none yet, by who cannot tell whether it was refused or what it
   * was presented for: it is no evidence against the account.
   */
  newerThan(generation: number, signal?: AbortSignal): Promise<TokenOutcome>;
  /** For people; never a token. */
  show(): Promise<TokenState>;
  /** An operator logs in anew. `again` also opens what has stopped, and replaces a token sealed with another key. */
  login(options: { again: boolean }): Promise<TokenOutcome>;
  /** An operator has the token renewed now. */
  refreshNow(): Promise<TokenOutcome>;
  /** Stops waiting for others, sees through what is on the wire. The connection stays the caller's. */
  close(): Promise<void>;
}

const MINUTE_MS = 60_000;
const RETRY_AFTER_MS = [1, 5, 15, 60].map((minutes) => minutes * MINUTE_MS);
const ANSWER_WITHIN_MS = 2_000;
/** Of a script: with the pauses between them long enough for a failover, short enough to tell a caller. */
const TRIES = 6;
/** After a renewal in passing failed, the next one is tried no sooner; the token in hand is still good. */
const NO_SOONER_MS = 5_000;

/** See {@link TokenCache}. It connects to nothing before the first call. */
export function createTokenCache(options: TokenCacheOptions): TokenCache {
  const { redis, keys, account, requestTimeoutMs, login, refresh } = options;
  const { machine = systemMachine } = options;
  const { clock, monotonic, alarm } = machine;
  const { freshMs = MINUTE_MS, lookAgainMs = 30_000 } = options;
  const closing = new AbortController();
  const patience = { answerWithinMs: Math.min(ANSWER_WITHIN_MS, requestTimeoutMs), tries: TRIES, alarm };
  const record = tokenRecord(redis, keys, accountId(account), createSeal(options.secretsKey), patience);
  let credential: Promise<string> | undefined;
  const budget = loginBudget({
    redis,
    keys,
    credentialId: () => {
      credential ??= credentialId(account);
      return credential;
    },
    attemptMs: 2 * requestTimeoutMs,
    retryAfterMs: options.retryAfterMs ?? RETRY_AFTER_MS,
    patience,
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

  const inHand = tokenInHand(monotonic, lookAgainMs);
  /** All callers of this process share one fetch. */
  let flight: Promise<TokenOutcome> | undefined;
  let inPassing: Promise<void> | undefined;
  let passAgainAt = 0;

  function outcomeOf(fetched: Fetched): TokenOutcome {
    switch (fetched.kind) {
      case 'current':
        return tokenOf(inHand.take(fetched));
      case 'later':
        return { kind: 'later', at: clock() + fetched.ms, reason: `No token yet: ${fetched.why}.` };
      case 'stopped':
        return { kind: 'stopped', reason: stopReason(fetched.code, account, fetched.detail) };
      default:
        return fetched satisfies never;
    }
  }

  async function fetched(want: Want): Promise<TokenOutcome> {
    return outcomeOf(await fetchToken(want));
  }

  function shared(want: Pick<Want, 'after' | 'cause'>): Promise<TokenOutcome> {
    flight ??= fetched({ ...want, way: 'any', again: false }).finally(() => {
      flight = undefined;
    });
    return flight;
  }

  /** Renews or compares the token in hand while its callers go on with it. */
  function freshenInPassing(current: InHand): void {
    const now = monotonic();
    const due = now >= current.renewAt;
    if (inPassing !== undefined || now < passAgainAt || !(due || now >= current.lookAt)) return;
    const freshen = async (): Promise<void> => {
      current.lookAt = now + lookAgainMs;
      if (!due && (await record.look()).generation <= current.generation) return;
      const outcome = await shared({ after: current.generation, cause: 'need' });
      if (outcome.kind !== 'token') passAgainAt = monotonic() + NO_SOONER_MS;
    };
    inPassing = freshen()
      .catch(() => {
        passAgainAt = monotonic() + NO_SOONER_MS;
      })
      .finally(() => {
        inPassing = undefined;
      });
  }

  async function fetchNewer(generation: number, cause: Want['cause']): Promise<TokenOutcome> {
    for (;;) {
      const current = inHand.usable();
      if (current !== undefined && current.generation > generation) return tokenOf(current);
      const outcome = await shared({ after: generation, cause });
      // A fetch that was under way before this caller knew better may bring what it cannot use.
      if (outcome.kind !== 'token' || outcome.generation > generation) return outcome;
    }
  }

  async function latest(): Promise<number> {
    return Math.max((await record.look()).generation, inHand.latest());
  }

  return {
    get(signal) {
      const current = inHand.usable();
      if (current === undefined) {
        return unlessAborted(fetchNewer(inHand.latest(), 'need'), signal);
      }
      freshenInPassing(current);
      return unlessAborted(Promise.resolve(tokenOf(current)), signal);
    },

    replaceRefused(generation, signal) {
      inHand.drop(generation);
      return unlessAborted(fetchNewer(generation, 'refused'), signal);
    },

    newerThan: (generation, signal) => unlessAborted(fetchNewer(generation, 'need'), signal),

    async show() {
      const [token, budgetLook] = await Promise.all([record.look(), budget.look()]);
      return describeToken(token, budgetLook, account);
    },

    async login({ again }) {
      return fetched({ after: await latest(), cause: 'need', way: 'login', again });
    },

    async refreshNow() {
      return fetched({ after: await latest(), cause: 'need', way: 'any', again: false });
    },

    async close() {
      closing.abort();
      await Promise.allSettled([flight, inPassing]);
    },
  };
}

function tokenOf({ token, generation }: { token: string; generation: number }): TokenOutcome {
  return { kind: 'token', token, generation };
}
