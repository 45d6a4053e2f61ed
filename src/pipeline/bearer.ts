import type { BearerOutcome } from '../auth/outcome.js';
import type { TokenCache } from '../auth/token-cache.js';
import type { Credentials } from '../config.js';

/** What a lane proves itself with: a key that never changes, or the token that the fleet shares. */
export interface Bearer {
  get(): Promise<BearerOutcome>;
  /** The service answered 401 to what `get` gave with that generation. */
  refused(generation: number): Promise<BearerOutcome>;
  /**
   * The same, where it may be the call that was refused and not the token: a newer one, if there can be one. It says nothing
   * against the lane.
   */
  renewed(generation: number): Promise<BearerOutcome>;
}

/** The bearer of one lane. `cache` is needed for an account. */
export function laneBearer(lane: string, credentials: Credentials, cache: TokenCache | undefined): Bearer {
  if (credentials.kind === 'apiKey') {
    const held = { kind: 'token', token: credentials.apiKey, generation: 0 } as const;
    return {
      get: async () => held,
      renewed: async () => held,
      refused: async () => ({
        kind: 'stopped',
        reason: `the service does not accept the API key of lane ${lane} (401); correct it, then: volley lane resume ${lane}`,
      }),
    };
  }
  if (cache === undefined) throw new TypeError(`lane ${lane} has an account but no token cache`);
  return {
    get: () => cache.bearer(),
    refused: (generation) => cache.refused(generation),
    renewed: (generation) => cache.renewed(generation),
  };
}
