import { z } from 'zod';
import { listUnknown, resolveBatches } from '../../../src/engine/sending/unknown.js';
import type { Process } from '../process/process.js';
import type { SuspensionPlan } from '../scenario/scenario.js';
import type { Reply } from '../server/server.js';
import { commandCampaign } from '../users/operator.js';
import type { World } from '../world.js';

const claimShape = z.object({ campaign: z.string() });

/**
 * A machine is suspended after a claim of its process has run and before the process reads the reply. Meanwhile an operator pauses
 * the campaign of the claim, or sends it again when its outcome is unknown.
 */
export class SuspensionIncident {
  readonly #world: World;
  readonly #plan: SuspensionPlan;
  #isOver = false;

  constructor(world: World, plan: SuspensionPlan) {
    this.#world = world;
    this.#plan = plan;
  }

  /** Called when the server has run a command, before its reply arrives. */
  ran(process: Process, name: string, reply: Reply): void {
    const { clock, jobs, trace } = this.#world;
    const { at, forMs, standing, commandAfterMs, command } = this.#plan;
    if (this.#isOver || this.#world.isCalm || name !== 'claim-send' || clock.now < at || 'error' in reply)
      return;
    const [, , , , claim] = z.array(z.unknown()).parse(reply.value).map(String);
    if (claim === undefined || process.isStopped) return;
    this.#isOver = true;
    const { campaign } = claimShape.parse(JSON.parse(claim));
    this.#world.count('machines suspended with a claim');
    trace.add('fault', `the machine of ${process.name} is suspended for ${forMs} ms`);
    process.stop(forMs, standing);
    if (forMs > 6_000) jobs.stalled(process);
    clock.schedule(commandAfterMs, () => {
      trace.add('operator', `${command} ${campaign}`);
      return command === 'pause' ? this.#pause(campaign) : this.#resend(campaign);
    });
  }

  async #pause(campaign: string): Promise<void> {
    await commandCampaign(this.#world, 'pause', campaign);
  }

  async #resend(campaign: string): Promise<void> {
    const { lane } = this.#world.campaign(campaign);
    await this.#world.direct(lane, async (of) => {
      const unknown = (await listUnknown(of)).filter((batch) => batch.campaign === campaign);
      if (unknown.length > 0) await resolveBatches(of, 'resend', 'the operator', unknown);
    });
  }
}
