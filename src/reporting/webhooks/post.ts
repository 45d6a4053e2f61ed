import type { AgentOptions } from 'node:https';
import { LRUCache } from 'lru-cache';
import type { Exchange } from '../../service/client/exchange.js';
import type { Transport } from '../../service/client/got-transport.js';
import { onlyPublicAddresses } from '../../service/client/public-addresses.js';
import { createTransport } from '../../service/client/transport.js';

/** How long an endpoint has for its response. */
export const RESPONSE_WITHIN_MS = 20_000;

const HEADERS = { 'user-agent': 'volley', 'content-type': 'application/json', 'accept-encoding': 'identity' };
/** Nothing of a response is used but its status. */
const MAX_RESPONSE_BYTES = 64_000;
/** Endpoints whose connections are kept. */
const MAX_ORIGINS = 1_000;

interface PosterOptions {
  /** Addresses and networks that are reached although they are not public. */
  readonly allowed: readonly string[];
  /** Default: 20 s. */
  readonly timeoutMs?: number | undefined;
  /** Resolves names; default: as the system does. */
  readonly lookup?: AgentOptions['lookup'] | undefined;
}

/** Posts events to endpoints. */
export interface Poster {
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal?: AbortSignal | undefined,
  ): Promise<Exchange>;
  close(): void;
}

/**
 * Opens a poster. It follows no redirects, uses no proxy, and checks each address when it connects, so a name that leads to a private
 * address is not reached, however it resolved before.
 */
export function openPoster({ allowed, timeoutMs = RESPONSE_WITHIN_MS, lookup }: PosterOptions): Poster {
  const agents = onlyPublicAddresses(allowed, () => ({ proxy: undefined, ca: undefined, timeoutMs }));
  const transports = new LRUCache<string, Transport>({
    max: MAX_ORIGINS,
    dispose: (transport) => transport.close(),
  });
  const transportOf = (origin: string): Transport => {
    const known = transports.get(origin);
    if (known !== undefined) return known;
    const made = createTransport({
      baseUrl: origin,
      timeoutMs,
      headers: HEADERS,
      maxBodyBytes: MAX_RESPONSE_BYTES,
      agents: (url, pooling) => agents(url, lookup === undefined ? pooling : { ...pooling, lookup }),
    });
    transports.set(origin, made);
    return made;
  };
  return {
    post(url, headers, body, signal) {
      const { origin, pathname, search } = new URL(url);
      return transportOf(origin).exchange({ method: 'POST', path: pathname + search, headers, body, signal });
    },
    close: () => transports.clear(),
  };
}
