import { type Config, configHints, type LocalConfig, loadDotEnv } from '../config/index.js';
import type { Events } from '../events/events.js';
import type { Role } from '../recovery/heartbeats.js';
import type { Volley } from '../volley.js';
import type { Context } from './context.js';
import { EXIT, Refusal } from './exit.js';
import type { Interrupt } from './interrupt.js';
import { eventsOf, openVolley } from './open.js';
import { counted } from './text.js';

/** What a process that goes on is there for. */
export interface LifeOptions<Configuration extends Config | LocalConfig> {
  readonly config: Configuration;
  /** Stands in its log lines, such as `send+follow-up`. */
  readonly role: string;
  /** What it does, in the order in which it begins; it ends in the opposite one. */
  readonly parts: readonly Part<Configuration>[];
  readonly interrupt: Interrupt;
  /** Resolves when there is nothing left to work with, such as an embedded Redis that ended. */
  readonly lost?: Promise<string> | undefined;
  /** Told when all of it has begun, with what the parts have to say of themselves. */
  readonly onReady: (said: readonly string[]) => void;
}

/** One thing that a process does. */
export type Part<Configuration> = (volley: Volley, config: Configuration, events: Events) => Promise<Begun>;

/** A part that has begun. */
export interface Begun {
  /** What there is to say, such as where it listens. */
  readonly said?: string;
  /** Sees through what is under way, and takes on nothing more. */
  end(): Promise<void>;
}

/** What a drain may take beyond the longest request: settling, and handing lanes back. */
const DRAIN_MARGIN_MS = 10_000;

/** Lives in this process until it is asked to end, and ends in good order. Rejects if it had to stop by itself. */
export async function liveUntilTold<Configuration extends Config | LocalConfig>(
  context: Context,
  { config, role, parts, interrupt, lost, onReady }: LifeOptions<Configuration>,
): Promise<void> {
  const events = eventsOf(context, config, role);
  for (const hint of configHints(loadDotEnv(context.cwd, context.env)))
    events.emit({ type: 'config.hint', hint });
  const volley = await openVolley(config, events);
  const ended = new Promise<undefined>((resolve) => {
    if (interrupt.signal.aborted) resolve(undefined);
    interrupt.signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const begun: Begun[] = [];
  const begin = async (): Promise<'ready'> => {
    for (const part of parts) begun.push(await part(volley, config, events));
    return 'ready';
  };
  let reason: string | undefined;
  try {
    const end = lost === undefined ? ended : Promise.race([ended, lost]);
    const started = await Promise.race([begin(), end]);
    if (started === 'ready') onReady(begun.flatMap(({ said }) => said ?? []));
    reason = started === 'ready' ? await end : started;
    if (reason === undefined)
      context.say('Ending: what is in flight is seen through. Ctrl-C again ends at once.');
  } finally {
    // With Redis gone nothing can be settled any more; the sweep of the next workers sees to it.
    const patience = setTimeout(
      () => {
        if (reason !== undefined) context.fail(lostBy(reason));
        process.exit(EXIT.failed);
      },
      reason === undefined ? config.requestTimeoutMs + DRAIN_MARGIN_MS : 1_000,
    );
    patience.unref();
    for (const part of begun.reverse()) await part.end();
    await volley.close();
    clearTimeout(patience);
  }
  if (reason !== undefined) throw lostBy(reason);
}

function lostBy(reason: string): Refusal {
  return new Refusal(EXIT.failed, 'lost', reason);
}

/** Serves the lanes, and its metrics where they are asked for. */
export function working(roles: readonly Role[], concurrency?: number | undefined): Part<Config> {
  return async (volley, config) => {
    // Loaded only by who works: the other commands are quick.
    const { startMetrics } = await import('../metrics/index.js');
    const unwatch = await startMetrics({ volley, config, role: roles.join('+') });
    const workers = volley.work({ roles, ...(concurrency === undefined ? {} : { concurrency }) });
    await workers.ready;
    return {
      async end() {
        await unwatch();
        await workers.drain();
      },
    };
  };
}

/** Serves the HTTP API. Rejects for an address that cannot be had. */
export const serving: Part<Config | LocalConfig> = async (volley, config, events) => {
  const { createHttp, listen } = await import('../http/index.js');
  const app = createHttp({ volley, config });
  const address = await listen(app, config, events);
  return { said: `The HTTP API is at ${address}, described at ${address}/docs.`, end: () => app.close() };
};

/** `2 lanes (main, auto)`. */
export function lanesWords({ lanes }: Config | LocalConfig): string {
  return `${counted(lanes.length, 'lane')} (${lanes.map(({ name }) => name).join(', ')})`;
}
