import { listUnknown, resolveBatches } from '../../../src/engine/sending/unknown.js';
import type { Faults } from '../faults.js';
import type { Process } from '../process/process.js';
import type { RollbackPlan } from '../scenario/scenario.js';
import type { World } from '../world.js';

/** How often the operator looks for outcomes to resolve, ms. */
const RESOLVED_MS = 3_000;

/**
 * Two servers take over, one after the other, from one that lost its last writes, so they assign the same claim numbers. The owner of
 * a claim that the first one made is suspended. The second one gives the number to another process, for the same batch, after an
 * operator has sent it again. Then the first owner reports that its own request never left.
 */
export class RollbackIncident {
  readonly #world: World;
  readonly #plan: RollbackPlan;
  readonly #faults: Faults;
  #losses = 0;
  #attempts = 0;
  #owner: Process | undefined;
  #isSentAgain = false;

  constructor(world: World, plan: RollbackPlan, faults: Faults) {
    this.#world = world;
    this.#plan = plan;
    this.#faults = faults;
    const { clock, server, checker } = world;
    clock.schedule(plan.at, () => {
      checker.redisSaved();
      return server.save();
    });
    clock.schedule(plan.at + plan.loseAfterMs, () => this.#lose());
  }

  /** What happens to a request that is about to leave. Undefined: chance decides. */
  fateOf(process: Process): 'refused' | 'silence' | undefined {
    const { clock } = this.#world;
    const { at, againAfterMs, forMs } = this.#plan;
    this.#attempts += 1;
    if (this.#losses === 1 && this.#attempts <= 2 && clock.now < at + againAfterMs) {
      // The batch is claimed a second time on this server, as it will be on the next one.
      if (this.#attempts === 2) this.#suspend(process, forMs);
      return 'refused';
    }
    if (this.#owner === undefined || process === this.#owner || this.#losses < 2) return undefined;
    if (!this.#isSentAgain) this.#world.count('batches resent while their first owner was suspended');
    this.#isSentAgain = true;
    return 'silence';
  }

  #suspend(process: Process, forMs: number): void {
    const { clock, jobs, trace } = this.#world;
    trace.add('fault', `the machine of ${process.name} is suspended for ${forMs} ms`);
    this.#owner = process;
    process.stop(forMs, ['monotonic']);
    jobs.stalled(process);
    clock.schedule(this.#plan.at + this.#plan.againAfterMs - clock.now, () => this.#lose());
    clock.schedule(forMs, () => {
      this.#owner = undefined;
      return undefined;
    });
    clock.schedule(RESOLVED_MS, () => this.#resend());
  }

  #lose(): Promise<void> {
    this.#losses += 1;
    this.#attempts = 0;
    return this.#faults.loseData(this.#world.clock.now - this.#plan.at);
  }

  /** Sends the batch again as soon as its outcome is unknown. */
  async #resend(): Promise<void> {
    const { clock, scenario, trace } = this.#world;
    if (this.#owner === undefined || this.#isSentAgain) return;
    clock.schedule(RESOLVED_MS, () => this.#resend());
    const [{ settings }] = scenario.lanes as readonly [(typeof scenario.lanes)[number]];
    await this.#world.direct(settings.name, async (lane) => {
      const unknown = await listUnknown(lane);
      if (unknown.length === 0) return;
      trace.add('operator', 'resends what is unknown');
      await resolveBatches(lane, 'resend', 'the operator', unknown);
    });
  }
}
