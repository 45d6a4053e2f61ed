import { createHmac, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { AccountCredentials } from '../../base/account.js';
import type { Clock } from '../../base/clock.js';
import { type Redis, serverTime } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import { type RetryOptions, untilAnswered } from '../../base/redis/until-answered.js';
import type { LoginOutcome } from '../login-outcome.js';
import { STOP_CODES, type StopCode } from './outcome.js';

/** Attempts that may count. The service blocks an account after several failed logins; how many is not documented. */
const LOGIN_LIMIT = 2;

const ms = z.number().int();
const code = z.enum(STOP_CODES);
const statusReplies = [
  z.object({ kind: z.literal('open') }),
  /** `ms` from now. */
  z.object({ kind: z.literal('later'), ms, reason: z.string() }),
  z.object({ kind: z.literal('stopped'), code, detail: z.string() }),
] as const;
const statusReply = z.discriminatedUnion('kind', statusReplies);
const attemptReply = z.discriminatedUnion('kind', [
  ...statusReplies,
  z.object({ kind: z.literal('go') }),
  /** This attempt is over: use a new nonce. */
  z.object({ kind: z.literal('ended') }),
  /** Another attempt is in flight. */
  z.object({ kind: z.literal('wait'), ms }),
]);

/** Whether another login may be tried. */
export type LoginBudgetStatus = z.infer<typeof statusReply>;
/** The answer to a request to log in. */
type LoginStart = z.infer<typeof attemptReply>;

interface LoginBudgetOptions {
  redis: Redis;
  keys: Keys;
  /** Names the user and password; resolved on first use. */
  credentialId: () => Promise<string>;
  /** How long an attempt may take before it counts as unanswered, in ms. */
  attemptMs: number;
  /** Waits after the first, second, … unanswered attempt of a proven password, in ms. */
  retryAfterMs: readonly number[];
  retry: RetryOptions;
  /** Fires when this process ends: a refusal that Redis has not received by then is lost with it. */
  closing: AbortSignal;
  /** Replaces the server's time, ms. */
  now?: Clock | undefined;
}

const attemptScript = loadScript(import.meta.url, './login-attempt.lua', (reply) =>
  attemptReply.parse(JSON.parse(String(reply))),
);
const FIELDS = [
  'counted',
  'proven',
  'pending',
  'pendingUntil',
  'stop',
  'stopDetail',
  'retryAt',
  'reason',
] as const;

const derive = promisify<string, string, number, Buffer>(scrypt);

/** Deriving is slow on purpose (about 50 ms), so a process with many lanes of one user does it once. */
const derived = new Map<string, Promise<string>>();

/**
 * An HMAC that names the login budget of one user and password, whatever the target account: the service also adds up the
 * failed logins of all lanes that share them. It does not depend on SECRETS_KEY, or a fleet with two keys would have two
 * budgets. It becomes part of a key's name in Redis, so its derivation is slow: a weak password is hard to guess from it.
 */
export function credentialId({ username, password }: AccountCredentials): Promise<string> {
  const names = JSON.stringify([username, password]);
  const known = derived.get(names) ?? derive(password, `volley login ${username}`, 32).then(nameOf);
  derived.set(names, known);
  return known;
}

function nameOf(slow: Buffer): string {
  return createHmac('sha256', slow).update('volley login budget').digest('hex').slice(0, 32);
}

/**
 * The login attempts of one user and password, counted for the whole fleet. One attempt at a time; each is counted before it is
 * sent, so an attempt whose process dies has been counted.
 */
export function loginBudget(options: LoginBudgetOptions) {
  const { redis, keys, attemptMs, retryAfterMs, retry } = options;
  const key = async (): Promise<string> => keys.token(`login:${await options.credentialId()}`);
  const answered = <Answer>(run: () => Promise<Answer>): Promise<Answer> => untilAnswered(run, retry);
  const untilClosing = { ...retry, tries: Number.POSITIVE_INFINITY, signal: options.closing };

  const rules = JSON.stringify({ delays: retryAfterMs, limit: LOGIN_LIMIT, attemptMs });
  const attempt = (budget: string, args: AttemptArguments): Promise<LoginStart> => {
    const time = options.now?.() ?? '';
    return attemptScript.run(
      redis,
      { budget },
      { time, rules, again: 'false', code: '', detail: '', ...args },
    );
  };

  return {
    /** Asks to send the attempt `nonce`. With `again`, an operator opens a budget that is used up. */
    async begin(nonce: string, again: boolean): Promise<LoginStart> {
      const budgetKey = await key();
      return answered(() => attempt(budgetKey, { nonce, phase: 'begin', again: String(again) }));
    },

    /** Records how the attempt ended. Returns whether another one may be tried. */
    async settle(nonce: string, outcome: LoginOutcome): Promise<LoginBudgetStatus> {
      const budgetKey = await key();
      const verdict = verdictOf(outcome);
      const settle = async () => statusReply.parse(await attempt(budgetKey, { nonce, ...verdict }));
      try {
        return await answered(settle);
      } catch (error) {
        // An uncounted refusal would let the fleet try the password once too often, so it is recorded as soon as Redis answers
        // again. Any other outcome that Redis does not receive counts as no answer.
        if (verdict.phase === 'refused') untilAnswered(settle, untilClosing).catch(() => {});
        throw error;
      }
    },

    /** Reads the budget for people; it changes nothing. */
    async read() {
      const budgetKey = await key();
      const [fields, now] = await answered(() =>
        Promise.all([redis.hmget(budgetKey, ...FIELDS), options.now?.() ?? serverTime(redis)]),
      );
      const [counted, proven, pending, pendingUntil, stop, detail, retryAt, reason] = fields;
      const retryInMs = Number(retryAt ?? 0) - now;
      const later = retryInMs > 0 ? { kind: 'later', ms: retryInMs, reason } : { kind: 'open' };
      return {
        attemptsLeft: Math.max(0, LOGIN_LIMIT - Number(counted ?? 0)),
        /** A login with this user and password has succeeded before. */
        proven: proven === '1',
        isPending: Boolean(pending) && now < Number(pendingUntil),
        status: statusReply.parse(stop ? { kind: 'stopped', code: stop, detail } : later),
      };
    },
  };
}

/** See {@link loginBudget}. */
export type LoginBudget = ReturnType<typeof loginBudget>;
/** What Redis knows about the logins of one user and password. */
export type LoginBudgetFacts = Awaited<ReturnType<LoginBudget['read']>>;

interface Verdict {
  phase: 'proven' | 'refused' | 'unanswered' | 'blocked' | 'uncounted';
  code?: StopCode;
  detail?: string;
}

interface AttemptArguments extends Omit<Verdict, 'phase'> {
  nonce: string;
  phase: 'begin' | Verdict['phase'];
  again?: string;
}

/** What an outcome says about the user and the password. */
function verdictOf(outcome: LoginOutcome): Verdict {
  switch (outcome.kind) {
    case 'pair':
      return { phase: 'proven' };
    case 'badCredential':
      return { phase: 'refused', code: 'badCredential' };
    case 'refused':
      return { phase: 'refused', code: 'loginRefused', detail: outcome.reason };
    case 'loginTimeout':
      return { phase: 'unanswered', detail: 'the account service reports a timeout (10126)' };
    case 'noAnswer':
      return { phase: 'unanswered', detail: outcome.reason };
    case 'blocked':
      return { phase: 'blocked', code: 'blocked' };
    case 'wrongTarget':
    case 'notSent':
      return { phase: 'uncounted' };
    default:
      return outcome satisfies never;
  }
}
