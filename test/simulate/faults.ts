import type { Clocks } from '../../src/base/clock.js';
import type { Process } from './process/process.js';
import type { RandomStream } from './random.js';
import type { World } from './world.js';

/** Every process checks the clock of Redis this often. */
const CLOCK_CHECKED_MS = 2_000;

/** What can go wrong with the processes and the Redis of a world. Chance decides when ({@link Director}), or a script does. */
export class Faults {
  readonly #world: World;
  readonly #random: RandomStream;
  /** Until when the processes notice that the clock of Redis was set forward. */
  #noticedAt = 0;

  constructor(world: World) {
    this.#world = world;
    this.#random = world.streams('recovery from faults');
  }

  /** Whether a step of the clock is still being noticed, so that only a fault that leaves Redis alone may happen. */
  get isClockNew(): boolean {
    return this.#world.clock.now < this.#noticedAt;
  }

  /** Kills a process. Another one starts in its place after `restartMs`, or at once if none is left. */
  kill(process: Process, restartMs = this.#random.integer(100, 15_000)): void {
    const { clock, processes, jobs } = this.#world;
    this.#record('processes killed', process.name);
    process.kill();
    processes.splice(processes.indexOf(process), 1);
    jobs.stalled(process);
    const start = (): undefined => void this.#world.startProcess();
    if (processes.length === 0) start();
    else clock.schedule(restartMs, start);
  }

  /** Stops a process; these clocks of its machine stand still meanwhile. */
  stop(process: Process, ms: number, standing: readonly (keyof Clocks)[]): void {
    const what = standing.length > 0 ? 'machines suspended' : 'processes stopped';
    this.#record(what, `${process.name} for ${ms} ms; ${standing.join(', ')}`);
    process.stop(ms, standing);
    if (ms > 6_000) this.#world.jobs.stalled(process);
  }

  cut(process: Process, downMs: number): void {
    this.#record('connections cut', process.name);
    process.cut(downMs);
  }

  loseLocks(process: Process): void {
    this.#record('locks lost', process.name);
    this.#world.jobs.loseLocks((holder) => holder === process, 0);
  }

  /** The processes that would notice a step of the clock. */
  witnesses(): readonly Process[] {
    return this.#world.processes.filter((one) => one.isConnected && one.knowsClock);
  }

  /** Sets the clock of Redis. Each process that knows the clock looks at it `looksInMs` later, or not at all; default: chance decides. */
  setClock(
    byMs: number,
    looksInMs = (_process: Process): number | undefined => this.#random.integer(0, CLOCK_CHECKED_MS),
  ): void {
    const { clock, server } = this.#world;
    this.#record(`clock set ${byMs > 0 ? 'forward' : 'back'}`, `by ${Math.abs(byMs)} ms`);
    const witnesses = this.witnesses();
    server.setClock(byMs);
    for (const one of witnesses) {
      const inMs = looksInMs(one);
      if (inMs === undefined) continue;
      for (const round of [0, 1, 2])
        clock.schedule(inMs + round * CLOCK_CHECKED_MS, () => one.checkClock(), one);
    }
    // A step goes unnoticed if no process that knew the clock before can reach Redis in the next seconds.
    if (byMs > 0) this.#noticedAt = clock.now + CLOCK_CHECKED_MS;
  }

  /** Redis refuses to write for a while. */
  fill(ms: number): void {
    this.#record('redis full', `for ${ms} ms`);
    this.#world.fullUntil = this.#world.clock.now + ms;
  }

  /** Redis loses everything that it acknowledges from now on, when `ms` have passed. */
  forget(ms: number): Promise<void> {
    const { checker, clock, server } = this.#world;
    checker.redisSaved();
    clock.schedule(ms, () => this.loseData(ms));
    return server.save();
  }

  /** Redis loses everything since it last saved its data, and another server takes over. */
  async loseData(lostMs: number): Promise<void> {
    const { server, checker, jobs, processes, results } = this.#world;
    this.#record('redis data losses', `the last ${lostMs} ms`);
    // A platform may have read what is lost now.
    if (this.#random.chance(0.5)) await results.read();
    checker.redisLostData();
    server.run += 1;
    for (const process of processes) process.cut(this.#random.integer(1, 1_500));
    jobs.loseSome();
    await server.loseUnsaved();
  }

  /** All slots move to another server, which loses nothing and breaks no connection. */
  moveSlots(): void {
    this.#record('slots moved', 'to another server');
    this.#world.server.run += 1;
  }

  #record(what: string, more: string): void {
    this.#world.count(what);
    this.#world.trace.add('fault', `${what}: ${more}`);
  }
}
