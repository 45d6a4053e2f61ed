import type { Exchange } from './exchange.js';

/** One HTTP request, ready to be written. Header names in lower case; `body` already serialised. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Nothing is written after this moment of `performance.now()`, nor after the timeout. */
  readonly latest?: number;
}

/** Puts each request on the wire at most once and says how it ended; `exchange` never throws. */
export interface Transport {
  exchange(request: HttpRequest): Promise<Exchange>;
  /** Closes the idle connections; those of requests under way follow within seconds of their end. */
  close(): void;
}

/** How long a request may take, and how many at a time. */
export interface TransportSettings {
  /** From the start of a request to the last byte of its reply, in milliseconds. */
  readonly timeoutMs: number;
  /** Connections at a time; more requests than that wait for one. */
  readonly maxSockets: number;
}

let gotTransport: ((settings: TransportSettings) => Transport) | undefined;

/**
 * A transport by got (see `got-transport.ts`). got takes a tenth of a second to load, and most commands and callers of
 * the library send no request, so it loads when the first transport is made.
 */
export function createTransport(settings: TransportSettings): Transport {
  if (gotTransport !== undefined) return gotTransport(settings);
  const opening = import('./got-transport.js').then((loaded) => {
    gotTransport = loaded.gotTransport;
    return loaded.gotTransport(settings);
  });
  let opened: Transport | undefined;
  return {
    async exchange(request) {
      if (opened !== undefined) return opened.exchange(request);
      // Loading counts as part of the request's time.
      const { latest = Number.POSITIVE_INFINITY } = request;
      const until = Math.min(latest, performance.now() + settings.timeoutMs);
      opened = await opening;
      return opened.exchange({ ...request, latest: until });
    },
    close: () => opened?.close(),
  };
}
