import { createVolley } from '../app/runtime.js';
import type { Volley } from '../app/volley.js';
import { pause, systemAlarm } from '../base/clock.js';
import { type Config, type LocalConfig, secretsOf, withLanes } from '../base/config/index.js';
import { exactDuration } from '../base/duration.js';
import { createEvents, type Events } from '../base/events/events.js';
import { EXIT } from '../base/exit-codes.js';
import { connect } from '../base/redis/connection.js';
import { requireReplay } from '../base/redis/file-replay.js';
import { version } from '../base/version.js';
import { InputError, OtherFormatError } from '../campaign/errors/errors.js';
import type { Role } from '../engine/recovery/heartbeats.js';

/*
 * The life of a process that serves lanes or the HTTP API: `volley up`, `work`, and `serve`, and the shells in workers/.
 *
 *   parts start in order ── ready ── SIGTERM or SIGINT ── parts stop in reverse order ── Volley closes
 */

/** What a drain may take beyond the longest request: settling, and handing lanes back. */
const DRAIN_MARGIN_MS = 10_000;
/**
 * After SIGTERM, `/readyz` answers 503 for so long before the listener closes: a load balancer sends the next request elsewhere. A person
 * who presses Ctrl-C does not wait for that.
 */
const LEAVING_MS = 2_000;
/** Without Redis nothing can be settled, so there is little to wait for. */
const DRAIN_WITHOUT_REDIS_MS = 1_000;

/** One thing that a process does, such as serving the HTTP API. */
export type Part<Configuration> = (volley: Volley, config: Configuration, events: Events) => RunningPart;

/** A part that has been started. */
interface RunningPart {
  /** Resolves when the part works, with a message for people if there is one. */
  readonly ready: Promise<string | undefined>;
  /**
   * Accepts no new work and finishes the work in flight. You may call it before `ready` resolves. `signal`: what ends the process,
   * unless an error does.
   */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** The first SIGINT or SIGTERM that the process receives. */
export interface StopSignal {
  /** Aborted when the signal arrives. */
  readonly signal: AbortSignal;
  readonly received: Promise<NodeJS.Signals>;
  /** Stops listening: the next signal ends the process, as without a listener. */
  dispose(): void;
}

/** Listens for SIGINT and SIGTERM. By default, a second signal ends the process as if nothing listened. */
export function listenForStop(onSecond?: () => void): StopSignal {
  const controller = new AbortController();
  let resolve: (name: NodeJS.Signals) => void = () => {};
  const received = new Promise<NodeJS.Signals>((settle) => {
    resolve = settle;
  });
  const dispose = (): void => {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  };
  const onSignal = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) {
      onSecond?.();
      return;
    }
    if (onSecond === undefined) dispose();
    resolve(name);
    controller.abort();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return { signal: controller.signal, received, dispose };
}

/** Options of {@link runProcess}. */
export interface ProcessOptions<Configuration extends Config | LocalConfig> {
  readonly config: Configuration;
  /** Shown in log lines, such as `send+follow-up`. */
  readonly role: string;
  /** Started in this order, stopped in the opposite one. */
  readonly parts: readonly Part<Configuration>[];
  readonly stop: StopSignal;
  /** Resolves with an error if the process cannot continue, for instance because its own Redis has ended. */
  readonly lost?: Promise<Error> | undefined;
  /** Called when all parts are ready, with their messages. */
  onReady?(messages: readonly string[]): void;
  /** Called when a signal begins the drain. */
  onDraining?(): void;
  /** Called with the error of `lost` if the process exits before its parts have stopped. */
  onAbandoned?(error: Error): void;
}

/**
 * Runs the parts until a signal arrives, then drains. The process exits with 1 if the drain misses its deadline.
 * Rejects with the error of a part that could not start, or with that of `lost`.
 */
