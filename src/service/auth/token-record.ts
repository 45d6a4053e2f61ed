import { createHash } from 'node:crypto';
import { decodeJwt } from 'jose/jwt/decode';
import { z } from 'zod';
import type { AccountCredentials } from '../../base/account.js';
import { type Redis, serverTime } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import { type RetryOptions, untilAnswered } from '../../base/redis/until-answered.js';
import { STOP_CODES, type StopCode } from './outcome.js';
import type { Seal } from './seal.js';

const whole = z.number().int();
const stopCode = z.enum(STOP_CODES);
const claimReply = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('current'),
    generation: whole,
    token: z.string(),
    /** ms since the token was received. */
    ageMs: whole,
    /** ms from when the token was requested; undefined if the token has no expiry. */
    renewInMs: whole.optional(),
    expiresInMs: whole.optional(),
  }),
  z.object({ kind: z.literal('stopped'), code: stopCode }),
  z.object({ kind: z.literal('wait'), ms: whole }),
  /** `base` is the generation that the new pair follows. */
  z.object({ kind: z.literal('refresh'), base: whole, refreshToken: z.string() }),
  z.object({ kind: z.literal('login'), base: whole }),
]);

/** The result of a claim. */
type TokenClaim = z.infer<typeof claimReply>;
/** The access token of a stored pair. */
export type CurrentToken = Extract<TokenClaim, { kind: 'current' }>;

/** Why a token is wanted: there is none in force, or the service answered 401 to the current one. */
type Cause = 'need' | 'refused';

/** The token that a caller needs. */
export interface TokenRequest {
  /** The generation that the caller can no longer use; 0 if it has none. */
  after: number;
  cause: Cause;
  /** `login` leaves the refresh token alone. */
  way: 'any' | 'login';
  /** An operator overrides whatever has stopped this account. */
  again: boolean;
}

/** The arguments of `claim-token.lua`. */
interface ClaimRequest extends TokenRequest {
  holder: string;
  leaseMs: number;
  freshMs: number;
}

/** How a fetch without a pair ended. */
interface Release {
  stop?: StopCode | '';
  isUnspent?: boolean;
}

const FIELDS = ['generation', 'receivedAt', 'renewAt', 'expiresAt', 'spentBy', 'sealedWith', 'stop'] as const;

const claimScript = loadScript(import.meta.url, './claim-token.lua', (reply) =>
  claimReply.parse(JSON.parse(String(reply))),
);
const sealAgainScript = loadScript(import.meta.url, './seal-again.lua', (reply) => reply === 1);
const endScript = loadScript(import.meta.url, './end-fetch.lua', (reply) => reply === 1);

/** The last share of a token's life, in which it is renewed while still in use. */
const MARGIN = 0.15;

/** How long a token lasts from when it was received, in ms. */
interface Lifetime {
  renewAfterMs: number;
  expiresAfterMs: number;
}

/**
 * Reads `exp` − `iat` of a JWT without verifying it. The difference does not depend on whether the service's clock agrees with
 * ours. Undefined for a token without both (the interface page does not define lifetimes): then a 401 shows that it expired.
 * `lifetimeMs`: what the response with the token said.
 */
export function lifetimeOf(accessToken: string, lifetimeMs?: number): Lifetime | undefined {
  const { exp, iat } = claimsOf(accessToken);
  const stated = (secondsOf(exp) - secondsOf(iat)) * 1_000;
  if (Number.isNaN(stated) && lifetimeMs === undefined) return undefined;
  // Of two, the shorter one is safe.
  const life = Math.floor(Math.min(Number.isNaN(stated) ? Infinity : stated, lifetimeMs ?? Infinity));
  if (!Number.isSafeInteger(life) || life <= 0) return undefined;
  return { renewAfterMs: Math.floor(life * (1 - MARGIN)), expiresAfterMs: life };
}

/** No time in seconds is as large; some services write milliseconds, although RFC 7519 says seconds. */
const NO_SECONDS = 1e11;

/** A time in seconds since the epoch; NaN if it is none. */
function secondsOf(time: unknown): number {
  const seconds = typeof time === 'string' && time.trim() !== '' ? Number(time) : time;
  if (typeof seconds !== 'number') return Number.NaN;
  return seconds < NO_SECONDS ? seconds : seconds / 1_000;
}

function claimsOf(token: string): { exp?: unknown; iat?: unknown } {
  try {
    return decodeJwt(token);
  } catch {
    return {};
  }
}

/** A digest that names the token of one account and target account; the same in every process. */
export function accountId(account: AccountCredentials): string {
  const { username, targetAccountId = null, scope } = account;
  const owner =
    scope === undefined
      ? `account ${JSON.stringify([username, targetAccountId])}`
      : `client ${JSON.stringify([username, scope])}`;
  return createHash('sha256').update(`volley ${owner}`).digest('hex').slice(0, 32);
}

