import { setImmediate } from 'node:timers';
import {
  Cluster,
  type RedisOptions,
  type SentinelConnectionOptions,
  SentinelConnector,
  Redis as SingleRedis,
} from 'ioredis';
import { ProtocolCluster, ReconnectingCluster } from './cluster-connection.js';
import { parseRedisUrl } from './redis-url.js';
import { endSilent } from './silence.js';

/** A connection to one server (found directly or through Sentinel) or to a cluster. */
export type Redis = SingleRedis | Cluster;

/**
 * How a connection behaves when it breaks while commands are in flight.
 * - `protocol`: rejects commands that were sent and not answered, so that a script never runs twice without its caller's
 *   knowledge, and commands issued while the server cannot be reached. Callers that need an answer retry.
 * - `blocking`: what BullMQ's workers need: commands wait while the server is down.
 */
type ConnectionKind = 'protocol' | 'blocking';

/**
 * A path that silently drops packets leaves a connection open and unanswered for a quarter of an hour. Therefore a connection on
 * which a command has waited this long without any reply is closed and opened again. BullMQ blocks for up to 10 s. A server that is
 * busy, such as one that starts to save its data, may take seconds to reply.
 */
const SILENT_FOR_MS = { protocol: 10_000, blocking: 14_000 } satisfies Record<ConnectionKind, number>;
/** An idle connection waits for no reply, so it is pinged. */
const PING_EVERY_MS = 3_000;

/** How long a server may take to accept a connection, and then to say anything on it. */
const CONNECT_WITHIN_MS = 5_000;

const RECONNECT_AFTER_MS = (attempt: number): number => Math.min(50 * 2 ** Math.min(attempt, 5), 1000);

/**
 * Connects to `redis://` or `rediss://` (one server), `redis+sentinel://host:26379,host:26379/master-name` (also
 * `rediss+sentinel:`), or `redis+cluster://host:7000,host:7001` (also `rediss+cluster:`). The URL may contain a user, a password,
 * and, outside a cluster, `/database` or `?db=`; Sentinels are used without a password. A `protocol` connection connects on the
 * first command, a `blocking` one immediately. Certificates are verified against those that Node trusts (`NODE_EXTRA_CA_CERTS`
 * adds to them). Throws a `TypeError` if the URL is not valid.
 */
export function connect(url: string, kind: ConnectionKind = 'protocol'): Redis {
  const { scheme, tls, nodes, username, password, path, db } = parseRedisUrl(url);
  // BullMQ connects an unconnected connection itself, with a single attempt; if that fails, its worker and the process end. If
  // the connection is already connecting, BullMQ waits for it.
  const connectsAtOnce = kind === 'blocking';
  const common = {
    lazyConnect: !connectsAtOnce,
    enableReadyCheck: true,
    connectTimeout: CONNECT_WITHIN_MS,
    retryStrategy: RECONNECT_AFTER_MS,
    // With 0, ioredis rejects all waiting commands whenever the connection closes. With null and no resending, it would silently
    // drop the commands in flight.
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
      return checked(new BatchingRedis({ ...common, ...node, db: db ?? Number(path || 0) }), kind);
    }
    case 'sentinel':
      return checked(
        new BatchingRedis({
          ...common,
          Connector: QuietSentinelConnector,
          sentinels: nodes,
          sentinelCommandTimeout: common.connectTimeout,
          name: path || 'mymaster',
          db: db ?? 0,
          // Without it, a replaced master that Sentinel cannot reach would keep answering this connection.
          failoverDetector: true,
          ...(tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
        }),
        kind,
      );
    case 'cluster': {
      const options = {
        lazyConnect: !connectsAtOnce,
        clusterRetryStrategy: RECONNECT_AFTER_MS,
        redisOptions: common,
      };
      return checked(
        new (kind === 'blocking' ? ReconnectingCluster : ProtocolCluster)(
          nodes,
          SILENT_FOR_MS[kind],
          options,
        ),
        kind,
      );
    }
  }
}

/** Sockets that are written to at the end of the turn. */
const corked = new WeakSet<SingleRedis['stream']>();

/** How long after an attempt that ioredis gave up the next one begins. */
const CONNECT_AGAIN_AFTER_MS = 100;