export async function runProcess<Configuration extends Config | LocalConfig>(
  options: ProcessOptions<Configuration>,
): Promise<void> {
  const { config, role, parts, stop, lost } = options;
  const events = createEvents({ level: config.logLevel, role, secrets: secretsOf(config) });
  const { problems } =
    'lanesWithoutCredentials' in config ? config.lanesWithoutCredentials : { problems: [] };
  for (const problem of problems)
    events.emit({ type: 'config.hint', hint: `${problem}; this process serves only the other lanes` });
  events.emit({ type: 'process.started', version });
  const volley = createVolley({ config, events });
  const running: RunningPart[] = [];
  const start = async (): Promise<readonly string[]> => {
    const messages: string[] = [];
    for (const part of parts) {
      const started = part(volley, config, events);
      running.push(started);
      const message = await started.ready;
      if (message !== undefined) messages.push(message);
    }
    return messages;
  };
  const drain = async (deadlineMs: number, end?: NodeJS.Signals | Error): Promise<void> => {
    const deadline = setTimeout(() => {
      if (end instanceof Error) options.onAbandoned?.(end);
      process.exit(EXIT.failed);
    }, deadlineMs);
    try {
      for (const part of running.reverse()) await part.stop(end instanceof Error ? undefined : end);
    } finally {
      await volley.close();
      clearTimeout(deadline);
    }
  };

  const deadlineMs = config.requestTimeoutMs + DRAIN_MARGIN_MS;
  const ending = lost === undefined ? stop.received : Promise.race([stop.received, lost]);
  let end: NodeJS.Signals | Error;
  try {
    const first = await Promise.race([start(), ending]);
    if (Array.isArray(first)) {
      events.emit({ type: 'process.ready', lanes: config.lanes.length });
      options.onReady?.(first);
    }
    end = await ending;
  } catch (error) {
    await drain(deadlineMs);
    throw error;
  }
  if (end instanceof Error) {
    await drain(DRAIN_WITHOUT_REDIS_MS, end);
    throw end;
  }
  const began = performance.now();
  events.emit({ type: 'process.draining', signal: end, deadline: exactDuration(deadlineMs) });
  options.onDraining?.();
  await drain(deadlineMs, end);
  events.emit({ type: 'process.drained', took: exactDuration(performance.now() - began) });
}

/** Serves the lanes, and metrics if a port is configured. `concurrency`: lanes at a time. */
export function servingLanes(roles: readonly Role[], concurrency?: number | undefined): Part<Config> {
  return (volley, config) => {
    const starting = (async () => {
      const { startMetrics } = await import('./metrics/index.js');
      const stopMetrics = await startMetrics({
        volley,
        config: withLanes<LocalConfig>(config, () => volley.knownLanes()),
        role: roles.join('+'),
      });
      return { stopMetrics, workers: volley.work({ roles, concurrency }) };
    })();
    return {
      ready: starting.then(({ workers }) => workers.ready).then(() => undefined),
      async stop() {
        const { stopMetrics, workers } = await starting;
        await workers.drain();
        await stopMetrics();
      },
    };
  };
}

/** What people read when the HTTP API listens at an address, after a sentence that names it. */
export type Greeting = (volley: Volley, config: LocalConfig, address: string) => Promise<string>;

/** Serves the HTTP API. Its `ready` rejects with an InputError if the address cannot be used. */
export function servingHttpAs(greeting?: Greeting): Part<Config | LocalConfig> {
  return (volley, config, events) => {
    let isLeaving = false;
    const opening = import('./http/index.js').then(async ({ createHttp, listen }) => {
      // Data of another format is reported now, and Redis that does not answer to each client.
      await volley.refreshLanes().catch((error: unknown) => {
        if (error instanceof OtherFormatError) throw error;
      });
      // An invalid contract is reported now, and not to the first client that needs it.
      await volley.records.contract();
      await refuseForgetful(config);
      const app = createHttp({ volley, config, isLeaving: () => isLeaving });
      return { app, listening: listen(app, config, events) };
    });
    const greeted = async (address: string): Promise<string> => {
      const text = `The HTTP API is at ${address}, documented at ${address}/docs.`;
      return greeting === undefined ? text : `${text}\n${await greeting(volley, config, address)}`;
    };
    return {
      ready: opening.then(({ listening }) => listening).then(greeted),
      async stop(signal) {
        const { app } = await opening;
        isLeaving = true;
        if (signal === 'SIGTERM') await pause(systemAlarm, LEAVING_MS);
        await app.close();
      },
    };
  };
}

/** The HTTP API also starts while Redis is away. */
const REPLAY_WITHIN_MS = 2_000;

/** Rejects with an InputError if a restart of Redis may lose what clients store. Without Redis, the API says so to each client. */
async function refuseForgetful({ redisUrl, redisPrefix }: LocalConfig): Promise<void> {
  if (redisUrl === undefined) return;
  const redis = connect(redisUrl);
  try {
    await requireReplay(redis, redisPrefix, { tries: 1, answerWithinMs: REPLAY_WITHIN_MS });
  } catch (error) {
    if (error instanceof InputError) throw error;
  } finally {
    redis.disconnect();
  }
}

/** Serves the HTTP API, and only says where. */
export const servingHttp = servingHttpAs();
