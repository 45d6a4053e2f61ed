import type { Process } from '../process/process.js';
import type { RandomStream } from '../random.js';
import type { RefusalPlan } from '../scenario/scenario.js';
import type { LaneState } from '../server/lane-state.js';
import type { World } from '../world.js';

/**
 * The service starts to refuse a lane's API key or account. An operator notices at once, fixes it, and resumes the lane
 * while responses to earlier requests are still on their way.
 */
export class CredentialIncident {
  readonly #world: World;
  readonly #plan: RefusalPlan;
  readonly #random: RandomStream;
  #rounds: number;
  #wasStopped = false;
  #isResuming = false;

  constructor(world: World, plan: RefusalPlan) {
    this.#world = world;
    this.#random = world.streams('refused credentials');
    this.#plan = plan;
    this.#rounds = plan.rounds;
    world.clock.schedule(plan.at, () => this.#refuse());
  }

  /** Whether the operator is resuming this lane after the credentials were fixed. */
  isResuming(lane: string): boolean {
    return this.#isResuming && lane === this.#plan.lane;
  }

  observed(lane: string, { stopped }: LaneState): void {
    if (lane !== this.#plan.lane) return;
    const isNews = stopped !== '' && !this.#wasStopped;
    this.#wasStopped = stopped !== '';
    if (!isNews) return;
    const { clock, scenario } = this.#world;
    const random = this.#random;
    clock.schedule(random.integer(1, 2 * scenario.latencyMs), () => {
      // Some operators resume the lane without fixing anything.
      return random.chance(0.2) ? this.#resume(false) : this.#fix();
    });
  }

  /** How much later a command reaches Redis, ms: a command that stops the lane arrives after the lane was resumed. */
  delayOf(process: Process, command: string): number {
    const { processes, scenario } = this.#world;
    const random = this.#random;
    if (command !== 'command-lane' || this.#world.isCalm || random.chance(0.3)) return 0;
    const other = processes.find((one) => one !== process && !one.isStopped);
    if (other === undefined) return 0;
    this.#logIn(other);
    return 2 * scenario.latencyMs + random.integer(100, 3_000);
  }

  #refuse(): undefined {
    if (this.#world.isCalm || this.#rounds === 0) return undefined;
    this.#rounds -= 1;
    const { lane, status } = this.#plan;
    this.#world.count('credentials refused');
    this.#world.trace.add('fault', `the service refuses ${lane}`);
    if (this.#hasAccount) this.#world.accountsOf(lane).block();
    else this.#world.serviceOf(lane).refusalStatus = status;
    return undefined;
  }

  #fix(): Promise<void> | undefined {
    const { processes } = this.#world;
    if (!this.#hasAccount) {
      this.#world.serviceOf(this.#plan.lane).refusalStatus = undefined;
      return this.#resume(true);
    }
    const able = processes.filter((process) => !process.isStopped);
    if (able.length > 0) this.#logIn(this.#random.pick(able));
    return undefined;
  }

  #logIn(process: Process): void {
    const { lane } = this.#plan;
    this.#world.accountsOf(lane).correctPassword();
    process.logInAgain(lane, () => this.#world.clock.schedule(1, () => this.#resume(true)));
  }

  async #resume(isFixed: boolean): Promise<void> {
    const { clock, scenario, trace } = this.#world;
    const { lane } = this.#plan;
    trace.add('operator', `${isFixed ? 'resumes the fixed' : 'resumes without a fix'} ${lane}`);
    this.#isResuming = isFixed;
    await this.#world.direct(lane, ({ commands }) => commands.lane('resume'));
    this.#isResuming = false;
    if (isFixed) clock.schedule(this.#random.integer(1, 6 * scenario.latencyMs), () => this.#refuse());
  }

  get #hasAccount(): boolean {
    return this.#world.planOf(this.#plan.lane).settings.credentials.kind === 'account';
  }
}
