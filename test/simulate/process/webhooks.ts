import { outboxResults } from '../../../src/intake/outbox/views/outbox-results.js';
import { resultsLogs } from '../../../src/reporting/results-log.js';
import { resultsReader } from '../../../src/reporting/results-reader.js';
import { laneReader } from '../../../src/reporting/webhooks/lane-reader.js';
import { payloadReader } from '../../../src/reporting/webhooks/payload.js';
import type { Poster } from '../../../src/reporting/webhooks/post.js';
import { webhookStore } from '../../../src/reporting/webhooks/store.js';
import type { Seal } from '../../../src/service/auth/seal.js';
import type { World } from '../world.js';
import type { Process } from './process.js';

/** How long a turn may deliver, ms. */
const TURN_MS = 20_000;

/** Sealing takes random bytes. */
const UNSEALED: Seal = {
  fingerprint: 'in the clear',
  fingerprints: [],
  close: (text) => text,
  open: (text) => text,
};

/** Delivers events to an endpoint, as a worker with the role `webhooks` does. Returns when it is due again, ms by its machine. */
export function deliverTo(
  { keys, parts }: World,
  { redis, machine, events }: Process,
  endpoint: string,
  poster: Poster,
): Promise<number | null> {
  const { clock, monotonic, random } = machine;
  const finder = { nameOf: async (id: string) => id };
  const { read } = resultsReader({ redis, keys, finder, outboxes: outboxResults(redis, keys) });
  const options = {
    ...{ redis, keys, poster, clock, monotonic, random, events },
    store: webhookStore(redis, keys),
    lanes: laneReader({ redis, keys, clock, logs: resultsLogs(redis, keys, finder) }),
    payload: payloadReader({ redis, keys, finder, read }),
    seal: UNSEALED,
    lifeOf: async () => ({ state: 'active', until: null }) as const,
  };
  return parts.deliver(options, endpoint, { turnMs: TURN_MS, signal: new AbortController().signal });
}
