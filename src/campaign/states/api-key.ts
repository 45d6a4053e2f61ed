import type { Actor } from './actor.js';
import type { KeyLimits } from './limit-values.js';

/**
 * What an API key may do: `status` shows states and counts without numbers and texts, `metrics` only reads /metrics, `read` shows
 * everything, `send` creates campaigns and suppresses numbers, `operate` pauses, resumes, cancels, and resolves,
 * `inbound` only submits messages that people have sent, `admin` manages lanes and API keys.
 */
export const API_SCOPES = ['status', 'metrics', 'read', 'send', 'operate', 'inbound', 'admin'] as const;
/** See {@link API_SCOPES}. */
export type ApiScope = (typeof API_SCOPES)[number];

/** What an operation requires of a key: a scope, or only that it is valid. */
export type RequiredScope = ApiScope | 'any';

/** What a person may do in the console, unless a link says otherwise. */
export const CONSOLE_SCOPES = ['read', 'send', 'operate', 'admin'] as const satisfies readonly ApiScope[];

/** A key of the HTTP API without its secret, which is shown only once. */
export interface ApiKey extends KeyLimits {
  readonly id: string;
  readonly name: string;
  /** Whether it is a test key, `vk_test_…`: it only reads, except on lanes whose service is a simulator. */
  readonly test: boolean;
  /** Whether a sign-in link made it, for one session of the console: it ends with the session, and no program can use it. */
  readonly session: boolean;
  readonly scopes: readonly ApiScope[];
  /** The lanes that the key is limited to; null: all lanes. */
  readonly lanes: readonly string[] | null;
  /**
   * `expired`: its time is over; `invalid`: it does not work, because its digest was made without `SECRETS_KEY` or with another
   * one, or because it was restored from a backup after it had been revoked. Revoke it and create another.
   */
  readonly state: 'active' | 'expired' | 'invalid';
  readonly createdAt: string;
  /** The key that made it, as it was named then; null: no key did. */
  readonly createdBy: Pick<Actor, 'id' | 'name'> | null;
  /** Null: never. */
  readonly expiresAt: string | null;
  /** Until when the secret from before the last rotation works; null if none does. */
  readonly oldSecretUntil: string | null;
  /** Whether it works only with `SECRETS_KEY_PREVIOUS`, because it was not used since `SECRETS_KEY` was changed. */
  readonly needsPreviousKey: boolean;
  /** How many numbers may be suppressed because of this key at the same time. */
  readonly maxSuppressions: number;
  /** With a precision of one minute; null before the first use. */
  readonly lastUsedAt: string | null;
}

/**
 * Whether the key with an id works, and until when, ms (null: for ever). A session of the console that has ended leaves a key that has
 * expired.
 */
export interface KeyLife {
  readonly state: ApiKey['state'] | 'revoked';
  readonly until: number | null;
}

/** A key with what it has stored today, and what its limits still allow. */
export interface ApiKeyDetails extends ApiKey {
  /** How many more numbers may be suppressed because of it. */
  readonly suppressionsLeft: number;
  /** Null without a daily limit. */
  readonly today: {
    /** Messages that it has stored in this UTC day on all of its lanes. */
    readonly recipientCount: number;
    /** What they cost, such as `20.00 EUR`; null without prices, and without `costPerDay`. */
    readonly cost: string | null;
    /** How many more messages it may store today, and what they may cost; null without this limit. */
    readonly recipientsLeft: number | null;
    readonly costLeft: string | null;
    /** When the daily limits reset, ISO 8601. */
    readonly resetsAt: string;
  } | null;
}

/** Whether a key may do what requires a scope. `read` includes `status` and `metrics`. */
export function allowsScope({ scopes }: Pick<ApiKey, 'scopes'>, required: RequiredScope): boolean {
  if (required === 'any') return true;
  return scopes.includes(required) || (/^(status|metrics)$/.test(required) && scopes.includes('read'));
}
