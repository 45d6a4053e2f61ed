import type { IncomingHttpHeaders } from 'node:http';
import type { KeySettings, Settings } from '../rules/options.js';
import { createQuotaModel, type QuotaModel } from '../rules/quota-models.js';

/** A quota and its owner. It exists until the simulator stops. */
export interface KeyState {
  /** The API key, or `account:` followed by the account's id. */
  readonly name: string;
  settings: Omit<KeySettings, 'key' | 'account'>;
  /** null means unlimited. */
  quota: QuotaModel | null;
}

const UNLIMITED: KeyState['settings'] = {
  quota: null,
  model: 'sliding',
  windowMs: 3_600_000,
  forbidden: false,
};

/** Finds the quota of a request's credentials: a configured API key, or the access token of an account. */
export class KeyRing {
  readonly #states = new Map<string, KeyState>();
  readonly #accountOf: (accessToken: string, now: number) => string | undefined;
  readonly #isClient: (account: string) => boolean;
  #apiKeys = new Map<string, KeyState>();
  #accounts = new Map<string, KeyState>();
  #accepts: Settings['accepts'] = 'either';

  constructor(
    accountOf: (accessToken: string, now: number) => string | undefined,
    isClient: (account: string) => boolean,
  ) {
    this.#accountOf = accountOf;
    this.#isClient = isClient;
  }

  /** Applies new settings. A quota with unchanged settings keeps its count; a changed one starts from zero. */
  configure({ keys, accepts }: Pick<Settings, 'keys' | 'accepts'>): void {
    this.#accepts = accepts;
    this.#apiKeys = new Map();
    this.#accounts = new Map();
    for (const entry of keys) {
      const { quota, model, windowMs, forbidden } = entry;
      const settings = { quota, model, windowMs, forbidden };
      if ('key' in entry) this.#apiKeys.set(entry.key, this.#state(entry.key, settings));
      else this.#accounts.set(entry.account, this.#state(accountName(entry.account), settings));
    }
  }

  /** Whose quota a request of version 1 uses at `now`; undefined if its credentials are missing, unknown, expired, or of a client. */
  resolve(headers: IncomingHttpHeaders, now: number): KeyState | undefined {
    const bearer = bearerOf(headers.authorization);
    switch (this.#accepts) {
      case 'key':
        return this.#apiKeys.get(bearer);
      case 'token':
        return this.#userState(bearer, now);
      case 'either':
        return this.#apiKeys.get(bearer) ?? this.#userState(bearer, now);
      case 'both': {
        const token = bearerOf(headers['x-authorization']);
        return this.#userOf(token, now) === undefined ? undefined : this.#apiKeys.get(bearer);
      }
      default:
        return this.#accepts satisfies never;
    }
  }

  /** Whose quota a request with the token of a client uses; undefined for any other. */
  ofClient(headers: IncomingHttpHeaders, now: number): KeyState | undefined {
    const bearer = bearerOf(headers.authorization);
    const account = this.#accountOf(bearer, now);
    return account !== undefined && this.#isClient(account) ? this.#accountState(bearer, now) : undefined;
  }

  /** The account of a user: those of clients belong to version 3. */
  #userOf(token: string, now: number): string | undefined {
    const account = this.#accountOf(token, now);
    return account === undefined || this.#isClient(account) ? undefined : account;
  }

  #userState(bearer: string, now: number): KeyState | undefined {
    return this.#userOf(bearer, now) === undefined ? undefined : this.#accountState(bearer, now);
  }

  /** The owner of an API key or an access token, wherever a request carries it. */
  ownerOf(kind: 'apiKey' | 'accessToken', credential: string, now: number): KeyState | undefined {
    return kind === 'apiKey' ? this.#apiKeys.get(credential) : this.#accountState(credential, now);
  }

  /** Accounts that the options do not list are unlimited. */
  #accountState(bearer: string, now: number): KeyState | undefined {
    const account = this.#accountOf(bearer, now);
    if (account === undefined) return undefined;
    const known = this.#accounts.get(account);
    if (known !== undefined) return known;
    const state = this.#state(accountName(account), UNLIMITED);
    this.#accounts.set(account, state);
    return state;
  }

  /** The quota with this name. One that is no longer configured is unlimited. */
  named(name: string): KeyState {
    return this.#states.get(name) ?? this.#state(name, UNLIMITED);
  }

  /** Every key and account seen so far. */
  states(): Iterable<KeyState> {
    return this.#states.values();
  }

  #state(name: string, settings: KeyState['settings']): KeyState {
    const known = this.#states.get(name);
    if (known === undefined) {
      const state = { name, settings, quota: quotaOf(settings) };
      this.#states.set(name, state);
      return state;
    }
    if (JSON.stringify(known.settings) !== JSON.stringify(settings)) known.quota = quotaOf(settings);
    known.settings = settings;
    return known;
  }
}

/** Empty without a bearer token. */
function bearerOf(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' && header.startsWith('Bearer ') ? header.slice('Bearer '.length) : '';
}

function accountName(accountId: string): string {
  return `account:${accountId}`;
}

function quotaOf({ quota, model, windowMs }: KeyState['settings']): QuotaModel | null {
  return quota === null ? null : createQuotaModel(model, quota, windowMs);
}
