import { loadConfig } from '../src/config/index.js';
import { startMetrics } from '../src/metrics/index.js';
import type { Role } from '../src/recovery/heartbeats.js';
import type { Workers } from '../src/volley.js';
import { live } from './process.js';

/** A process that serves the lanes, and its metrics where they are asked for. */
export async function runWorker(roles: readonly Role[]): Promise<void> {
  const role = roles.join('+');
  let workers: Workers | undefined;
  let watched: ReturnType<typeof startMetrics> | undefined;
  await live({
    role,
    load: (environment) => loadConfig(environment),
    async begin(volley, config) {
      watched = startMetrics({ volley, config, role });
      workers = volley.work({ roles });
      await workers.ready;
    },
    async drain() {
      await workers?.drain();
      await (await watched)?.();
    },
  });
}
