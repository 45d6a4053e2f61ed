/**
 * Loaded into the server by `--import`, for bench/limits.ts: measures how long its event loop is blocked, and tells the bench on request.
 *
 * A block counts with the smaller of the time and the CPU time that passed, so that a busy machine, which takes the processor away
 * from the server, is not mistaken for one. The CPU time is that of all threads, so it can only be too long.
 */
const EVERY_MS = 1;

/** What the server says about itself. */
export interface Probe {
  /** The longest time between two turns of the event loop since the last question, in ms. */
  readonly blockedMs: number;
}

let blockedMs = 0;
let [at, processorUs] = [performance.now(), processorTime()];
setInterval(() => {
  const [now, used] = [performance.now(), processorTime()];
  blockedMs = Math.max(blockedMs, Math.min(now - at - EVERY_MS, (used - processorUs) / 1_000));
  [at, processorUs] = [now, used];
}, EVERY_MS).unref();

process.on('message', () => {
  // Twice: finalizers of the first collection free more.
  globalThis.gc?.();
  globalThis.gc?.();
  process.send?.({ blockedMs } satisfies Probe);
  blockedMs = 0;
  [at, processorUs] = [performance.now(), processorTime()];
});
process.channel?.unref();

function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
