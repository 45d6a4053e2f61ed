import { Cluster, Redis as SingleRedis } from 'ioredis';
import { ProtocolCluster } from './protocol-cluster.js';

/** A connection to one server (found directly or through Sentinel) or to a cluster. */
export type Redis = SingleRedis | Cluster;

/**
 * How a connection behaves when it breaks while commands are under way.
 * - `protocol`: rejects what was sent and not answered, so that a script never runs twice behind its caller's
 *   back, and what is asked while the server cannot be reached; whoever must have an answer asks again.
 * - `blocking`: what BullMQ's workers need: commands wait for as long as the server is away.
 */
export type ConnectionKind = 'protocol' | 'blocking';

const RECONNECT_AFTER_MS = (attempt: number): number => Math.min(50 * 2 ** Math.min(attempt, 5), 1000);

/**
 * Connects to `redis://` or `rediss://` (one server), `redis+sentinel://host:26379,host:26379/master-name` (also
 * `rediss+sentinel:`), or `redis+cluster://host:7000,host:7001` (also `rediss+cluster:`). User, password and,
 * outside a cluster, `/database` or `?db=` are taken from the URL; Sentinels are asked without a password. A `protocol`
 * connection connects on the first command, a `blocking` one at once. Certificates are checked against those that Node
 * trusts (`NODE_EXTRA_CA_CERTS` adds to them).
 */
export function connect(url: string, kind: ConnectionKind = 'protocol'): Redis {
  const { scheme, tls, nodes, username, password, path, db } = parseRedisUrl(url);
  // One that has not begun to connect, BullMQ connects itself: once, and a server that is away or goes in that moment
  // ends its worker, and with it the process. One that is connecting it waits for.
  const connectsAtOnce = kind === 'blocking';
  const common = {
    lazyConnect: !connectsAtOnce,
    enableReadyCheck: true,
    connectTimeout: 5_000,
    retryStrategy: RECONNECT_AFTER_MS,
    // With 0 everything that waits is rejected whenever the connection closes. With null, and nothing resent, ioredis
    // would drop what was on the wire without a word.
    ...(kind === 'blocking'
      ? { maxRetriesPerRequest: null }
      : { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false }),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls: {} } : {}),
  };
  switch (scheme) {
    case 'single': {
      const [node] = nodes;
      return quiet(new SingleRedis({ ...common, ...node, db: db ?? Number(path || 0) }));
    }
    case 'sentinel':
      return quiet(
        new SingleRedis({
          ...common,
          sentinels: nodes,
          name: path || 'mymaster',
          db: db ?? 0,
          // A master that Sentinel has replaced, and that cannot be told so, would go on answering us.
          failoverDetector: true,
          ...(tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
        }),
      );
    case 'cluster': {
      const options = {
        lazyConnect: !connectsAtOnce,
        clusterRetryStrategy: RECONNECT_AFTER_MS,
        redisOptions: common,
      };
      return quiet(kind === 'blocking' ? new Cluster(nodes, options) : new ProtocolCluster(nodes, options));
    }
  }
}

/** ioredis prints errors that nobody listens to; the callers of each command hear of them anyway. */
function quiet<Connection extends Redis>(connection: Connection): Connection {
  connection.on('error', () => {});
  return connection;
}

interface RedisAddress {
  scheme: 'single' | 'sentinel' | 'cluster';
  tls: boolean;
  nodes: { host: string; port: number }[];
  username: string | undefined;
  password: string | undefined;
  path: string;
  db: number | undefined;
}

const REDIS_URL =
  /^(?<protocol>rediss?)(?:\+(?<kind>sentinel|cluster))?:\/\/(?:(?<user>[^:@/]*)(?::(?<password>[^@/]*))?@)?(?<hosts>[^/?]+)(?:\/(?<path>[^?]*))?(?:\?db=(?<db>\d+))?$/;

/** Reads a Redis URL. Throws a `TypeError` that says which forms there are; it never repeats the password. */
export function parseRedisUrl(url: string): RedisAddress {
  const groups = REDIS_URL.exec(url)?.groups;
  const [protocol, kind, hosts] = [groups?.['protocol'], groups?.['kind'], groups?.['hosts']];
  if (protocol === undefined || hosts === undefined) {
    throw new TypeError(
      'not a Redis URL: use redis://host:6379, rediss://user:password@host:6379/0, redis+sentinel://host:26379,host:26379/master-name or redis+cluster://host:7000,host:7001',
    );
  }
  const decode = (text: string | undefined): string | undefined =>
    text === undefined || text === '' ? undefined : decodeURIComponent(text);
  return {
    scheme: kind === 'sentinel' || kind === 'cluster' ? kind : 'single',
    tls: protocol === 'rediss',
    nodes: hosts.split(',').map((host) => {
      const [, name = host, port] = /^(.*?)(?::(\d+))?$/.exec(host) ?? [];
      return { host: name, port: Number(port ?? (kind === 'sentinel' ? 26379 : 6379)) };
    }),
    username: decode(groups?.['user']),
    password: decode(groups?.['password']),
    path: groups?.['path'] ?? '',
    db: groups?.['db'] === undefined ? undefined : Number(groups['db']),
  };
}
