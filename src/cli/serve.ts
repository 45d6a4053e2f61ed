import { type Config, configHints, loadDotEnv } from '../config.js';
import type { Role } from '../pipeline/roster.js';
import type { Context } from './context.js';
import { EXIT, Refusal } from './exit.js';
import type { Interrupt } from './interrupt.js';
import { eventsOf, openVolley } from './open.js';
import { counted } from './text.js';

export interface ServeOptions {
  readonly config: Config;
  readonly roles: readonly Role[];
  readonly concurrency?: number | undefined;
  readonly interrupt: Interrupt;
  /** Resolves when there is nothing left to work with, such as an embedded Redis that ended. */
  readonly lost?: Promise<string> | undefined;
  /** Told when the workers take jobs. */
  readonly onReady: () => void;
}

/** What a drain may take beyond the longest request: settling, and handing lanes back. */
const DRAIN_MARGIN_MS = 10_000;

/** Works in this process until it is asked to end, and ends in good order. Rejects if it had to stop by itself. */
export async function serve(context: Context, options: ServeOptions): Promise<void> {
  const { config, roles, concurrency, interrupt, lost, onReady } = options;
  const events = eventsOf(context, config, roles.join('+'));
  for (const hint of configHints(loadDotEnv(context.cwd, context.env)))
    events.emit({ type: 'config.hint', hint });
  const volley = await openVolley(config, events);
  const ended = new Promise<undefined>((resolve) => {
    if (interrupt.signal.aborted) resolve(undefined);
    interrupt.signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  // Loaded only by who works: the other commands are quick.
  const { startMetrics } = await import('../metrics/index.js');
  const unwatch = await startMetrics({ volley, config, role: roles.join('+') });
  const workers = volley.work({ roles, ...(concurrency === undefined ? {} : { concurrency }) });
  let reason: string | undefined;
  try {
    const end = lost === undefined ? ended : Promise.race([ended, lost]);
    const started = await Promise.race([workers.ready.then(() => 'ready' as const), end]);
    if (started === 'ready') onReady();
    reason = started === 'ready' ? await end : started;
    if (reason === undefined)
      context.say('Ending: what is in flight is seen through. Ctrl-C again ends at once.');
  } finally {
    // With Redis gone nothing can be settled any more; the sweep of the next workers sees to it.
    const patience = setTimeout(
      () => process.exit(EXIT.failed),
      reason === undefined ? config.requestTimeoutMs + DRAIN_MARGIN_MS : 1_000,
    );
    patience.unref();
    await unwatch();
    await volley.close();
    clearTimeout(patience);
  }
  if (reason !== undefined) throw new Refusal(EXIT.failed, 'lost', reason);
}

/** `2 lanes (main, auto)`. */
export function lanesWords({ lanes }: Config): string {
  return `${counted(lanes.length, 'lane')} (${lanes.map(({ name }) => name).join(', ')})`;
}
