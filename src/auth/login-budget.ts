import { z } from 'zod';
import type { Clock } from '../clock.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { loadScript, type ScriptArgument } from '../redis/script.js';
import { type Patience, untilAnswered } from '../redis/until-answered.js';
import type { LoginOutcome } from './outcome.js';
import { STOP_CODES, type StopCode } from './reasons.js';

/** Attempts that may count: the account is blocked after several failed ones, nobody knows how many. */
export const LOGIN_LIMIT = 2;

/** Whether another login may be tried; `ms` from when it was asked. */
export type LoginStanding =
  | { kind: 'open' }
  | { kind: 'later'; ms: number; why: string }
  | { kind: 'stopped'; code: StopCode; detail: string };

/** What asking to log in comes to. `over`: this attempt has ended, take a new nonce. */
export type LoginBegin = { kind: 'go' } | { kind: 'over' } | { kind: 'wait'; ms: number } | LoginStanding;

/** What people may know of the budget. */
export interface LoginLook {
  attemptsLeft: number;
  /** A login with this user and password has succeeded before. */
  proven: boolean;
  underWay: boolean;
  standing: LoginStanding;
}

/** What {@link loginBudget} goes by. */
export interface LoginBudgetOptions {
  redis: Redis;
  keys: Keys;
  /** Names the user and password; resolved when it is first needed. */
  credentialId: () => Promise<string>;
  /** How long an attempt may take before it counts as unanswered, in ms. */
  attemptMs: number;
  /** Waits after the first, second, … unanswered attempt of a proven password, in ms. */
  retryAfterMs: readonly number[];
  patience: Patience;
  /** Aborted when this process wants to end: what it could not say by then is lost with it. */
  closing: AbortSignal;
  /** In place of the server's time, ms. */
  now?: Clock | undefined;
}

const ms = z.number().int();
const stopped = z.tuple([z.literal('stopped'), z.enum(STOP_CODES), z.string()]);
const later = z.tuple([z.literal('later'), ms, z.string()]);
const open = z.tuple([z.literal('open')]);
const standingReply = z.union([stopped, later, open]);
const beginReply = z.union([
  z.tuple([z.literal('go')]),
  z.tuple([z.literal('over')]),
  z.tuple([z.literal('wait'), ms]),
  stopped,
  later,
]);
const lookReply = z.tuple([ms, ms, ms, standingReply]);

const beginScript = loadScript(import.meta.url, './begin-login.lua', (reply) => beginReply.parse(reply));
const settleScript = loadScript(import.meta.url, './settle-login.lua', (reply) => standingReply.parse(reply));
const lookScript = loadScript(import.meta.url, './look-login.lua', (reply) => lookReply.parse(reply));

/**
 * The login attempts of one user and password, counted for the whole fleet. One attempt at a time; each is counted
 * before it is sent, so that one whose process dies has been counted.
 */
export function loginBudget(options: LoginBudgetOptions) {
  const { redis, keys, attemptMs, retryAfterMs, patience } = options;
  const delays = retryAfterMs.join();
  const key = async (): Promise<string> => keys.token(`login:${await options.credentialId()}`);
  const now = (): ScriptArgument => options.now?.() ?? '';
  const answered = <Answer>(run: () => Promise<Answer>): Promise<Answer> => untilAnswered(run, patience);
  const untilClosing = { ...patience, tries: Number.POSITIVE_INFINITY, signal: options.closing };

  return {
    /** May the attempt `nonce` be sent? `again` opens a budget that is used up, by an operator's word. */
    async begin(nonce: string, again: boolean): Promise<LoginBegin> {
      const touched = [await key()];
      const reply = await answered(() =>
        beginScript.run(redis, touched, [now(), nonce, attemptMs, delays, LOGIN_LIMIT, again ? '1' : '']),
      );
      switch (reply[0]) {
        case 'go':
        case 'over':
          return { kind: reply[0] };
        case 'wait':
          return { kind: 'wait', ms: reply[1] };
        default:
          return standingOf(reply);
      }
    },

    /** Says how the attempt ended (`unsent`: nothing left this process) and hears whether another may be tried. */
    async settle(nonce: string, outcome: LoginOutcome | { kind: 'unsent' }): Promise<LoginStanding> {
      const touched = [await key()];
      const { verdict, code, detail } = judged(outcome);
      const settle = () =>
        settleScript.run(redis, touched, [now(), nonce, verdict, code, detail, delays, LOGIN_LIMIT]);
      try {
        return standingOf(await answered(settle));
      } catch (error) {
        // The caller is told, but a refusal that nobody counts would have the password tried once more: it is said as soon
        // as Redis can hear it. Whatever else was not said is taken for no answer.
        if (verdict === 'refused') untilAnswered(settle, untilClosing).catch(() => {});
        throw error;
      }
    },

    /** See {@link LoginLook}. */
    async look(): Promise<LoginLook> {
      const touched = [await key()];
      const [counted, proven, underWay, standing] = await answered(() =>
        lookScript.run(redis, touched, [now()]),
      );
      return {
        attemptsLeft: Math.max(0, LOGIN_LIMIT - counted),
        proven: proven === 1,
        underWay: underWay === 1,
        standing: standingOf(standing),
      };
    },
  };
}

/** See {@link loginBudget}. */
export type LoginBudget = ReturnType<typeof loginBudget>;

function standingOf(reply: z.infer<typeof standingReply>): LoginStanding {
  switch (reply[0]) {
    case 'open':
      return { kind: 'open' };
    case 'later':
      return { kind: 'later', ms: reply[1], why: reply[2] };
    case 'stopped':
      return { kind: 'stopped', code: reply[1], detail: reply[2] };
    default:
      return reply satisfies never;
  }
}

interface Judgement {
  verdict: 'proven' | 'refused' | 'unanswered' | 'blocked' | 'void';
  code: StopCode | '';
  detail: string;
}

/** What an outcome says about the user and the password. */
function judged(outcome: LoginOutcome | { kind: 'unsent' }): Judgement {
  switch (outcome.kind) {
    case 'pair':
      return { verdict: 'proven', code: '', detail: '' };
    case 'badCredential':
      return { verdict: 'refused', code: 'badCredential', detail: '' };
    case 'refused':
      return { verdict: 'refused', code: 'loginRefused', detail: outcome.reason };
    case 'loginTimeout':
      return { verdict: 'unanswered', code: '', detail: 'the account service spoke of a timeout (10126)' };
    case 'noAnswer':
      return { verdict: 'unanswered', code: '', detail: outcome.reason };
    case 'blocked':
      return { verdict: 'blocked', code: 'blocked', detail: '' };
    case 'wrongTarget':
    case 'unsent':
      return { verdict: 'void', code: '', detail: '' };
    default:
      return outcome satisfies never;
  }
}
