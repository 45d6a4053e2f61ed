import { type Command, Redis } from 'ioredis';

/** What a connection hands its commands to. */
export interface Line {
  carry(command: Command): void;
}

/**
 * A connection of ioredis's own that has no socket: commands are made and replies are read as ever, and what lies between is
 * the world's. Whoever holds it cannot tell.
 */
export class SimulatedConnection extends Redis {
  readonly #line: Line;

  constructor(line: Line) {
    super({ lazyConnect: true, maxRetriesPerRequest: 0 });
    this.#line = line;
  }

  override sendCommand(command: Command): unknown {
    // Arguments are made texts on the way, as they are for a real server.
    this.#line.carry(command);
    return command.promise;
  }
}
