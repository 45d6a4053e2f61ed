import { type Command, Redis } from 'ioredis';

/** Receives the commands of a simulated connection. */
export interface Transport {
  carry(command: Command): void;
}

/** An ioredis client without a socket: it hands commands to a transport, which resolves or rejects them later. */
export class SimulatedConnection extends Redis {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    super({ lazyConnect: true, maxRetriesPerRequest: 0 });
    this.#transport = transport;
  }

  override sendCommand(command: Command): unknown {
    // The simulated server converts the arguments to strings, as a socket connection would.
    this.#transport.carry(command);
    return command.promise;
  }
}
