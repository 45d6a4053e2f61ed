import type { ApiKey, ApiKeyDetails, ApiScope } from '../../campaign/states/api-key.js';
import type { LimitName, SomeLimits } from '../../campaign/states/limit-values.js';
import type { Webhook } from '../../campaign/views/webhook-views.js';

/** What a new key may do. */
export interface NewApiKey extends SomeLimits {
  readonly name: string;
  readonly scopes: readonly ApiScope[];
  /** The only lanes it may use; default: all. */
  readonly lanes?: readonly string[] | undefined;
  /** How long it works, such as `90d`; null: for ever. Default: `365d`. */
  readonly lifetime?: string | null | undefined;
  /** How many numbers may be suppressed because of this key at the same time; default 10,000. */
  readonly maxSuppressions?: number | undefined;
}

/** What signs in to the console once. `secret`: its text, which nothing stores; the page takes it from `/console/#signin=…`. */
export interface SignInLink {
  readonly secret: string;
  readonly scopes: readonly ApiScope[];
  /** ISO 8601. */
  readonly expiresAt: string;
}

/** The limits to change. A limit that you leave out keeps its value. A test key remains one. */
export interface ChangedLimits extends Omit<SomeLimits, 'test'> {
  /** Limits that no longer apply. */
  readonly lift?: readonly Exclude<LimitName, 'test'>[] | undefined;
  readonly maxSuppressions?: number | undefined;
}

/** Only keys of which all lanes are among these; default: all keys. */
export interface KeyChoice {
  readonly lanes?: readonly string[] | undefined;
}

/** A key and its text, which nothing stores. */
export type ShownApiKey = ApiKey & { readonly key: string };

/** A key with a new secret, and the webhooks that it has added, which its old secret may have done. */
export type RotatedApiKey = ShownApiKey & { readonly webhooks: readonly Webhook[] };

/** What was cancelled with a key. `lane`: the name of an outbox's lane. */
export interface CancelledOfKey {
  /** Campaigns. */
  readonly cancelled: readonly string[];
  /** Outboxes to which only the key wrote, and how many messages waited in each. */
  readonly emptied: readonly { readonly name: string; readonly lane: string; readonly cancelled: number }[];
  /** Outboxes to which the key wrote, and maybe others: what waits in them is still sent. */
  readonly shared: readonly { readonly name: string; readonly lane: string }[];
}

/**
 * A request that was refused: without a valid key, and the address that it came from; of a `key` that may not be used from an address; or of a
 * `key`, and the code of its problem document.
 */
export type RefusedRequest =
  | { readonly key?: Pick<ApiKey, 'id' | 'name'> | undefined; readonly address: string }
  | { readonly key: Pick<ApiKey, 'id' | 'name'>; readonly code: string };

/** Manages and checks the keys of the HTTP API. Volley stores only a digest of each key. */
export interface ApiKeys {
  /**
   * Creates a key. Only this result, and that of `rotate`, contains the key itself. If a key creates it, the new key has the lanes and limits of
   * that key, unless you set others; it rejects with a `NotAllowedError` or a `LimitError` if the new key could do more.
   */
  create(key: NewApiKey): Promise<ShownApiKey>;
  /** Lists the keys that are not revoked, oldest first. */
  list(options?: KeyChoice): Promise<ApiKey[]>;
  /** Returns a key that is not revoked, and what its limits still allow. Rejects with a `NotFoundError` if there is no such key. */
  get(id: string, options?: KeyChoice): Promise<ApiKeyDetails>;
  /**
   * Gives a key a new secret, which expires no later than the key that rotates it. The old secret works for another `overlap`, default `1d`; with `0s`, it ends at once, and so do all before it.
   * Also returns the webhooks of the key, which still get results, unless `disableWebhooks` disables them. Rejects with a `NotFoundError` if
   * there is no such key, with a `LimitError` if the key that rotates it has a limit per day or per minute, and with an `InputError` if the
   * overlap is invalid.
   */
  rotate(
    id: string,
    options?: { readonly overlap?: string | undefined; readonly disableWebhooks?: boolean | undefined },
  ): Promise<RotatedApiKey>;
  /**
   * Changes the limits of a key, from its next request on. Rejects with a `NotFoundError` if there is no such key, and with an `InputError` if it is
   * invalid, or a limit is.
   */
  set(id: string, changes: ChangedLimits): Promise<ApiKey>;
  /**
   * Revokes a key immediately. With `cancelCampaigns`, also cancels every campaign that it has created and that has not ended, and
   * everything that waits in the outboxes to which only this key wrote. Returns the ids of the campaigns, and these outboxes; `shared` are
   * those to which others may have written, too. If that failed in the middle, repeat it to finish: with `cancelCampaigns`, the key may be
   * revoked already. Rejects with a `NotFoundError` if there is no such key.
   */
  revoke(id: string, options?: { readonly cancelCampaigns?: boolean | undefined }): Promise<CancelledOfKey>;
  /** Returns the key with this text, or the key of the session with this text; null if it is not valid. */
  check(key: string): Promise<ApiKey | null>;
  /**
   * Makes a link that signs in to the console, once within ten minutes: the person who opens it acts in the name of this actor, with these scopes,
   * on all lanes.
   */
  createLink(options: { readonly scopes: readonly ApiScope[] }): Promise<SignInLink>;
  /**
   * Begins a session of the console, with a key or with the text of a link. Returns the text of the session; null if the key or the link is not
   * valid. A session ends after 12 hours without a request, after 7 days, and with its key. A link makes a key for its session, which ends with it.
   */
  signIn(by: { readonly key: string } | { readonly link: string }): Promise<string | null>;
  /** When the session with this text ends if it is not used any more, ISO 8601; null if it has ended. */
  sessionEnd(session: string): Promise<string | null>;
  /** Ends the session with this text, if there is one. */
  signOut(session: string): Promise<void>;
  /** Counts a request that was refused, for the audit trail. */
  refused(request: RefusedRequest): void;
  /** Returns whether the key with this text is valid, as `check` does. Counts as a use of a session, but not of a key. */
  isActive(key: string): Promise<boolean>;
}
