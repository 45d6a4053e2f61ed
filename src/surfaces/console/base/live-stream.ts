import { createParser } from 'eventsource-parser';

/*
 * Follows a server-sent stream without an end: it connects again when the connection breaks or falls silent, and continues after the last
 * event that arrived. Unlike EventSource, it sees why a connection is refused.
 */

/** Whether data arrives. `signedOut` and `refused` are ends: no further attempt is made. */
export type StreamState = 'connecting' | 'live' | 'reconnecting' | 'signedOut' | 'refused';

export interface StreamItem {
  readonly type: string;
  readonly data: unknown;
  readonly id: string | undefined;
}

export interface StreamOptions {
  readonly url: string;
  /** Where to continue; undefined: now. */
  readonly after: string | undefined;
  readonly fetch: typeof globalThis.fetch;
  readonly signal: AbortSignal;
  /** A stream that says nothing for this long is broken. */
  readonly silenceMs: number;
  readonly retryMs: readonly number[];
  onItem(item: StreamItem): void;
  onState(state: StreamState): void;
}

/** Follows the stream until the signal aborts or the server refuses for good. Each item arrives once. */
export async function followStream(options: StreamOptions): Promise<void> {
  const { signal, onState, retryMs } = options;
  let { after } = options;
  let failures = 0;
  onState('connecting');
  while (!signal.aborted) {
    const take = (item: StreamItem): void => {
      if (failures >= 0) onState('live');
      failures = -1;
      after = item.id ?? after;
      options.onItem(item);
    };
    const end = await readOnce({ ...options, after }, take, (id) => {
      after ??= id;
    });
    if (signal.aborted) return;
    if (end !== 'broken') return onState(end);
    onState('reconnecting');
    failures = Math.max(failures, 0) + 1;
    await pause(retryMs[Math.min(failures, retryMs.length) - 1] ?? 0, signal);
  }
}

/** The id before the first event: the stream continues after it if it breaks before another. Parsers drop an id without data. */
const START = /^(?:retry: \d+\n)?id: (\S+)\n\n/;

const SILENT_PARTS = 4;

/** Reads one connection to its end, and says whether another attempt makes sense. */
async function readOnce(
  { url, after, fetch, signal, silenceMs }: StreamOptions,
  onItem: (item: StreamItem) => void,
  onStart: (id: string | undefined) => void,
): Promise<'broken' | 'signedOut' | 'refused'> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  signal.addEventListener('abort', abort, { once: true });
  // Counted in parts: after a tab was busy for long, what has arrived meanwhile is read before the stream counts as silent.
  let silent = 0;
  const timer = setInterval(() => ++silent === SILENT_PARTS && abort(), silenceMs / SILENT_PARTS);
  try {
    const response = await fetch(url, {
      headers: { accept: 'text/event-stream', ...(after !== undefined && { 'last-event-id': after }) },
      credentials: 'same-origin',
      cache: 'no-store',
      signal: controller.signal,
    });
    if (response.status === 401) return 'signedOut';
    if (!response.ok || response.body === null) return isPassing(response.status) ? 'broken' : 'refused';
    const parser = createParser({
      onEvent: ({ event = 'message', data, id }) => onItem({ type: event, data: JSON.parse(data), id }),
    });
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    let isFirst = true;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return 'broken';
      silent = 0;
      const text = decoder.decode(value, { stream: true });
      if (isFirst) onStart(START.exec(text)?.[1]);
      isFirst = false;
      parser.feed(text);
    }
  } catch {
    return 'broken';
  } finally {
    clearInterval(timer);
    signal.removeEventListener('abort', abort);
    controller.abort();
  }
}

/** Whether a refusal may end by itself: the server is busy, starting, or behind a proxy that does not reach it. */
const isPassing = (status: number): boolean => status === 429 || status === 408 || status >= 500;

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
