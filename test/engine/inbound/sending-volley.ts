import type { Clock } from '../../../src/base/clock.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { campaignContent } from '../../../src/engine/lane/campaign-content.js';
import { suppression } from '../../../src/engine/recipients/suppression.js';
import { openMessages } from '../../../src/engine/sending/messages.js';
import type { Scene, Settings } from '../../scene/scene.js';
import { openDefaultLane } from '../lane/lane-fixture.js';
import { ACCEPTED, sendOnce, startService } from '../sending/local-service.js';

/** A Volley without workers, and its lane, which sends one turn at a time to a service that accepts everything. */
export async function sendingVolley(
  { redis, settings: basic, prefix, open }: Scene,
  name: string,
  { env = {}, ...clock }: { readonly env?: Settings; readonly monotonic?: Clock } = {},
) {
  const own = `${prefix}-${name}`;
  const settings = {
    ...basic,
    REDIS_PREFIX: own,
    MESSAGING_BASE_URL: 'http://127.0.0.1:9',
    API_KEY: 'k',
    SENDER_ADDRESS: 'ACME',
    ...env,
  };
  const volley = open(settings);
  const opened = openDefaultLane(redis, own, { env: settings, ...clock });
  const { lane } = opened;
  const keys = keyNames(own);
  const list = suppression(redis, keys);
  const messages = openMessages(lane, campaignContent(lane), {
    areSuppressed: (numbers) => list.areSuppressed(lane.id, numbers),
    isOnlyBy: (operation, number) => list.isOnlyBy(operation, lane.id, number),
    lastRemoval: () => list.lastRemoval(lane.id),
  });
  const service = await startService(ACCEPTED);
  const send = (own = messages) => sendOnce(opened, service, own);
  return { volley, keys, lane, list, messages, service, send };
}
