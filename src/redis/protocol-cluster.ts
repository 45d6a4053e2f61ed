import { Cluster, type Command } from 'ioredis';

type SendCommand = Cluster['sendCommand'];

/**
 * A cluster that keeps to what a protocol's connection promises. As ioredis has it, a command that was on the wire when a
 * node's connection broke is sent again by itself, and what is asked while no node can be reached waits for ever. Here
 * the first is rejected at once, and the second as soon as an attempt to connect has failed; neither is sent later.
 * What a node has certainly not run (moved, asked elsewhere, cluster down) is still sent where it belongs.
 */
export class ProtocolCluster extends Cluster {
  readonly #waiting = new Set<Command>();

  constructor(...args: ConstructorParameters<typeof Cluster<'legacy'>>) {
    super(...args);
    this.options.retryDelayOnFailover = 0;
    this.on('close', () => {
      for (const command of this.#waiting) command.reject(new Error('no node of the cluster can be reached'));
      this.#waiting.clear();
    });
  }

  override sendCommand(...[command, stream, node]: Parameters<SendCommand>): ReturnType<SendCommand> {
    // It waited and was rejected; ioredis still has it in its queue.
    if (command.isSettled) return command.promise;
    if (this.status !== 'ready') {
      this.#waiting.add(command);
      const settled = (): boolean => this.#waiting.delete(command);
      command.promise.then(settled, settled);
    }
    return super.sendCommand(command, stream, node);
  }
}
