import { Cluster, type ClusterNode, type Command, type Redis } from 'ioredis';
import { endSilent } from './silence.js';

type Options = NonNullable<ConstructorParameters<typeof Cluster<'legacy'>>[1]>;

/** How long after an attempt that ioredis gave up the next one begins. */
const CONNECT_AGAIN_AFTER_MS = 100;

/**
 * A cluster client whose attempts to connect end. ioredis forgets an attempt that reaches a node while the cluster is down, as it
 * is while a node restarts: the promise of `connect()` stays pending, although the client connects later. BullMQ's workers wait for
 * that promise before they take another job, and would wait for ever. Here it is rejected as soon as the attempt has failed.
 *
 * ioredis also gives up connecting if the last of the old connections ends while the name of a node is being looked up. Here another
 * attempt follows.
 */
export class ReconnectingCluster extends Cluster {
  /** `silentForMs`: how long a command may wait for a node, ms. */
  constructor(nodes: readonly ClusterNode[], silentForMs: number, options: Options) {
    super([...nodes], options);
    this.on('+node', (node: Redis) => endSilent(node, silentForMs));
    // BullMQ gives its blocking commands a duplicate. An override would have to repeat the types of ioredis's options.
    const duplicate = (_nodes?: unknown, own: Options = {}): ReconnectingCluster =>
      new ReconnectingCluster(nodes, silentForMs, {
        ...options,
        ...own,
        redisOptions: { ...options.redisOptions, ...own.redisOptions },
      });
    Reflect.set(this, 'duplicate', duplicate);
  }

  override connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      const failed = (): void => reject(new Error('no node of the cluster is ready'));
      this.once('close', failed);
      super
        .connect()
        .finally(() => this.off('close', failed))
        .then(resolve, (error: unknown) => {
          reject(error);
          // A client that connects again by itself has left this status by now.
          if (this.status === 'close') setTimeout(() => this.#connectAgain(), CONNECT_AGAIN_AFTER_MS);
        });
    });
  }

  #connectAgain(): void {
    if (this.status === 'close') this.connect().catch(() => {});
  }
}

type SendCommand = Cluster['sendCommand'];

/**
 * A cluster that behaves as a `protocol` connection. By default ioredis resends a command that was in flight when a node's
 * connection broke, and lets commands wait for ever while no node can be reached. This class rejects the former at once and the
 * latter as soon as an attempt to connect fails; neither is sent later. Commands that a node has certainly not run (MOVED, ASK,
 * CLUSTERDOWN) are still sent to the right node.
 */
export class ProtocolCluster extends ReconnectingCluster {
  readonly #waiting = new Set<Command>();

  constructor(nodes: readonly ClusterNode[], silentForMs: number, options: Options) {
    super(nodes, silentForMs, { ...options, retryDelayOnFailover: 0 });
    this.on('close', () => {
      for (const command of this.#waiting) command.reject(new Error('no node of the cluster can be reached'));
      this.#waiting.clear();
    });
  }

  override sendCommand(...[command, stream, node]: Parameters<SendCommand>): ReturnType<SendCommand> {
    // The command was rejected while it waited, but ioredis still has it in its queue.
    if (command.isSettled) return command.promise;
    if (this.status !== 'ready') {
      this.#waiting.add(command);
      const settled = (): boolean => this.#waiting.delete(command);
      command.promise.then(settled, settled);
    }
    return super.sendCommand(command, stream, node);
  }
}
