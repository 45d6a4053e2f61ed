import type { Alarm, Clocks, Machine, Random } from '../../../src/base/clock.js';
import { START } from '../server/server.js';
import type { VirtualClock } from '../virtual-clock.js';
import type { World } from '../world.js';
import type { Process } from './process.js';

/** The machine of a process: its clocks go by virtual time, each from where it happens to stand, and may stand still. */
export class SimulatedMachine implements Machine {
  readonly random: Random;
  readonly #time: VirtualClock;
  readonly #process: Process;
  readonly #offset: number;
  readonly #skew: number;
  /** How long each clock has stood still, ms. */
  readonly #stood: Record<keyof Clocks, number> = { clock: 0, monotonic: 0, uptime: 0 };
  #nonces = 0;

  constructor(world: World, process: Process) {
    this.#time = world.clock;
    this.#process = process;
    const random = world.streams(process.name);
    this.random = random.next;
    [this.#offset, this.#skew] = [random.integer(0, 1_000_000), random.integer(-2_000, 2_000)];
  }

  readonly clock = (): number => START + this.#time.now + this.#skew - this.#stood.clock;
  readonly monotonic = (): number => this.#offset + this.#time.now - this.#stood.monotonic;
  readonly uptime = (): number => 2 * this.#offset + this.#time.now - this.#stood.uptime;

  /** Timers run by the monotonic clock, so they stop with it. */
  readonly alarm: Alarm = (ms, ring) => {
    const at = this.monotonic() + ms;
    const ringOrWait = (): undefined => {
      if (this.monotonic() < at) cancel = schedule(at - this.monotonic());
      else ring();
      return undefined;
    };
    const schedule = (inMs: number) => this.#time.schedule(inMs, ringOrWait, this.#process);
    let cancel = schedule(ms);
    return () => cancel();
  };

  readonly nonce = (): string => {
    this.#nonces += 1;
    return `${this.#process.name}-${this.#nonces}`;
  };

  /** These clocks stand still for so many ms more. */
  stand(ms: number, clocks: readonly (keyof Clocks)[]): void {
    for (const name of clocks) this.#stood[name] += ms;
  }
}
