import { InputError } from '../campaign/errors/errors.js';
import { StateError } from '../campaign/errors/state-error.js';
import type { RequestSender } from './send-request.js';
import type { RecordsLane } from './store/lanes.js';
import type { RecordsOptions } from './store/slots.js';
import type { RecordsChange, RecordsStore, StoredRequest } from './store/store.js';

/** What an operator knows about a request with an unknown outcome. */
export type RecordsResolution =
  /** The service has accepted it, under this id. */
  | { readonly as: 'accepted'; readonly serviceId: string }
  /** The service does not have it: send it again. */
  | { readonly as: 'resend' }
  | { readonly as: 'abandon' };

/** Settles a request with an unknown outcome, or abandons one that is planned. Rejects with a StateError for any other. */
export async function resolveRequest(
  { store, send }: { readonly store: RecordsStore; readonly send: RequestSender },
  stored: StoredRequest,
  lane: RecordsLane,
  resolution: RecordsResolution,
  options: RecordsOptions,
): Promise<void> {
  const { id, key, state } = stored;
  const isPlanned = state === 'planned' && resolution.as === 'abandon';
  if (state !== 'unknown' && !isPlanned) {
    throw new StateError(`the request ${id} is ${state}; only one with an unknown outcome can be resolved`);
  }
  const settle = async (changes: RecordsChange): Promise<void> => {
    if (await store.settle(stored, ['unknown', 'planned'], changes)) return;
    throw new StateError(`the request ${id} has changed meanwhile; look at it again`);
  };
  switch (resolution.as) {
    case 'accepted': {
      const { serviceId } = resolution;
      if (serviceId.trim() === '')
        throw new InputError('the id of the service is empty', { field: 'serviceId' });
      await settle({ state: 'pending', serviceId });
      break;
    }
    case 'resend':
      await settle({ state: 'planned' });
      await send(lane, { id, key, content: stored }, options);
      break;
    case 'abandon':
      await settle({ state: 'abandoned' });
      break;
    default:
      resolution satisfies never;
  }
}
