import { listUnknown, resolveBatches } from '../../src/engine/sending/unknown.js';
import type { LaneState } from './lane-state.js';
import type { Process } from './process.js';
import type { CampaignPlan } from './scenario.js';
import { Violation } from './violation.js';
import type { World } from './world.js';

/** Every process checks the clock of Redis this often. */
const CLOCK_CHECKED_MS = 2_000;

/** Messages of an outbox that have ended are forgotten this often. */
const FORGET_EVERY_MS = 3_600_000;

/** Every campaign must end within this virtual time after the last fault. */
const CALM_MS = 14 * 24 * 3_600_000;

/** Drives a world from outside: imports campaigns, injects faults, issues operators' commands, and finally calms down. */
export class Director {
  readonly #world: World;
  #notImported: number;
  #hasEnded = false;
  /** Until when the processes notice that the clock of Redis was set forward. */
  #noticedAt = 0;

  constructor(world: World) {
    this.#world = world;
    this.#notImported = world.scenario.campaigns.length;
  }

  begin(): void {
    const { clock, random, scenario } = this.#world;
    for (const plan of scenario.campaigns) clock.schedule(plan.committedAt, () => this.#commit(plan));
    clock.schedule(random.integer(500, 2_000), () => this.#sweep(2_000));
    const { readerRandom, results } = this.#world;
    for (let reads = readerRandom.integer(1, 6); reads > 0; reads -= 1)
      clock.schedule(readerRandom.integer(1, 2 * scenario.chaosMs), () => results.read());
    const rounds = scenario.faults.size === 0 ? 0 : random.integer(2, 8);
    for (let round = 0; round < rounds; round += 1) {
      clock.schedule(random.integer(1, scenario.chaosMs), () => this.#fault());
    }
    const commands = random.chance(0.5) ? random.integer(1, 4) : 0;
    for (let command = 0; command < commands; command += 1) {
      clock.schedule(random.integer(1, scenario.chaosMs), () => this.#operate());
    }
    for (const at of scenario.movesAt) clock.schedule(at, () => this.#moveSlots());
    clock.schedule(scenario.chaosMs, () => this.#calm());
  }

  #moveSlots(): undefined {
    this.#recordFault('slots moved', 'to another server');
    this.#world.server.run += 1;
    return undefined;
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
    if (this.#hasEnded) return undefined;
    const { clock, random, processes } = this.#world;
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
    const { random, scenario, clock, server, checker, jobs } = this.#world;
    const kinds = [...scenario.faults].filter((fault) => fault !== 'service' && fault !== 'slow');
    if (kinds.length === 0 || this.#world.isCalm) return undefined;
    const process = random.pick(this.#world.processes);
    const fault = random.pick(kinds);
    if (clock.now < this.#noticedAt && fault !== 'lock') return undefined;
    switch (fault) {
      case 'kill':
        return void this.#kill(process);
      case 'stop': {
        const ms = random.weighted([
          [3, random.integer(100, 3_000)],
          [3, random.integer(3_000, 20_000)],
          [1, random.integer(20_000, 90_000)],
        ]);
        const { standing } = scenario;
        const what = standing.length > 0 ? 'machines suspended' : 'processes stopped';
        this.#recordFault(what, `${process.name} for ${ms} ms; ${standing.join(', ')}`);
        process.stop(ms, standing);
        if (ms > 6_000) jobs.stalled(process);
        return undefined;
      }
      case 'cut':
        this.#recordFault('connections cut', process.name);
        return void process.cut(random.chance(0.7) ? random.integer(1, 50) : random.integer(50, 4_000));
      case 'lock':
        this.#recordFault('locks lost', process.name);
        return void jobs.loseLocks((holder) => holder === process, 0);
      case 'clock': {
        const back = random.pick([random.integer(100, 20_000), Math.max(1_000, server.skew)]);
        // Steps of less than 5 s are not noticed. Nor are those while no process runs that knew the clock before, or while Redis is full,
        // so that none can report it.
        const witnesses = this.#world.processes.filter((one) => one.isConnected && one.knowsClock);
        // A longer step also ends the lifetimes of keys that remember requests without an id until the follow-up deadline.
        const most =
          scenario.config.callback === undefined ? 7_200_000 : scenario.config.followUpDeadlineMs / 4;
        const isReported = witnesses.length > 0 && this.#world.fullUntil <= clock.now;
        const ms = random.chance(0.5) && isReported ? random.integer(5_500, most) : -back;
        this.#recordFault(`clock set ${ms > 0 ? 'forward' : 'back'}`, `by ${Math.abs(ms)} ms`);
        server.setClock(ms);
        for (const one of witnesses) {
          const inMs = random.integer(0, CLOCK_CHECKED_MS);
          for (const round of [0, 1, 2])
            clock.schedule(inMs + round * CLOCK_CHECKED_MS, () => one.checkClock(), one);
        }
        // A step goes unnoticed if no process that knew the clock before can reach Redis in the next seconds.
        if (ms > 0) this.#noticedAt = clock.now + CLOCK_CHECKED_MS;
        return undefined;
      }
      case 'full': {
        const ms = random.integer(10, 4_000);
        this.#recordFault('redis full', `for ${ms} ms`);
        this.#world.fullUntil = clock.now + ms;
        return undefined;
      }
      case 'forget': {
        // Redis will lose everything that it acknowledges during this time.
        const ms = random.integer(1, Math.max(1, scenario.lossMs - 50));
        checker.redisSaved();
        clock.schedule(ms, async () => {
          await this.loseData(ms);
          if (random.chance(0.25)) this.#kill(random.pick(this.#world.processes));
        });
        return server.save();
      }
      default:
        return fault satisfies never;
    }
  }

  #kill(process: Process): void {
    const { clock, random, processes, jobs } = this.#world;
    this.#recordFault('processes killed', process.name);
    process.kill();
    processes.splice(processes.indexOf(process), 1);
    jobs.stalled(process);
    const start = (): undefined => void this.#world.startProcess();
    if (processes.length === 0) start();
    else clock.schedule(random.integer(100, 15_000), start);
  }

  /** Redis loses everything since it last saved its data, and another server takes over. */
  async loseData(lostMs: number): Promise<void> {
    const { random, server, checker, jobs, processes } = this.#world;
    this.#recordFault('redis data losses', `the last ${lostMs} ms`);
    // A platform may have read what is lost now.
    if (this.#world.readerRandom.chance(0.5)) await this.#world.results.read();
    checker.redisLostData();
    server.run += 1;
    for (const process of processes) process.cut(random.integer(1, 1_500));
    jobs.loseSome();
    await server.loseUnsaved();
  }

  #recordFault(what: string, more: string): void {
    this.#world.count(what);
    this.#world.trace.add('fault', `${what}: ${more}`);
  }

  /** An operator issues a random command, whatever the state of the lane. */
  async #operate(): Promise<void> {
    const { random, scenario, trace } = this.#world;
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
        await this.#world.direct(lane, ({ commands }) => commands.campaign(command, id));
        return;
      case 'hold':
        await this.#world.direct(lane, ({ commands }) => commands.lane('hold', 'held'));
        return;
      case 'reopen':
        await this.#world.direct(lane, ({ commands }) => commands.lane('resume'));
        return;
      case 'resolve':
        return this.#resolve(lane);
      case 'revoke':
        return this.#world.accountsOf(lane).revoke();
      default:
        return command satisfies never;
    }
  }

  async #resolve(lane: string): Promise<void> {
    const { random } = this.#world;
    const as = random.pick(['resend', 'abandon', 'accepted'] as const);
    await this.#world.direct(lane, async (of) => {
      const unknown = await listUnknown(of);
      if (unknown.length > 0) await resolveBatches(of, as, 'the operator', unknown);
    });
  }

  #calm(): undefined {
    const world = this.#world;
    world.isCalm = true;
    world.trace.add('calm', 'the faults have ended');
    for (const { settings, isBlocked } of world.scenario.lanes) {
      world.serviceOf(settings.name).calm();
      world.accountsOf(settings.name).calm();
      if (!isBlocked) world.serviceOf(settings.name).isSilent = false;
    }
    world.clock.schedule(1_000, () => this.#operateUntilEnded(2_000, world.clock.now + CALM_MS));
    return undefined;
  }

  /** An operator repeatedly fixes what only an operator can fix, until every campaign has ended. */
  async #operateUntilEnded(everyMs: number, until: number): Promise<void> {
    const world = this.#world;
    const { clock, scenario } = world;
    if (clock.now > until)
      throw new Violation(
        this.#isOneBlocked() ? 9 : 0,
        `not ended after ${CALM_MS} ms without faults: ${this.#summary()}`,
      );
    await world.producer?.finish();
    const isEnded = ({ settings }: (typeof scenario.lanes)[number]): boolean =>
      hasEnded(world.checker.lane(settings.name)) && this.#hasOutboxEnded(settings.name);
    if (this.#notImported === 0 && scenario.lanes.every(isEnded)) {
      // Wait for jobs that are delayed until the next permit: they find nothing left to do and end.
      clock.schedule(scenario.config.quotaWindowMs + 60_000, () => this.#end());
      return;
    }
    if (this.#notImported === 0 && scenario.lanes.every((plan) => plan.isBlocked || isEnded(plan))) {
      for (const { settings } of scenario.lanes) world.serviceOf(settings.name).isSilent = false;
    }
    for (const { settings } of scenario.lanes) await this.#fix(settings.name);
    const next = Math.min(everyMs * 1.6, 3_600_000);
    clock.schedule(next, () => this.#operateUntilEnded(next, until));
  }

  #hasOutboxEnded(lane: string): boolean {
    const { checker, outbox } = this.#world;
    const state = checker.lane(lane);
    return outbox?.plan.lane !== lane || (state !== undefined && outbox.hasEnded(state));
  }

  async #fix(lane: string): Promise<void> {
    const { checker, random, trace } = this.#world;
    const state = checker.lane(lane);
    if (state === undefined) return;
    const log = (what: string): void => trace.add('operator', `${what} in ${lane}`);
    if (state.stopped !== '' || state.held !== '') {
      log(`resumes the lane (${state.stopped}${state.held})`);
      if (state.stopped !== '') {
        this.#world.accountsOf(lane).correctPassword();
        random.pick(this.#world.processes).logInAgain(lane);
      }
      await this.#world.direct(lane, ({ commands }) => commands.lane('resume'));
    }
    let open = 0;
    for (const [id, { state: campaign }] of state.campaigns) {
      const { counts: n } = campaign;
      open += (n['planned'] ?? 0) + (n['sending'] ?? 0) + (n['deliveredToNetwork'] ?? 0);
      if (campaign.state !== 'paused') continue;
      log(`resumes or cancels ${id}`);
      const command = random.chance(0.8) ? 'resume' : 'cancel';
      await this.#world.direct(lane, ({ commands }) => commands.campaign(command, id));
    }
    if (open === 0 && state.unknown.size > 0) {
      log('resolves unknown outcomes');
      await this.#resolve(lane);
    }
  }

  /** Every campaign has ended: no job may remain, and after the retention no data either. */
  async #end(): Promise<void> {
    const world = this.#world;
    const { clock, random, scenario, checker, server } = world;
    for (const { settings } of scenario.lanes) await server.readLane(settings.name, 'end');
    await checker.ended();
    this.#hasEnded = true;
    const checkJobs = (): undefined => {
      if (world.jobs.size > 0) throw new Violation(10, `${world.jobs.size} jobs remain`);
    };
    // Most worlds end here, because waiting for the removal of the data takes as many commands as the rest.
    const skipsRetention = !random.chance(0.25);
    // A job of an outbox waits until what was cancelled is forgotten.
    const forgetMs = world.outbox === undefined ? 0 : scenario.config.retentionMs + FORGET_EVERY_MS;
    const followUpMs = scenario.notifications === undefined ? 0 : scenario.config.followUpDeadlineMs;
    const waitsMs = Math.max(forgetMs, followUpMs);
    if (world.jobs.size === 0 || waitsMs === 0) checkJobs();
    // The poll job of a request that notifications have settled ends only when that request's poll would have been due.
    else
      clock.schedule(waitsMs + server.clockRangeMs + (world.outbox === undefined ? 0 : 60_000), () => {
        checkJobs();
        world.isDone = skipsRetention;
        return undefined;
      });
    if (skipsRetention) {
      world.isDone = world.jobs.size === 0;
      return;
    }
    // What ended while the clock was set forward is kept longer.
    const keptMs = scenario.config.retentionMs + server.clockRangeMs + (forgetMs > 0 ? FORGET_EVERY_MS : 0);
    clock.schedule(keptMs, async () => {
      const [process] = world.processes;
      process?.sweep().catch((error: unknown) => world.broken('sweep', error));
      if (world.outbox !== undefined)
        process?.removeRemains().catch((error: unknown) => world.broken('removal', error));
    });
    clock.schedule(keptMs + 60_000, () => this.#checkRemoval());
  }

  async #checkRemoval(): Promise<void> {
    const world = this.#world;
    const { scenario, server, keys } = world;
    const kept = new Set([
      keys.due,
      keys.lanes,
      keys.suppression.list(null),
      keys.suppression.operations,
      keys.suppression.last,
      keys.losses,
      keys.removals,
      keys.outboxes,
      ...scenario.lanes.flatMap(({ settings }) =>
        [
          'lane',
          'window',
          'windows',
          'callback',
          'results',
          'latestResults',
          `outbox:${world.outbox?.plan.name}`,
        ].map((key) => keys.lane(settings.name, key)),
      ),
    ]);
    const left = (await server.remainingKeys()).filter((key) => !kept.has(key) && !key.includes(':token:'));
    if (left.length > 0) throw new Violation(10, `keys remain after the retention: ${left.join(' ')}`);
    world.isDone = true;
  }

  #isOneBlocked(): boolean {
    return this.#world.scenario.lanes.some(({ settings }) => this.#world.serviceOf(settings.name).isSilent);
  }

  #summary(): string {
    return this.#world.scenario.lanes
      .map(({ settings }) => {
        const campaigns = this.#world.checker.lane(settings.name)?.campaigns ?? new Map();
        return [...campaigns]
          .map(([id, { state }]) => `${id} ${state.state} ${JSON.stringify(state.counts)}`)
          .join('; ');
      })
      .join('; ');
  }
}

function hasEnded(state: LaneState | undefined): boolean {
  return (
    state === undefined ||
    (state.held === '' &&
      state.stopped === '' &&
      [...state.campaigns.values()].every(({ state: { endedAt } }) => endedAt > 0))
  );
}
