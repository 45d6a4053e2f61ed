import { createRequire } from 'node:module';
import { configHints, loadConfig, loadDotEnv, secretsOf } from '../src/config.js';
import { createEvents } from '../src/events.js';
import { startMetrics } from '../src/metrics/index.js';
import type { Role } from '../src/pipeline/roster.js';
import { createVolley } from '../src/runtime.js';

const { version } = createRequire(import.meta.url)('volley/package.json') as { version: string };

/**
 * The life of a worker process: configuration, runtime, work, and on SIGTERM or SIGINT the drain. It exits with 0 when
 * drained, 2 for a configuration that cannot be, 1 for anything else. A second signal ends it at once.
 */
export async function runWorker(roles: readonly Role[]): Promise<void> {
  const environment = loadDotEnv(process.cwd());
  let config: ReturnType<typeof loadConfig>;
  try {
    config = loadConfig(environment);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
    return;
  }
  const events = createEvents({ level: config.logLevel, role: roles.join('+'), secrets: secretsOf(config) });
  for (const hint of configHints(environment)) events.emit({ type: 'config.hint', hint });
  events.emit({ type: 'process.started', version });
  const volley = createVolley({ config, events });
  const watched = startMetrics({ volley, config, role: roles.join('+') });
  const workers = volley.work({ roles });
  let draining: Promise<void> | undefined;
  const drain = async (signal: NodeJS.Signals): Promise<void> => {
    const deadlineMs = config.requestTimeoutMs + 10_000;
    const began = performance.now();
    events.emit({ type: 'process.draining', signal, deadlineMs });
    setTimeout(() => process.exit(1), deadlineMs).unref();
    await workers.drain();
    await (await watched)();
    await volley.close();
    events.emit({ type: 'process.drained', tookMs: Math.round(performance.now() - began) });
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (draining !== undefined) process.exit(1);
    draining = drain(signal);
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  await workers.ready;
  events.emit({ type: 'process.ready', lanes: config.lanes.length });
}
