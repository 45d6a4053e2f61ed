import { type Alarm, systemAlarm } from '../../base/clock.js';
import type { Redis } from '../../base/redis/connection.js';
import { openJobQueue, startJobWorker } from '../../engine/jobs/jobs.js';
import { type DeliverDeps, deliver } from './deliver.js';
import { ownerOf } from './endpoint.js';
import { fairTurns } from './fair-turns.js';
import { disableEnded } from './key-ends.js';
import { MAX_ENDPOINTS } from './store.js';
import { watchResults } from './watch.js';

/** Endpoints that a process delivers to at a time. */
const TURNS = 200;
const TURN_MS = 20_000;
const QUEUE = 'webhooks';

/** What {@link deliverWebhooks} needs. */
interface WebhookWorkOptions extends DeliverDeps {
  /** For BullMQ. */
  readonly blocking: Redis;
  readonly alarm?: Alarm;
  /** Default: {@link TURNS}. */
  readonly turnsAtOnce?: number;
}

/** Delivers to all endpoints in this process. It uses connections of its own, so that sending does not wait for it. */
export function deliverWebhooks(options: WebhookWorkOptions) {
  const {
    redis,
    blocking,
    keys,
    store,
    lanes,
    clock,
    events,
    poster,
    alarm = systemAlarm,
    turnsAtOnce = TURNS,
  } = options;
  const queue = openJobQueue(blocking, keys, QUEUE);
  const wake = (id: string): Promise<void> => queue.wake(id, 0);
  const turns = fairTurns(turnsAtOnce);
  const worker = startJobWorker({
    name: QUEUE,
    redis: blocking,
    keys,
    // The queue knows no owners, so it may not keep back any job: a turn that may not begin yet waits here.
    concurrency: MAX_ENDPOINTS,
    async turn(id, signal) {
      const endpoint = await store.endpoint(id);
      const owner = endpoint === null ? '' : ownerOf(endpoint);
      const next = await turns.run(owner, signal, () => deliver(options, id, { turnMs: TURN_MS, signal }));
      // What is due later needs no job until then: the watch wakes it.
      return next !== null && next <= clock() ? 0 : null;
    },
    failed: (id, error) => events.emit({ type: 'webhook.turnFailed', webhook: id, error }),
    lookAgain: wake,
  });
  const stopWatch = watchResults({
    ...{ redis, keys, store, lanes, clock, alarm, wake },
    disableEnded: (endpoints) => disableEnded(options, endpoints),
  });
  return {
    ready: worker.ready,
    async drain(): Promise<void> {
      await stopWatch();
      await worker.drain();
      await queue.close();
      poster.close();
    },
  };
}
