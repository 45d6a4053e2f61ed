import { pause } from '../../base/clock.js';
import { type Config, type LaneSettings, serviceConnection } from '../../base/config/index.js';
import type { TokenSource } from '../../engine/jobs/token-source.js';
import type { Lane } from '../../engine/lane/lane.js';
import { refuseSinglePermit, type SinglePermit, takeSinglePermit } from '../../engine/lane/single-permit.js';
import type { TokenCache } from '../../service/auth/token-cache.js';
import { type Bearer, bearerHeaders, bearerSecrets } from '../../service/client/bearer.js';
import type { Reply } from '../../service/client/exchange.js';
import { retryAfterMs } from '../../service/client/read-response.js';
import { failureReason, messageIn } from '../../service/client/reason.js';
import { createTransport } from '../../service/client/transport.js';

/**
 * Whose credentials a request carries: those of the lane, none, or an unknown key. Another bearer tries which headers the service
 * accepts.
 */
export type Identity = 'lane' | 'keyless' | 'unknownKey' | Bearer;

/** The path of the subscription. */
export const SUBSCRIPTIONS = '/outbound/subscriptions';

/** How long a request waits for a permit in all, such as after a restart of Redis. */
const MAX_WAIT_MS = 10_000;

/** One request of a test. */
export interface TestRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Follows the base URL. */
  readonly path: string;
  readonly as: Identity;
  readonly body?: string;
  /** What the service counts it as; undefined: the interface page does not say that it counts. */
  readonly counts?: 'send' | 'poll' | undefined;
  /** Sent even after an interrupt, because it removes what the test has made. */
  readonly cleansUp?: boolean;
}

/** Asks for the subscription of the lane. */
export const GET_SUBSCRIPTION: TestRequest = { method: 'GET', path: SUBSCRIPTIONS, as: 'lane' };

/** Asks for the delivery infos of a request. `segment`: the sender, encoded. */
export function poll(segment: string, requestId: string): TestRequest {
  const path = `/outbound/${segment}/requests/${encodeURIComponent(requestId)}/deliveryInfos`;
  return { method: 'GET', path, as: 'lane', counts: 'poll' };
}

/** How a request ended. */
export type Arrived =
  | { readonly kind: 'reply'; readonly reply: Reply; readonly secrets: readonly string[] }
  /** There was no response. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** It was not sent. */
  | { readonly kind: 'notSent'; readonly reason: string };

/** The requests of one lane to the service under test. */
export interface Session {
  readonly lane: Lane;
  readonly settings: LaneSettings;
  readonly baseUrl: string;
  /** Of its account; null if it has none. */
  readonly tokens: TokenCache | null;
  /** Puts at most one request on the wire, or two if the first is answered 401 and there is a newer token. Rejects only while Redis is away. */
  request(request: TestRequest): Promise<Arrived>;
  close(): void;
}

interface SessionOptions {
  readonly config: Config;
  readonly lane: Lane;
  readonly settings: LaneSettings;
  readonly tokenSource: TokenSource;
  readonly tokens: TokenCache | null;
  readonly baseUrl: string;
  /** An API key that no service knows. */
  readonly unknownKey: string;
  readonly signal: AbortSignal | undefined;
}

/** Opens the requests of a lane. Nothing is sent before the first one. */
export function openSession(options: SessionOptions): Session {
  const { config, lane, settings, tokenSource, tokens, baseUrl, unknownKey, signal } = options;
  const transport = createTransport(serviceConnection(config, baseUrl));

  const headersOf = (as: Exclude<Identity, 'lane'>): Record<string, string> => {
    if (as === 'keyless') return {};
    return as === 'unknownKey' ? bearerHeaders({ authorization: unknownKey }) : bearerHeaders(as);
  };
  const permitSoon = async (kind: Parameters<typeof takeSinglePermit>[1]): Promise<SinglePermit> => {
    for (let waitedMs = 0; ; ) {
      const taken = await takeSinglePermit(lane, kind);
      if (taken.kind === 'granted' || taken.inMs === null) return taken;
      const waitMs = taken.inMs + 1;
      if (waitedMs + waitMs > MAX_WAIT_MS) return taken;
      await pause(lane.alarm, waitMs, signal).catch(() => {});
      if (signal?.aborted) return taken;
      waitedMs += waitMs;
    }
  };
  const once = async (request: TestRequest, as: Exclude<Identity, 'lane'>): Promise<Arrived> => {
    const { method, path, body, counts, cleansUp = false } = request;
    if (signal?.aborted && !cleansUp) return { kind: 'notSent', reason: 'the test was interrupted' };
    const taken = await permitSoon(counts ?? 'other');
    if (taken.kind === 'denied') return { kind: 'notSent', reason: taken.reason };
    const exchange = await transport.exchange({
      method,
      path,
      headers: headersOf(as),
      ...(body !== undefined && { body }),
      isLate: taken.permit.isExpired,
    });
    if (exchange.kind === 'failure')
      return { kind: 'failed', reason: `no response: ${failureReason(exchange)}` };
    const secrets = typeof as === 'string' ? [unknownKey] : bearerSecrets(as);
    if (exchange.status === 429 && counts !== undefined && typeof as !== 'string') {
      const wait = retryAfterMs(exchange.headers['retry-after'], lane.clock());
      const reason = messageIn(exchange.body, secrets);
      // If Redis is away, the lane learns it from its next request.
      await refuseSinglePermit(lane, counts, { retryAfterMs: wait, reason }).catch(() => {});
    }
    return { kind: 'reply', reply: exchange, secrets };
  };

  return {
    lane,
    settings,
    baseUrl,
    tokens,
    async request(request) {
      if (request.as !== 'lane') return once(request, request.as);
      const token = await tokenSource.get();
      if (token.kind !== 'token') return { kind: 'notSent', reason: token.reason };
      const arrived = await once(request, token.bearer);
      if (arrived.kind !== 'reply' || arrived.reply.status !== 401) return arrived;
      const newer = await tokenSource.newerThan(token.generation);
      const isNewer = newer.kind === 'token' && newer.generation !== token.generation;
      return isNewer ? once(request, newer.bearer) : arrived;
    },
    close: () => transport.close(),
  };
}
