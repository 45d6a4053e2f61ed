import { EventEmitter, once } from 'node:events';
import { Problem } from '../server/problem.js';

/**
 * What all lists together leave to the garbage collector before it runs: rows, batches, and results that are not needed any more. It takes
 * its turns in the same heap for all lists, so this does not grow with their number.
 */
export const GARBAGE_BYTES = 32_000_000;
/** What one list takes besides what grows with its length: parser, batches, and slices on their way to Redis. */
export const LIST_BYTES = 2_000_000;
/** How long a list waits for memory before the client is asked to retry. */
const WAIT_MS = 30_000;

/*
 * What of the memory, without that garbage, the lists of one key may take, so that two keys never wait for each other: its oldest list three eighths, and all
 * its other lists one eighth. The oldest list waits for none of the key's others, so that they end one after the other.
 */
const OF_OLDEST = 3 / 8;
const OF_OTHERS = 1 / 8;

/** The part of the memory that one list takes. */
export interface MemoryShare {
  /**
   * Resolves when the share may take this many bytes, besides a fixed part. Rejects with a Problem after 30 s, if no list may take so
   * many, and with the signal's reason.
   */
  resize(bytes: number, signal?: AbortSignal): Promise<void>;
  /** Returns all of it. */
  close(): void;
}

/** See {@link listMemory}. */
export interface ListMemory {
  /** Opens the share of a list that a key sends. */
  open(key: string): MemoryShare;
}

interface Share {
  readonly key: string;
  bytes: number;
}

/**
 * Limits the memory of all lists that a process reads at the same time, and of those of one key. A list that needs more waits until others
 * end. The oldest list never waits: what it may still take is kept free.
 */
export function listMemory(maxBytes: number, waitMs: number = WAIT_MS): ListMemory {
  const room = maxBytes - GARBAGE_BYTES;
  const [maxOldest, maxOthers] = [room * OF_OLDEST, room * OF_OTHERS];
  /** In the order in which the lists began. */
  const shares = new Set<Share>();
  const changes = new EventEmitter().setMaxListeners(0);

  /** Whether a share may take this many bytes, as the others are. */
  const fits = (share: Share, wanted: number): boolean => {
    const [oldest] = shares;
    const [oldestOfKey, ...others] = [...shares].filter(({ key }) => key === share.key);
    if (share !== oldestOfKey && total(others, share) + wanted > maxOthers) return false;
    return share === oldest || total(shares, share) - (oldest?.bytes ?? 0) + wanted + maxOldest <= room;
  };

  return {
    open(key) {
      const share: Share = { key, bytes: 0 };
      shares.add(share);
      return {
        async resize(bytes, signal) {
          const wanted = LIST_BYTES + bytes;
          if (bytes > 0 && wanted > Math.max(maxOldest, LIST_BYTES)) throw tooMuch(maxOldest);
          const late = AbortSignal.timeout(waitMs);
          const stop = signal === undefined ? late : AbortSignal.any([signal, late]);
          while (!fits(share, wanted)) {
            signal?.throwIfAborted();
            if (late.aborted) throw busy();
            await once(changes, 'closed', { signal: stop }).catch(() => {});
          }
          if (shares.has(share)) share.bytes = wanted;
        },
        close() {
          shares.delete(share);
          changes.emit('closed');
        },
      };
    },
  };
}

/** What some shares take together, without one of them. */
function total(shares: Iterable<Share>, without: Share): number {
  let bytes = 0;
  for (const share of shares) if (share !== without) bytes += share.bytes;
  return bytes;
}

function busy(): Problem {
  return new Problem(
    'unavailable',
    'The process, or this key, reads as many lists as HTTP_LIST_MEMORY_MB allows. Retry in a moment.',
    { headers: { 'retry-after': '5' } },
  );
}

function tooMuch(maxBytes: number): Problem {
  const megabytes = Math.floor(maxBytes / 1_000_000);
  return new Problem(
    'tooLarge',
    `The list takes more than ${megabytes} MB of memory, which is as much as HTTP_LIST_MEMORY_MB allows for one list. Split it, or send it as CSV.`,
  );
}
