import { z } from 'zod';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { loadScript } from '../redis/script.js';
import { type Patience, untilAnswered } from '../redis/until-answered.js';
import type { Lifetime } from './lifetime.js';
import { STOP_CODES, type StopCode } from './reasons.js';
import type { Seal } from './seal.js';

/** A stored pair's access token; times in ms from when it was asked for, undefined if the token does not say. */
export interface CurrentToken {
  kind: 'current';
  generation: number;
  token: string;
  renewInMs: number | undefined;
  expiresInMs: number | undefined;
}

/** What a claim comes to. `base` is the generation that the new pair is to follow. */
export type TokenClaim =
  | CurrentToken
  | { kind: 'stopped'; code: StopCode }
  | { kind: 'wait'; ms: number }
  | { kind: 'refresh'; base: number; refreshToken: string }
  | { kind: 'login'; base: number };

/** Why a token is wanted: there is none in force, or the service answered 401 to the one there is. */
export type Cause = 'need' | 'refused';

/** See `claim-token.lua`, which this is the face of. */
export interface ClaimRequest {
  holder: string;
  leaseMs: number;
  after: number;
  cause: Cause;
  freshMs: number;
  way: 'any' | 'login';
  again: boolean;
}

/** What people may know of the stored token. Never a token. */
export interface TokenLook {
  generation: number;
  ageMs: number | undefined;
  renewInMs: number | undefined;
  expiresInMs: number | undefined;
  refreshToken: 'none' | 'ready' | 'spent';
  encrypted: boolean;
  /** Somebody is fetching the next one right now. */
  underWay: boolean;
  stop: StopCode | undefined;
}

const stopCode = z.enum(STOP_CODES);
const count = z.number().int();
const msOrNone = z.union([z.literal('').transform(() => undefined), count]);

const claimReply = z.union([
  z.tuple([z.literal('current'), count, z.string(), msOrNone, msOrNone]),
  z.tuple([z.literal('stopped'), stopCode]),
  z.tuple([z.literal('foreign')]),
  z.tuple([z.literal('wait'), count]),
  z.tuple([z.literal('refresh'), count, z.string()]),
  z.tuple([z.literal('login'), count]),
]);
const lookReply = z.tuple([
  count,
  msOrNone,
  msOrNone,
  msOrNone,
  z.enum(['none', 'ready', 'spent']),
  z.string(),
  z.union([z.literal('').transform(() => undefined), stopCode]),
  count,
]);

const claimScript = loadScript(import.meta.url, './claim-token.lua', (reply) => claimReply.parse(reply));
const storeScript = loadScript(import.meta.url, './store-token.lua', (reply) => reply === 1);
const releaseScript = loadScript(import.meta.url, './release-token.lua', () => {});
const lookScript = loadScript(import.meta.url, './look-token.lua', (reply) => lookReply.parse(reply));

/** The token of one account as Redis keeps it: scripts that may safely run twice, asked until they answer. */
export function tokenRecord(redis: Redis, keys: Keys, id: string, seal: Seal, patience: Patience) {
  const tokenKey = keys.token(id);
  const touched = [tokenKey, `${tokenKey}:lease`];
  const answered = <Answer>(run: () => Promise<Answer>): Promise<Answer> => untilAnswered(run, patience);

  return {
    /** The current token, or the right to fetch the next. */
    async claim(request: ClaimRequest): Promise<TokenClaim> {
      const { holder, leaseMs, after, cause, freshMs, way } = request;
      const again = request.again ? '1' : '';
      const args = [holder, leaseMs, after, cause, freshMs, way, seal.fingerprint, again];
      const reply = await answered(() => claimScript.run(redis, touched, args));
      switch (reply[0]) {
        case 'current': {
          const [kind, generation, sealed, renewInMs, expiresInMs] = reply;
          return { kind, generation, token: seal.open(sealed, `${id} access`), renewInMs, expiresInMs };
        }
        case 'stopped':
          return { kind: 'stopped', code: reply[1] };
        case 'foreign':
          return { kind: 'stopped', code: 'foreignKey' };
        case 'wait':
          return { kind: 'wait', ms: reply[1] };
        case 'refresh':
          return { kind: 'refresh', base: reply[1], refreshToken: seal.open(reply[2], `${id} refresh`) };
        case 'login':
          return { kind: 'login', base: reply[1] };
        default:
          return reply satisfies never;
      }
    },

    /**
     * Keeps a pair as generation `base + 1`. `ageMs` tells at each try how long ago the pair was received.
     * False if a pair or somebody else's lease is in the way: then a claim tells what to use (perhaps this very pair,
     * if it was kept and the answer lost).
     */
    store(
      pair: { holder: string; base: number; accessToken: string; refreshToken: string; cause: Cause },
      lifetime: Lifetime | undefined,
      ageMs: () => number,
    ): Promise<boolean> {
      const access = seal.close(pair.accessToken, `${id} access`);
      const refresh = seal.close(pair.refreshToken, `${id} refresh`);
      return answered(() => {
        const left = (ms: number | undefined): number | '' =>
          ms === undefined ? '' : Math.floor(ms - ageMs());
        return storeScript.run(redis, touched, [
          pair.holder,
          pair.base,
          access,
          refresh,
          seal.fingerprint,
          left(lifetime?.renewAfterMs),
          left(lifetime?.expiresAfterMs),
          pair.cause,
        ]);
      });
    },

    /** Ends the lease without a pair; with `stop`, nobody tries again before an operator acts. */
    release(holder: string, base: number, stop: StopCode | '' = ''): Promise<void> {
      return answered(() => releaseScript.run(redis, touched, [holder, base, stop]));
    },

    /** See {@link TokenLook}. */
    async look(): Promise<TokenLook> {
      const [generation, ageMs, renewInMs, expiresInMs, refreshToken, sealedWith, stop, leased] =
        await answered(() => lookScript.run(redis, touched, []));
      return {
        generation,
        ageMs,
        renewInMs,
        expiresInMs,
        refreshToken,
        encrypted: sealedWith !== '',
        underWay: leased === 1,
        stop,
      };
    },
  };
}

/** See {@link tokenRecord}. */
export type TokenRecord = ReturnType<typeof tokenRecord>;
