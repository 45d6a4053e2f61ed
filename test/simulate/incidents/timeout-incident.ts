import { listUnknown, resolveBatches } from '../../../src/engine/sending/unknown.js';
import type { Process } from '../process/process.js';
import type { TimeoutPlan } from '../scenario/scenario.js';
import type { World } from '../world.js';

/** How often the operator tries to send the batch again, ms. */
const RESENT_MS = 1_500;

/**
 * While the request timeout is being changed, a process with the longer one is suspended as its request leaves. The request arrives
 * just before that timeout. An operator tries to send its batch again from the end of the shorter one on.
 */
export class TimeoutIncident {
  readonly #world: World;
  readonly #plan: TimeoutPlan;
  #isOver = false;

  constructor(world: World, plan: TimeoutPlan) {
    this.#world = world;
    this.#plan = plan;
  }

  /** Called when a send request leaves. Returns how long it takes to arrive, ms; undefined: chance decides. */
  sent(process: Process, lane: string): number | undefined {
    const { clock, jobs, trace } = this.#world;
    const { at, shortMs, longMs } = this.#plan;
    const isLong = process.config.requestTimeoutMs === longMs;
    if (this.#isOver || !isLong || this.#world.isCalm || clock.now < at || process.isStopped)
      return undefined;
    this.#isOver = true;
    this.#world.count('machines suspended with the longer timeout');
    trace.add('fault', `the machine of ${process.name} is suspended for ${longMs} ms`);
    process.stop(longMs, ['monotonic']);
    jobs.stalled(process);
    const until = clock.now + longMs;
    clock.schedule(shortMs, () => this.#resend(lane, until));
    return longMs - 1;
  }

  async #resend(lane: string, until: number): Promise<void> {
    const { clock } = this.#world;
    if (clock.now < until) clock.schedule(RESENT_MS, () => this.#resend(lane, until));
    await this.#world.direct(lane, async (of) => {
      const unknown = await listUnknown(of);
      if (unknown.length > 0) await resolveBatches(of, 'resend', 'the operator', unknown);
    });
  }
}
