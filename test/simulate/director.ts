import type { Faults } from './faults.js';
import type { CampaignPlan } from './scenario/scenario.js';
import { changeCampaign, commandCampaign, RESOLUTIONS, resolveUnknown } from './users/operator.js';
import type { World } from './world.js';

/** Lets a world begin: imports its campaigns, and lets chance decide on sweeps, faults, and the commands of operators. */
export class Director {
  readonly #world: World;
  readonly #faults: Faults;
  #notImported: number;

  constructor(world: World, faults: Faults) {
    this.#world = world;
    this.#faults = faults;
    this.#notImported = world.scenario.campaigns.length;
  }

  /** Whether every campaign has been imported. */
  get hasImported(): boolean {
    return this.#notImported === 0;
  }

  begin(): void {
    const { clock, scenario, results, streams } = this.#world;
    const { chaosMs } = scenario;
    for (const plan of scenario.campaigns) clock.schedule(plan.committedAt, () => this.#commit(plan));
    clock.schedule(streams('sweeper').integer(500, 2_000), () => this.#sweep(2_000));
    const reader = streams('reader');
    for (let reads = reader.integer(1, 6); reads > 0; reads -= 1)
      clock.schedule(reader.integer(1, 2 * chaosMs), () => results.read());
    const faults = streams('faults');
    for (let rounds = scenario.faults.size === 0 ? 0 : faults.integer(2, 8); rounds > 0; rounds -= 1)
      clock.schedule(faults.integer(1, chaosMs), () => this.#fault());
    const operator = streams('operator');
    for (let commands = operator.chance(0.5) ? operator.integer(1, 4) : 0; commands > 0; commands -= 1)
      clock.schedule(operator.integer(1, chaosMs), () => this.#operate());
    // In a stream of its own.
    const changing = streams('operator: changes');
    const { campaigns } = scenario;
    for (let changes = changing.chance(0.15) ? changing.integer(1, 3) : 0; changes > 0; changes -= 1) {
      const [plan, at] = [changing.pick(campaigns), changing.integer(1, chaosMs)];
      clock.schedule(at, () => this.#change(plan));
    }
    for (const at of scenario.movesAt) clock.schedule(at, () => void this.#faults.moveSlots());
  }

  /** An operator gives a campaign another text. */
  async #change({ id, committedAt, window, zones }: CampaignPlan): Promise<void> {
    if (this.#world.isCalm || committedAt >= this.#world.clock.now) return;
    // The openings of a window are drawn, so that its rule cannot be read; and with parts, the text stays once something is claimed.
    if (window !== undefined || zones !== undefined) return;
    await changeCampaign(this.#world, id);
  }

  async #commit(plan: CampaignPlan): Promise<void> {
    const { jobs } = this.#world;
    await this.#world.commit(plan);
    this.#notImported -= 1;
    await this.#world.direct(plan.lane, async () => jobs.wake('send', plan.lane, plan.startsInMs));
  }

  /**
   * Lets a random running process sweep from time to time. Once calm, the interval grows, up to half an hour; less with an outbox, whose
   * turns look every second whether a message in flight has been released.
   */
  #sweep(everyMs: number): undefined {
    if (this.#world.hasEnded) return undefined;
    const { clock, processes, streams } = this.#world;
    const random = streams('sweeper');
    const running = processes.filter((process) => !process.isStopped);
    if (running.length > 0) {
      const process = random.pick(running);
      process.sweep().catch((error: unknown) => this.#world.broken(`${process.name}: sweep`, error));
    }
    const { isCalm, outbox, checker } = this.#world;
    const inFlight = outbox === undefined ? 0 : (checker.lane(outbox.plan.lane)?.claims.size ?? 0);
    const next =
      isCalm && inFlight === 0 ? Math.min(everyMs * 4, outbox === undefined ? 1_800_000 : 600_000) : 3_000;
    clock.schedule(random.integer(next, 3 * next), () => this.#sweep(next));
    return undefined;
  }

  #fault(): Promise<void> | undefined {
    const { scenario, server, streams } = this.#world;
    const faults = this.#faults;
    const random = streams('faults');
    const kinds = [...scenario.faults].filter((fault) => fault !== 'service' && fault !== 'slow');
    if (kinds.length === 0 || this.#world.isCalm) return undefined;
    const process = random.pick(this.#world.processes);
    const fault = random.pick(kinds);
    if (faults.isClockNew && fault !== 'lock') return undefined;
    switch (fault) {
      case 'kill':
        return void faults.kill(process);
      case 'stop': {
        const ms = random.weighted([
          [3, random.integer(100, 3_000)],
          [3, random.integer(3_000, 20_000)],
          [1, random.integer(20_000, 90_000)],
        ]);
        return void faults.stop(process, ms, scenario.standing);
      }
      case 'cut':
        return void faults.cut(
          process,
          random.chance(0.7) ? random.integer(1, 50) : random.integer(50, 4_000),
        );
      case 'lock':
        return void faults.loseLocks(process);
      case 'clock': {
        const back = random.pick([random.integer(100, 20_000), Math.max(1_000, server.skew)]);
        // Steps of less than 5 s are not noticed. A longer step also ends the lifetimes of keys that remember requests without an id
        // until the follow-up deadline.
        const most =
          scenario.config.callback === undefined ? 7_200_000 : scenario.config.followUpDeadlineMs / 4;
        const isForward = random.chance(0.5) && faults.witnesses().length > 0;
        return void faults.setClock(isForward ? random.integer(5_500, most) : -back);
      }
      case 'full':
        return void faults.fill(random.integer(10, 4_000));
      case 'forget': {
        const ms = random.integer(1, Math.max(1, scenario.lossMs - 50));
        const saved = faults.forget(ms);
        if (random.chance(0.25))
          this.#world.clock.schedule(ms, () => void faults.kill(random.pick(this.#world.processes)));
        return saved;
      }
      default:
        return fault satisfies never;
    }
  }

  /** An operator issues a random command, whatever the state of the lane. */
  async #operate(): Promise<void> {
    const { scenario, trace, streams } = this.#world;
    const random = streams('operator');
    const { id, lane } = random.pick(scenario.campaigns);
    const command = random.weighted([
      [4, 'pause'],
      [3, 'resume'],
      [1, 'cancel'],
      [1, 'hold'],
      [2, 'reopen'],
      [3, 'resolve'],
      [1, 'revoke'],
    ] as const);
    trace.add('operator', `${command} ${id} of ${lane}`);
    switch (command) {
      case 'pause':
      case 'resume':
      case 'cancel':
        return commandCampaign(this.#world, command, id);
      case 'hold':
        await this.#world.direct(lane, ({ commands }) => commands.lane('hold', 'held'));
        return;
      case 'reopen':
        await this.#world.direct(lane, ({ commands }) => commands.lane('resume'));
        return;
      case 'resolve':
        return resolveUnknown(this.#world, lane, random.pick(RESOLUTIONS));
      case 'revoke':
        return this.#world.accountsOf(lane).revoke();
      default:
        return command satisfies never;
    }
  }
}
