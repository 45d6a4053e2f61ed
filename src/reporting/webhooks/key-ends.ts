import type { Events } from '../../base/events/events.js';
import type { KeyLife } from '../../campaign/states/api-key.js';
import type { DisabledBecause } from '../../campaign/views/webhook-views.js';
import type { Seal } from '../../service/auth/seal.js';
import { type Endpoint, hostOf, keyOf } from './endpoint.js';
import type { WebhookStore } from './store.js';

/*
 * An endpoint gets what its API key may read, so it does not outlive the key. Three things see to it: revoking a key disables its endpoints at
 * once; before a turn, and before each of its requests, the key must still be valid; and the watch disables the endpoints of keys that have
 * ended, of which nothing happens.
 */

/** What this needs. */
export interface KeyEndDeps {
  readonly store: WebhookStore;
  readonly events: Events;
  /** Whether an API key works, and until when. */
  readonly lifeOf: (key: string) => Promise<KeyLife>;
}

const BECAUSE = {
  active: null,
  revoked: 'keyRevoked',
  expired: 'keyExpired',
  invalid: 'keyInvalid',
} as const satisfies Readonly<Record<KeyLife['state'], DisabledBecause | null>>;

/** Why an endpoint gets nothing any more because of the key that added it; null if that works. `until`: when it ends, ms; null: never. */
export async function keyEndOf(
  { lifeOf }: Pick<KeyEndDeps, 'lifeOf'>,
  endpoint: Endpoint,
): Promise<{ because: (typeof BECAUSE)[KeyLife['state']]; until: number | null }> {
  const key = keyOf(endpoint);
  if (key === null) return { because: null, until: null };
  const { state, until } = await lifeOf(key);
  return { because: BECAUSE[state], until };
}

/** Disables an endpoint, unless it was changed meanwhile. */
export async function disable(
  { store, events }: Pick<KeyEndDeps, 'store' | 'events'>,
  endpoint: Endpoint,
  because: DisabledBecause,
): Promise<boolean> {
  const { is } = await store.change(endpoint.id, endpoint, { ...endpoint, disabledBecause: because });
  if (is !== 'made') return false;
  events.emit({ type: 'webhook.disabled', webhook: endpoint.id, host: hostOf(endpoint), because });
  return true;
}

/** Disables the endpoints that an API key has added. */
export async function disableWebhooksOf(
  deps: Pick<KeyEndDeps, 'store' | 'events'>,
  key: string,
  because: DisabledBecause,
): Promise<void> {
  for (const endpoint of await deps.store.endpoints())
    if (keyOf(endpoint) === key && endpoint.disabledBecause === null) await disable(deps, endpoint, because);
}

/** Disables the endpoints of API keys that have ended. A process with another SECRETS_KEY than an endpoint cannot tell, and leaves it to others. */
export async function disableEnded(
  deps: KeyEndDeps & { readonly seal: Seal },
  endpoints: readonly Endpoint[],
): Promise<void> {
  for (const endpoint of endpoints) {
    if (endpoint.disabledBecause !== null || !deps.seal.fingerprints.includes(endpoint.sealedWith)) continue;
    const { because } = await keyEndOf(deps, endpoint);
    if (because !== null) await disable(deps, endpoint, because);
  }
}
