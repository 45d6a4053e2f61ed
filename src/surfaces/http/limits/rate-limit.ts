import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LocalConfig } from '../../../base/config/index.js';
import type { ApiKey } from '../../../campaign/states/api-key.js';
import { onClose } from '../server/connections.js';
import { Problem } from '../server/problem.js';
import { TokenBucket } from './token-bucket.js';

/*
 * A request takes as many tokens as it costs; one that reads a page costs more (RouteCost). It takes one of them when it arrives, and the others
 * when it has been validated: one that is refused costs no more than any other.
 *
 * Each key has five buckets in each process, so that what it does most cannot starve the rest:
 *
 *   requests   every request that belongs to no other bucket
 *   control    pausing, resuming, cancelling, and resolving: they work while a program floods the API
 *   streams    starting event streams
 *   bytes      what requests and responses transfer, except event streams; only requests that transfer lists are refused for it
 *   rows       the rows of lists that requests have sent; only requests that send lists are refused for it
 */

declare module 'fastify' {
  interface FastifyRequest {
    /** The rows of the list that the request has sent so far. */
    rowsSent: number;
  }
}

/** The bucket that a route takes its token from; default: `requests`. */
export type RateLimit = 'requests' | 'control' | 'stream';

interface Buckets {
  readonly requests: TokenBucket;
  readonly control: TokenBucket;
  readonly stream: TokenBucket;
  readonly bytes: TokenBucket;
  readonly rows: TokenBucket;
  /** Connections with a request of this key in progress. */
  readonly sockets: Map<Socket, number>;
}

const NAMES = {
  requests: 'requests',
  control: 'requests that pause, resume, cancel, or resolve',
  stream: 'event streams',
} as const satisfies Record<RateLimit, string>;

/** Connections of a key with requests in progress: each takes memory and a file descriptor. */
const MAX_CONNECTIONS_PER_KEY = 500;

/** Rows of lists that a key may send in a minute: to check as many takes some 20 s of CPU time. */
const ROWS_PER_MINUTE = 3_000_000;

/** What a route costs: about a token for each 2 ms of CPU time. */
export type RouteCost =
  | { readonly tokens: number }
  /** A token for so many items of a page. */
  | { readonly itemsPerToken: number; readonly defaultLimit: number };

/** The tokens that a request takes. Its query may not have been validated. */
function costOf({ routeOptions, query }: FastifyRequest): number {
  const { cost } = routeOptions.config;
  if (cost === undefined) return 1;
  if ('tokens' in cost) return cost.tokens;
  const limit = Number(Object(query).limit ?? cost.defaultLimit);
  return Math.max(1, Math.ceil(limit / cost.itemsPerToken) || 1);
}

/** A key, and how many requests it may make a minute; null: as many as any other. */
type LimitedKey = Pick<ApiKey, 'id' | 'requestsPerMinute'>;