/**
 * A connection that writes the commands of one turn of the event loop together. Written one by one, each would take a system call of its
 * own, and Redis would often run, and write to its disk, the first of them before it has read the others.
 *
 * It also connects again where ioredis gives up: if Sentinel announces a new master while the connection is being opened, ioredis ends
 * it for good, and every later command would fail.
 */
class BatchingRedis extends SingleRedis {
  #isClosed = false;

  /** BullMQ makes the connection on which it blocks with this. */
  override duplicate<Changes extends Partial<RedisOptions> | undefined = undefined>(changes?: Changes) {
    const made = super.duplicate(changes);
    giveUpSilent(made);
    endSilent(made, SILENT_FOR_MS.blocking);
    return made;
  }

  /** Opens the connection again soon, unless its owner has closed it. Returns whether it does. */
  reopen(): boolean {
    if (this.#isClosed) return false;
    setTimeout(() => {
      if (!this.#isClosed && this.status === 'end') this.connect().catch(() => {});
    }, CONNECT_AGAIN_AFTER_MS);
    return true;
  }

  override disconnect(reconnect = false): void {
    if (!reconnect) this.#isClosed = true;
    super.disconnect(reconnect);
  }

  override sendCommand(...[command, stream]: Parameters<SingleRedis['sendCommand']>): unknown {
    if (command.name === 'quit') this.#isClosed = true;
    const socket = this.stream;
    // While the connection is being opened there is no socket yet.
    if (socket !== undefined && !corked.has(socket)) {
      corked.add(socket);
      socket.cork();
      setImmediate(() => {
        corked.delete(socket);
        socket.uncork();
      });
    }
    return super.sendCommand(command, stream);
  }
}

/**
 * Gives up each new connection on which nothing arrives in time, as behind a load balancer whose server is gone, and connects again.
 * ioredis would wait as long as for the reply to a command.
 */
function giveUpSilent(connection: Pick<SingleRedis, 'on' | 'stream'>): void {
  connection.on('connect', () => {
    const { stream } = connection;
    const silent = new Error(`Redis accepted the connection and sent nothing for ${CONNECT_WITHIN_MS} ms.`);
    // A process that was busy reads what has arrived after its timers are called, and before its immediates.
    const giveUp = setTimeout(
      () => setImmediate(() => stream.bytesRead === 0 && stream.destroy(silent)),
      CONNECT_WITHIN_MS,
    ).unref();
    for (const event of ['data', 'close']) stream.once(event, () => clearTimeout(giveUp));
  });
}

/**
 * Whether commands run in the order in which they are sent, as on one server, but not on the nodes of a cluster. A script sent by its
 * hash may run later, because it is sent again to a server that does not know it.
 */
export const runsInOrder = (redis: Redis): boolean => !(redis instanceof Cluster);

/** The server's clock, in ms since the epoch. Processes on several machines use it because their own clocks differ. */
export async function serverTime(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

/** Pings a connection, or each node of a cluster, for as long as it is in use, and ends one that is silent. */
function checked<Connection extends Redis>(connection: Connection, kind: ConnectionKind): Connection {
  if (connection instanceof SingleRedis) {
    giveUpSilent(connection);
    endSilent(connection, SILENT_FOR_MS[kind]);
  }
  // ioredis prints errors that have no listener. The callers of each command receive them anyway.
  connection.on('error', () => {});
  const ping = setInterval(() => {
    const nodes = connection instanceof Cluster ? connection.nodes() : [connection];
    for (const node of nodes) if (node.status === 'ready') node.ping().catch(() => {});
  }, PING_EVERY_MS).unref();
  connection.on('end', () => {
    if (!(connection instanceof BatchingRedis && connection.reopen())) clearInterval(ping);
  });
  return connection;
}

/** ioredis prints errors that have no listener, and its connections to Sentinels have none: another Sentinel answers instead. */
class QuietSentinelConnector extends SentinelConnector {
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
    const connectToSentinel: unknown = Reflect.get(this, 'connectToSentinel');
    if (typeof connectToSentinel !== 'function') return;
    Reflect.set(this, 'connectToSentinel', (...args: unknown[]): unknown => {
      const sentinel: unknown = Reflect.apply(connectToSentinel, this, args);
      if (sentinel instanceof SingleRedis) sentinel.on('error', () => {});
      return sentinel;
    });
  }
}
