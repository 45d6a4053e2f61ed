import { EventEmitter, once } from 'node:events';
import { Problem } from './problem.js';

/** What one list takes besides what grows with its length: parser, batches, and slices on their way to Redis. */
const LIST_BYTES = 2_000_000;
/** How long a list waits for memory before the client is asked to retry. */
const WAIT_MS = 30_000;

/** The part of the memory that one list takes. */
export interface MemoryShare {
  /**
   * Resolves when the share may take this many bytes, besides a fixed part. Rejects with a Problem after 30 s, and with the
   * signal's reason.
   */
  resize(bytes: number, signal?: AbortSignal): Promise<void>;
  /** Returns all of it. */
  close(): void;
}

/** See {@link listMemory}. */
export interface ListMemory {
  /** Opens the share of a list. */
  open(): MemoryShare;
}

/**
 * Limits the memory of all lists that a process reads at the same time. A list that needs more waits until others end. The
 * oldest list never waits, so one list always makes progress, even if it alone exceeds the limit.
 */
export function listMemory(maxBytes: number, waitMs: number = WAIT_MS): ListMemory {
  /** In the order in which the lists began. */
  const shares = new Map<object, number>();
  const changes = new EventEmitter().setMaxListeners(0);
  let used = 0;
  return {
    open() {
      const share = {};
      shares.set(share, 0);
      const grows = (bytes: number): number => bytes - (shares.get(share) ?? 0);
      const fits = (bytes: number): boolean => {
        const [oldest] = shares.keys();
        return share === oldest || used + grows(bytes) <= maxBytes;
      };
      return {
        async resize(bytes, signal) {
          const wanted = LIST_BYTES + bytes;
          const late = AbortSignal.timeout(waitMs);
          const stop = signal === undefined ? late : AbortSignal.any([signal, late]);
          while (!fits(wanted)) {
            signal?.throwIfAborted();
            if (late.aborted) throw busy();
            await once(changes, 'closed', { signal: stop }).catch(() => {});
          }
          if (!shares.has(share)) return;
          used += grows(wanted);
          shares.set(share, wanted);
        },
        close() {
          used -= shares.get(share) ?? 0;
          shares.delete(share);
          changes.emit('closed');
        },
      };
    },
  };
}

function busy(): Problem {
  return new Problem(
    'unavailable',
    'The process reads as many lists as HTTP_LIST_MEMORY_MB allows. Retry in a moment.',
    { headers: { 'retry-after': '5' } },
  );
}
