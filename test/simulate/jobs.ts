import type { Stage, Wakers } from '../../src/engine/jobs/wake.js';
import type { Process } from './process/process.js';
import type { RandomStream } from './random.js';
import type { World } from './world.js';

interface Job {
  readonly stage: Stage;
  readonly lane: string;
  /** When it is due, ms of virtual time. */
  at: number;
  /** The process that holds its lock while it is being served. */
  holder: Process | undefined;
  /** Changes whenever the job changes hands. */
  token: number;
  /** Whether the lane was woken while the job was being served. */
  isWoken: boolean;
}

const ALREADY_SERVED_MS = 1_000;
const FAILED_TURN_MS = 1_000;
const STALLED_MS = [6_000, 11_000] as const;

/** The part of the world that jobs use. */
export type JobsWorld = Pick<World, 'clock' | 'streams' | 'processes' | 'trace' | 'broken'>;

/**
 * A model of BullMQ as Volley uses it: one job per lane and stage, served by one process at a time unless a lock is lost.
 * `jobs.property.test.ts` compares it with the real BullMQ.
 */
export class Jobs implements Wakers {
  readonly #world: JobsWorld;
  readonly #random: RandomStream;
  readonly #jobs = new Map<string, Job>();
  #token = 0;

  constructor(world: JobsWorld) {
    this.#world = world;
    this.#random = world.streams('jobs');
  }

  get size(): number {
    return this.#jobs.size;
  }

  /** The time until a waiting job is due, ms; undefined if no such job is waiting. */
  dueIn(stage: Stage, lane: string): number | undefined {
    const job = this.#jobs.get(`${stage} ${lane}`);
    return job?.holder === undefined && job !== undefined ? job.at - this.#world.clock.now : undefined;
  }

  async wake(stage: Stage, lane: string, inMs: number): Promise<void> {
    const name = `${stage} ${lane}`;
    const { now } = this.#world.clock;
    const known = this.#jobs.get(name);
    if (known === undefined) {
      const job = { stage, lane, at: 0, holder: undefined, token: 0, isWoken: false };
      this.#jobs.set(name, job);
      this.#delay(job, inMs);
    } else if (known.holder !== undefined) {
      known.isWoken = true;
    } else if (known.at > now + inMs + 100) {
      this.#delay(known, inMs);
    }
  }

  async close(): Promise<void> {}

  /** Takes jobs away from their holders after `noticedInMs`. The old turn may go on beside the next one for a while. */
  loseLocks(which: (holder: Process) => boolean, noticedInMs: number): void {
    const { clock } = this.#world;
    for (const job of this.#jobs.values()) {
      const { holder, token } = job;
      if (holder === undefined || !which(holder)) continue;
      clock.schedule(noticedInMs, () => {
        if (job.token !== token) return undefined;
        const control = holder.serving.get(`${job.stage} ${job.lane}`);
        // The holder notices when it next renews the lock, which it does every three seconds.
        clock.schedule(this.#random.integer(0, 3_000), () => void control?.abort(), holder);
        this.#delay(job, 0);
        return undefined;
      });
    }
  }

  /** BullMQ takes a few seconds to find that the process behind a job is gone. */
  stalled(process: Process): void {
    this.loseLocks((holder) => holder === process, this.#random.integer(...STALLED_MS));
  }

  /** Redis has lost data: half of the waiting jobs are gone with it. */
  loseSome(): void {
    for (const [name, job] of this.#jobs) {
      if (job.holder === undefined && this.#random.chance(0.5)) {
        job.token = -1;
        this.#jobs.delete(name);
      }
    }
  }

  #delay(job: Job, inMs: number): void {
    const { clock } = this.#world;
    this.#token += 1;
    const token = this.#token;
    job.holder = undefined;
    job.token = token;
    job.at = clock.now + inMs;
    clock.schedule(inMs, () => {
      if (job.token === token && job.holder === undefined) this.#serve(job);
      return undefined;
    });
  }

  #serve(job: Job): void {
    const name = `${job.stage} ${job.lane}`;
    const able = this.#world.processes.filter((process) => !process.isDead && !process.isStopped);
    if (able.length === 0) {
      this.#delay(job, 500);
      return;
    }
    const process = this.#random.pick(able);
    if (process.serving.has(name)) {
      this.#delay(job, ALREADY_SERVED_MS);
      return;
    }
    const control = new AbortController();
    process.serving.set(name, control);
    job.holder = process;
    const { token } = job;
    const again = (inMs: number): void => {
      // A process that has lost its lock cannot change the job.
      if (job.token === token) this.#delay(job, inMs);
    };
    this.#world.trace.add(process.name, `starts a turn of ${name}`);
    process.serve(job.stage, job.lane, control.signal).then(
      (end) => {
        process.serving.delete(name);
        this.#world.trace.add(
          process.name,
          `ends the turn of ${name}: ${end.why}, ${end.kind === 'later' ? `again in ${end.inMs} ms` : 'idle'}`,
        );
        if (job.token !== token) return;
        if (end.kind === 'later') {
          again(end.inMs);
        } else {
          job.token = -1;
          this.#jobs.delete(name);
        }
        if (job.isWoken) process.lookAgain(job.lane);
        job.isWoken = false;
      },
      (error: unknown) => {
        process.serving.delete(name);
        if (!control.signal.aborted) this.#world.broken(`${process.name}: turn of ${name}`, error);
        again(control.signal.aborted ? 0 : FAILED_TURN_MS);
      },
    );
  }
}
