import type { Alarm } from './clock.js';

/** A task that runs in rounds; see {@link repeating}. */
export interface RepeatingTask {
  /** A round that takes long asks, and ends early. */
  readonly isStopped: boolean;
  /** Begins no further round, and resolves when the one that runs has ended. */
  stop(): Promise<void>;
}

/**
 * Runs `round` again and again: first after `firstMs`, by default `everyMs`, then `everyMs` after each round has ended, so two never overlap.
 * A round deals with its errors itself: it must not reject.
 */
export function repeating(
  alarm: Alarm,
  round: () => Promise<unknown>,
  { everyMs, firstMs = everyMs }: { readonly everyMs: number; readonly firstMs?: number },
): RepeatingTask {
  let isStopped = false;
  let cancel = (): void => {};
  let running: Promise<unknown> = Promise.resolve();
  const next = (afterMs: number): void => {
    if (isStopped) return;
    cancel = alarm(afterMs, () => {
      running = round().then(() => next(everyMs));
    });
  };
  next(firstMs);
  return {
    get isStopped() {
      return isStopped;
    },
    async stop() {
      isStopped = true;
      cancel();
      await running;
    },
  };
}
