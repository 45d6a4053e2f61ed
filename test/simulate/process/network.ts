import type { Command } from 'ioredis';
import type { RandomStream } from '../random.js';
import { nameOf, type Reply } from '../server/server.js';
import type { World } from '../world.js';
import type { Transport } from './connection.js';
import type { Process } from './process.js';

/** A connection from when it is opened until it is cut. */
interface Link {
  isCut: boolean;
  /** Commands up to this one reach the server even if the connection is cut first. */
  reaches: number;
  carried: number;
  ranAt: number;
  repliedAt: number;
  readonly unanswered: Set<Command>;
}

/** Carries the commands of a process to Redis, in their order, and the replies back, with latency and cuts. */
export class Network implements Transport {
  readonly #world: World;
  readonly #process: Process;
  readonly #random: RandomStream;
  #link = newLink();
  #downUntil = 0;

  constructor(world: World, process: Process) {
    this.#world = world;
    this.#process = process;
    this.#random = world.streams(`network of ${process.name}`);
  }

  get isUp(): boolean {
    return this.#world.clock.now >= this.#downUntil;
  }

  carry(command: Command): void {
    const { clock, server, trace } = this.#world;
    const process = this.#process;
    if (process.isDead) return;
    if (!this.isUp) {
      clock.schedule(1, () => void command.reject(new Error('Connection is closed.')), process);
      return;
    }
    const link = this.#link;
    link.carried += 1;
    const place = link.carried;
    link.unanswered.add(command);
    const name = nameOf(command, this.#world.scripts);
    const { incident, stage, suspension } = this.#world;
    const delayMs = (incident?.delayOf(process, name) ?? 0) + (stage?.delayOf(process, name) ?? 0);
    link.ranAt = Math.max(link.ranAt, clock.now + this.#world.latency(this.#random) + delayMs);
    clock.schedule(link.ranAt - clock.now, async () => {
      if (place > link.reaches) return;
      const refusal = this.#world.outOfMemory(command);
      const reply: Reply = refusal === undefined ? await server.execute(command) : { error: refusal };
      if (trace.isWanted) trace.add('redis', `${process.name} ${name} ${shown(reply)}`);
      suspension?.ran(process, name, reply);
      stage?.ran(process, name);
      if (link.isCut || process.isDead) return;
      const answer = (): void => {
        if (link.unanswered.delete(command)) answerTo(command, reply);
      };
      link.repliedAt = Math.max(link.repliedAt, clock.now + this.#world.latency(this.#random));
      const isAtOnce = link.repliedAt === clock.now && !process.isStopped;
      if (isAtOnce) answer();
      else clock.schedule(link.repliedAt - clock.now, () => void answer(), process);
    });
  }

  /** Cuts the connection: replies are lost, whether or not the commands ran. It is back after `downMs`, when it calls `connected`. */
  cut(downMs: number, connected: () => void): void {
    const { clock } = this.#world;
    const { unanswered } = this.#link;
    this.sever();
    this.#downUntil = clock.now + downMs;
    const lost = [...unanswered];
    clock.schedule(
      0,
      () => {
        for (const command of lost) command.reject(new Error('Connection is closed.'));
        return undefined;
      },
      this.#process,
    );
    clock.schedule(
      downMs,
      () => {
        if (this.isUp) connected();
        return undefined;
      },
      this.#process,
    );
  }

  /** Breaks the connection for good: of the commands that are on their way, chance decides which still reach the server. */
  sever(): void {
    const link = this.#link;
    link.isCut = true;
    link.reaches = this.#random.integer(link.carried - link.unanswered.size, link.carried);
    this.#link = newLink();
  }
}

function newLink(): Link {
  return {
    isCut: false,
    reaches: Number.POSITIVE_INFINITY,
    carried: 0,
    ranAt: 0,
    repliedAt: 0,
    unanswered: new Set(),
  };
}

function answerTo(command: Command, reply: Reply): void {
  if ('error' in reply) command.reject(reply.error);
  else command.resolve(reply.value);
}

function shown(reply: Reply): string {
  if ('error' in reply) return reply.error.message;
  // The server lists a large hash in an order of its own, which differs between servers.
  if (Array.isArray(reply.value)) return JSON.stringify(reply.value.map(String).sort()).slice(0, 300);
  const text = JSON.stringify(reply.value, (_, value) =>
    value?.type === 'Buffer' ? Buffer.from(value.data).toString('latin1') : value,
  );
  return (text ?? '').slice(0, 300);
}
