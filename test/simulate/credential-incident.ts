import type { Command } from 'ioredis';
import type { LaneState } from './lane-state.js';
import type { Process } from './process.js';
import type { RefusalPlan } from './scenario.js';
import { nameOf } from './server.js';
import type { World } from './world.js';

/**
 * The service refuses a lane's key or account; an operator who hears of it at once mends that and opens the lane, while
 * answers to what was sent before are still out.
 */
export class CredentialIncident {
  readonly #world: World;
  readonly #plan: RefusalPlan;
  #rounds: number;
  #wasStopped = false;
  #isOpening = false;

  constructor(world: World, plan: RefusalPlan) {
    this.#world = world;
    this.#plan = plan;
    this.#rounds = plan.rounds;
    world.clock.schedule(plan.at, () => this.#refuse());
  }

  /** Whether a lane that is being opened is one that nothing keeps from going on. */
  isOpening(lane: string): boolean {
    return this.#isOpening && lane === this.#plan.lane;
  }

  observed(lane: string, { stopped }: LaneState): void {
    if (lane !== this.#plan.lane) return;
    const isNews = stopped !== '' && !this.#wasStopped;
    this.#wasStopped = stopped !== '';
    if (!isNews) return;
    const { clock, random, scenario } = this.#world;
    clock.schedule(random.integer(1, 2 * scenario.latencyMs), () => {
      // Some only try again.
      return random.chance(0.2) ? this.#resume(false) : this.#mend();
    });
  }

  /** How long a command is on its way, ms: one that stops the lane comes when it has been opened. */
  holdsUp(process: Process, command: Command): number {
    const { random, processes, scenario, scripts } = this.#world;
    if (nameOf(command, scripts) !== 'command-lane' || this.#world.isCalm || random.chance(0.3)) return 0;
    const other = processes.find((one) => one !== process && !one.isStopped);
    if (other === undefined) return 0;
    this.#logIn(other);
    return 2 * scenario.latencyMs + random.integer(100, 3_000);
  }

  #refuse(): undefined {
    if (this.#world.isCalm || this.#rounds === 0) return undefined;
    this.#rounds -= 1;
    const { lane, status } = this.#plan;
    this.#world.count('keys refused');
    this.#world.trace.add('fault', `the service refuses ${lane}`);
    if (this.#hasAccount) this.#world.accountsOf(lane).block();
    else this.#world.serviceOf(lane).refuses = status;
    return undefined;
  }

  #mend(): Promise<void> | undefined {
    const { random, processes } = this.#world;
    if (!this.#hasAccount) {
      this.#world.serviceOf(this.#plan.lane).refuses = undefined;
      return this.#resume(true);
    }
    const able = processes.filter((process) => !process.isStopped);
    if (able.length > 0) this.#logIn(random.pick(able));
    return undefined;
  }

  #logIn(process: Process): void {
    const { lane } = this.#plan;
    this.#world.accountsOf(lane).again();
    process.logInAgain(lane, () => this.#world.clock.schedule(1, () => this.#resume(true)));
  }

  async #resume(isMended: boolean): Promise<void> {
    const { clock, random, scenario, trace } = this.#world;
    const { lane } = this.#plan;
    trace.add('operator', `${isMended ? 'has mended' : 'only opens'} ${lane}`);
    this.#isOpening = isMended;
    await this.#world.direct(lane, ({ commands }) => commands.lane('resume'));
    this.#isOpening = false;
    if (isMended) clock.schedule(random.integer(1, 6 * scenario.latencyMs), () => this.#refuse());
  }

  get #hasAccount(): boolean {
    return this.#world.planOf(this.#plan.lane).settings.credentials.kind === 'account';
  }
}