/** Limits the requests of each key, by what they cost, and its connections. Both functions throw a Problem, `tooManyRequests`. */
export function rateLimits(
  { requestsPerMinute, bytesPerMinute }: LocalConfig['http'],
  maxConnections = MAX_CONNECTIONS_PER_KEY,
) {
  const keys = new Map<string, Buckets>();
  const charged = new WeakMap<Socket, number>();

  const bucketsOf = ({ id: key, requestsPerMinute: own }: LimitedKey): Buckets => {
    const perMinute = own ?? requestsPerMinute;
    const known = keys.get(key);
    if (known?.requests.perMinute === perMinute) return known;
    /** After the limit has changed, what was spent stays spent. */
    const bucketLike = (before: TokenBucket | undefined): TokenBucket => {
      const bucket = new TokenBucket(perMinute);
      if (before !== undefined) bucket.spend(before.perMinute - before.left());
      return bucket;
    };
    const buckets = {
      requests: bucketLike(known?.requests),
      control: bucketLike(known?.control),
      stream: bucketLike(known?.stream),
      bytes: known?.bytes ?? new TokenBucket(bytesPerMinute),
      rows: known?.rows ?? new TokenBucket(ROWS_PER_MINUTE),
      sockets: known?.sockets ?? new Map<Socket, number>(),
    };
    keys.set(key, buckets);
    return buckets;
  };
  /** Charges what a connection has transferred since it was last charged. */
  const charge = ({ bytes }: Buckets, socket: Socket): void => {
    // A request that a program injects has no connection.
    const transferred = Number(socket.bytesRead ?? 0) + Number(socket.bytesWritten ?? 0);
    bytes.spend(transferred - (charged.get(socket) ?? 0));
    charged.set(socket, transferred);
  };
  const meter = (buckets: Buckets, request: FastifyRequest, reply: FastifyReply): void => {
    const { socket } = request.raw;
    const { sockets } = buckets;
    sockets.set(socket, (sockets.get(socket) ?? 0) + 1);
    onClose(request, reply, () => {
      charge(buckets, socket);
      buckets.rows.spend(request.rowsSent);
      const others = (sockets.get(socket) ?? 1) - 1;
      if (others > 0) sockets.set(socket, others);
      else sockets.delete(socket);
    });
  };

  /** Takes the first token for a request, or the others that it counts as. */
  const take = (buckets: Buckets, request: FastifyRequest, reply: FastifyReply, isFirst: boolean): void => {
    const { limit = 'requests' } = request.routeOptions.config;
    const bucket = buckets[limit];
    // A request that costs more than a minute's tokens waits for all of them.
    const all = Math.min(costOf(request), bucket.perMinute);
    const isAllowed = bucket.take(isFirst ? 1 : all - 1);
    // A request that is not allowed takes none.
    if (!isAllowed && !isFirst) bucket.spend(-1);
    reply.headers({
      'ratelimit-limit': String(bucket.perMinute),
      'ratelimit-remaining': String(Math.max(0, Math.floor(bucket.left()))),
      'ratelimit-reset': String(bucket.secondsUntil(bucket.perMinute)),
      'ratelimit-policy': `${bucket.perMinute};w=60, ${bytesPerMinute};w=60;unit="bytes"`,
    });
    if (isAllowed) return;
    const counts = all === 1 ? '' : ` This one counts as ${all}.`;
    const text = `The limit is ${bucket.perMinute} ${NAMES[limit]} a minute.${counts}`;
    throw exceeded(text, bucket.secondsUntil(all));
  };

  return {
    /** Admits a request before it is read. */
    admit(key: LimitedKey, request: FastifyRequest, reply: FastifyReply): void {
      const { limit, transfersList = false, list, acceptsLines = false } = request.routeOptions.config;
      const buckets = bucketsOf(key);
      take(buckets, request, reply, true);
      if (limit === 'stream') return;
      if (buckets.sockets.size >= maxConnections && !buckets.sockets.has(request.raw.socket)) {
        throw exceeded(`Requests of this key are in progress on ${maxConnections} connections.`, 1);
      }
      meter(buckets, request, reply);
      if ((list !== undefined || acceptsLines) && buckets.rows.left() <= 0) {
        const rows = ROWS_PER_MINUTE.toLocaleString('en');
        const what = `The limit is ${rows} rows of lists a minute, and this key has sent more.`;
        throw exceeded(what, buckets.rows.secondsUntil(1));
      }
      if (!transfersList) return;
      for (const socket of buckets.sockets.keys()) charge(buckets, socket);
      if (buckets.bytes.left() > 0) return;
      const megabytes = bytesPerMinute / 1_000_000;
      throw exceeded(
        `The limit is ${megabytes} MB a minute, and requests of this key have transferred more.`,
        buckets.bytes.secondsUntil(1),
      );
    },
    /** Charges what a request costs besides its first token, when it has been validated. */
    charge(key: LimitedKey, request: FastifyRequest, reply: FastifyReply): void {
      if (costOf(request) > 1) take(bucketsOf(key), request, reply, false);
    },
  };
}

/**
 * Limits what a key does at the same time. The returned function counts a request until its response is closed, and throws a Problem,
 * `tooManyRequests`, if there are `max` already. `what`: in the plural.
 */
export function concurrencyLimit(max: number, what: string) {
  const inProgress = new Map<string, number>();
  return (key: string, request: FastifyRequest, reply: FastifyReply): void => {
    const count = inProgress.get(key) ?? 0;
    if (count >= max) {
      const detail = `${max} ${what} of this key are in progress. Retry when one of them has finished.`;
      throw new Problem('tooManyRequests', detail, { headers: { 'retry-after': '1' } });
    }
    inProgress.set(key, count + 1);
    onClose(request, reply, () => {
      const left = (inProgress.get(key) ?? 0) - 1;
      if (left > 0) inProgress.set(key, left);
      else inProgress.delete(key);
    });
  };
}

/** The response to a request that exceeds a limit. */
export function exceeded(limit: string, seconds: number): Problem {
  const wait = Math.max(1, seconds);
  return new Problem('tooManyRequests', `${limit} Retry in ${wait} s.`, {
    headers: { 'retry-after': String(wait) },
  });
}