/** The token of one account in Redis. Each call retries until Redis answers, as it may safely run twice. */
export function tokenRecord(redis: Redis, keys: Keys, id: string, seal: Seal, retry: RetryOptions) {
  const tokenKey = keys.token(id);
  const scriptKeys = { token: tokenKey, lease: `${tokenKey}:lease` };
  const answered = <Answer>(run: () => Promise<Answer>): Promise<Answer> => untilAnswered(run, retry);

  /** Seals the stored pair with the current key if it was sealed with a former one. The pair is valid even if this fails. */
  const sealAgain = async (accessBefore: string): Promise<void> => {
    const [before, sealedWith] = await answered(() => redis.hmget(tokenKey, 'refresh', 'sealedWith'));
    if (sealedWith === seal.fingerprint || seal.fingerprint === '') return;
    const reseal = (sealed: string, field: string): string =>
      sealed === '' ? '' : seal.close(seal.open(sealed, `${id} ${field}`), `${id} ${field}`);
    const refreshBefore = before ?? '';
    await answered(() =>
      sealAgainScript.run(
        redis,
        { token: tokenKey },
        {
          accessBefore,
          refreshBefore,
          access: reseal(accessBefore, 'access'),
          refresh: reseal(refreshBefore, 'refresh'),
          fingerprint: seal.fingerprint,
        },
      ),
    );
  };

  return {
    /** The current token, or the right to fetch the next one. */
    async claim(request: ClaimRequest): Promise<TokenClaim> {
      const args = { ...request, fingerprints: seal.fingerprints.join(' '), again: String(request.again) };
      const claim = await answered(() => claimScript.run(redis, scriptKeys, args));
      switch (claim.kind) {
        case 'current':
          await sealAgain(claim.token);
          return { ...claim, token: seal.open(claim.token, `${id} access`) };
        case 'refresh':
          return { ...claim, refreshToken: seal.open(claim.refreshToken, `${id} refresh`) };
        default:
          return claim;
      }
    },

    /**
     * Stores a pair as generation `base + 1`. `ageMs` returns, at each try, how long ago the pair was received. False if another
     * pair or lease got in first: then a claim returns what to use (perhaps this very pair, if only the reply was lost).
     */
    store(
      pair: { holder: string; base: number; accessToken: string; refreshToken: string; cause: Cause },
      lifetime: Lifetime | undefined,
      ageMs: () => number,
    ): Promise<boolean> {
      const { holder, base, cause, accessToken, refreshToken } = pair;
      const sealed = {
        cause,
        fingerprint: seal.fingerprint,
        access: seal.close(accessToken, `${id} access`),
        // Without one, the next token needs a login.
        refresh: refreshToken === '' ? '' : seal.close(refreshToken, `${id} refresh`),
      };
      const left = (ms: number | undefined) => (ms === undefined ? undefined : Math.floor(ms - ageMs()));
      return answered(() => {
        const renewAfterMs = left(lifetime?.renewAfterMs);
        const expiresAfterMs = left(lifetime?.expiresAfterMs);
        const args = { ...sealed, renewAfterMs, expiresAfterMs };
        return endScript.run(redis, scriptKeys, {
          holder,
          base,
          stop: '',
          unspent: 'false',
          pair: JSON.stringify(args),
        });
      });
    },

    /**
     * Ends the lease without a pair. With `stop`, no process fetches again until an operator acts. `isUnspent`: the refresh token that
     * this holder was to present has not left, for certain, so the next holder may present it.
     */
    async release(
      holder: string,
      base: number,
      { stop = '', isUnspent = false }: Release = {},
    ): Promise<void> {
      const unspent = String(isUnspent);
      await answered(() => endScript.run(redis, scriptKeys, { holder, base, stop, unspent, pair: 'false' }));
    },

    /** The stored generation; 0 if there is none. */
    generation: async (): Promise<number> =>
      Number(await answered(() => redis.hget(tokenKey, 'generation'))) || 0,

    /** Reads the record for people; durations in ms from now. It transfers no token and changes nothing. */
    async read() {
      const [fields, refreshBytes, leases, now] = await answered(() =>
        Promise.all([
          redis.hmget(tokenKey, ...FIELDS),
          redis.hstrlen(tokenKey, 'refresh'),
          redis.exists(scriptKeys.lease),
          serverTime(redis),
        ]),
      );
      const [generation, receivedAt, renewAt, expiresAt, spentBy, sealedWith, stop] = fields;
      const msTo = (at: string | null | undefined) => (at ? Number(at) - now : null);
      const toReceipt = msTo(receivedAt);
      return {
        generation: Number(generation ?? 0),
        ageMs: toReceipt === null ? null : -toReceipt,
        renewInMs: msTo(renewAt),
        expiresInMs: msTo(expiresAt),
        refreshToken:
          refreshBytes === 0 ? ('none' as const) : spentBy ? ('spent' as const) : ('ready' as const),
        encrypted: Boolean(sealedWith),
        isLeased: leases === 1,
        stop: stop ? stopCode.parse(stop) : null,
      };
    },
  };
}

/** See {@link tokenRecord}. */
export type TokenRecord = ReturnType<typeof tokenRecord>;
/** The stored token without its secrets. */
export type TokenFacts = Awaited<ReturnType<TokenRecord['read']>>;
