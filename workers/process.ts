import {
  type Config,
  configHints,
  type Environment,
  type LocalConfig,
  loadDotEnv,
  secretsOf,
} from '../src/config/index.js';
import { createEvents, type Events } from '../src/events/events.js';
import { InputError } from '../src/index.js';
import { createVolley } from '../src/runtime.js';
import { version } from '../src/version.js';
import type { Volley } from '../src/volley.js';

/** What a process is there for. */
export interface Task<Configuration> {
  /** Stands in its log lines. */
  readonly role: string;
  load(environment: Environment): Configuration;
  /** Begins; resolves when it has. */
  begin(volley: Volley, config: Configuration, events: Events): Promise<void>;
  /** Takes on nothing more and sees through what is under way. It may come before `begin` has resolved. */
  drain(): Promise<void>;
}

/**
 * The life of a process: configuration, runtime, its task, and on SIGTERM or SIGINT the drain. It exits with 0 when
 * drained, 2 for a configuration that cannot be, 1 for anything else. A second signal ends it at once.
 */
export async function live<Configuration extends Config | LocalConfig>(
  task: Task<Configuration>,
): Promise<void> {
  const environment = loadDotEnv(process.cwd());
  let config: Configuration;
  try {
    config = task.load(environment);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
    return;
  }
  const events = createEvents({ level: config.logLevel, role: task.role, secrets: secretsOf(config) });
  for (const hint of configHints(environment)) events.emit({ type: 'config.hint', hint });
  events.emit({ type: 'process.started', version });
  const volley = createVolley({ config, events });
  let draining: Promise<void> | undefined;
  const drain = async (signal: NodeJS.Signals): Promise<void> => {
    const deadlineMs = config.requestTimeoutMs + 10_000;
    const began = performance.now();
    events.emit({ type: 'process.draining', signal, deadlineMs });
    setTimeout(() => process.exit(1), deadlineMs).unref();
    await task.drain();
    await volley.close();
    events.emit({ type: 'process.drained', tookMs: Math.round(performance.now() - began) });
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (draining !== undefined) process.exit(1);
    draining = drain(signal);
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  try {
    await task.begin(volley, config, events);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
    await volley.close();
    return;
  }
  events.emit({ type: 'process.ready', lanes: config.lanes.length });
}
