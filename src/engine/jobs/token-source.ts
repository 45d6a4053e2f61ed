import type { TokenOutcome } from '../../service/auth/outcome.js';
import type { Bearer } from '../../service/client/bearer.js';

/** What a request needs to authenticate, or why there is none. `generation` identifies the token if the service refuses it. */
export type BearerOutcome =
  | { kind: 'token'; bearer: Bearer; generation: number }
  | Exclude<TokenOutcome, { kind: 'token' }>;

/** Where a lane gets what authenticates its requests: an API key, the access token that the fleet shares, or both. */
export interface TokenSource {
  /** What requests may carry now. Fetches a token only if there is none that lasts. */
  get(): Promise<BearerOutcome>;
  /** Call it right before a request: after a 401, the next request carries a token that was received just now. */
  getForRequest(): Promise<BearerOutcome>;
  /** Call it when the service answers 401 to the bearer of that generation. Returns a newer one. */
  replaceRefused(generation: number): Promise<BearerOutcome>;
  /**
   * Call it after a 401 that may have refused the call rather than the token. Returns a newer token, if there can be one, and
   * counts nothing against the account.
   */
  newerThan(generation: number): Promise<BearerOutcome>;
  /** Call it when the service answers anything but 401 to the bearer of that generation: it accepts what it got. */
  worked(generation: number): void;
}
