import type { Director } from './director.js';
import { type LaneState, OUTBOX_ID } from './server/lane-state.js';
import { ENDPOINT } from './users/endpoint.js';
import { commandCampaign, RESOLUTIONS, resolveUnknown } from './users/operator.js';
import { Violation } from './violation.js';
import type { World } from './world.js';

/** Messages of an outbox that have ended are forgotten this often. */
const FORGET_EVERY_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Every campaign must end within this virtual time after the last fault. */
const CALM_MS = 14 * 24 * 3_600_000;

/** Lets a world calm down: ends the faults, waits until every campaign has ended, and checks that nothing is left behind. */
export class Ending {
  readonly #world: World;
  readonly #director: Director;

  constructor(world: World, director: Director) {
    this.#world = world;
    this.#director = director;
  }

  /** The faults have ended for good. */
  begin(): undefined {
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
    const { hasImported } = this.#director;
    if (clock.now > until)
      throw new Violation(
        this.#isOneBlocked() ? 9 : 0,
        `not ended after ${CALM_MS} ms without faults: ${this.#summary()}`,
      );
    await world.producer?.finish();
    const isEnded = ({ settings }: (typeof scenario.lanes)[number]): boolean =>
      hasEnded(world.checker.lane(settings.name)) && this.#hasOutboxEnded(settings.name);
    if (hasImported && this.#areOthersDone && scenario.lanes.every(isEnded)) {
      // Wait for jobs that are delayed until the next permit: they find nothing left to do and end. A request without a response
      // counts for up to an eighth of the window longer (engine/quota/ledger.lua).
      clock.schedule(1.125 * scenario.config.quotaWindowMs + 60_000, () =>
        // A loss of data that had begun may have undone the end of a campaign.
        scenario.lanes.every(isEnded) ? this.#end() : this.#operateUntilEnded(everyMs, until),
      );
      return;
    }
    if (hasImported && scenario.lanes.every((plan) => plan.isBlocked || isEnded(plan))) {
      for (const { settings } of scenario.lanes) world.serviceOf(settings.name).isSilent = false;
    }
    for (const { settings } of scenario.lanes) await this.#fix(settings.name);
    const next = Math.min(everyMs * 1.6, 3_600_000);
    clock.schedule(next, () => this.#operateUntilEnded(next, until));
  }

  get #areOthersDone(): boolean {
    const { replies, endpoint } = this.#world;
    return replies.areAnswered && endpoint?.isIdle !== false;
  }

  #hasOutboxEnded(lane: string): boolean {
    const { checker, outbox } = this.#world;
    const state = checker.lane(lane);
    return outbox?.plan.lane !== lane || (state !== undefined && outbox.hasEnded(state));
  }

  async #fix(lane: string): Promise<void> {
    const { checker, trace, streams } = this.#world;
    const random = streams('operator');
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
      if (campaign.state !== 'paused' || id === OUTBOX_ID) continue;
      log(`resumes or cancels ${id}`);
      const command = random.chance(0.8) ? 'resume' : 'cancel';
      await commandCampaign(this.#world, command, id);
    }
    if (open === 0 && state.unknown.size > 0) {
      log('resolves unknown outcomes');
      await resolveUnknown(this.#world, lane, random.pick(RESOLUTIONS));
    }
  }

  /** Every campaign has ended: no job may remain, and after the retention no data either. */
  async #end(): Promise<void> {
    const world = this.#world;
    const { clock, streams, scenario, checker, server } = world;
    for (const { settings } of scenario.lanes) await server.readLane(settings.name, 'end');
    await checker.ended();
    world.replies.ended();
    world.endpoint?.ended();
    world.hasEnded = true;
    const checkJobs = (): undefined => {
      if (world.jobs.size > 0) throw new Violation(10, `${world.jobs.size} jobs remain`);
    };
    // Most worlds end here, because waiting for the removal of the data takes as many commands as the rest.
    const skipsRetention = world.stage?.checksRemoval !== true && !streams('ending').chance(0.25);
    // What an outbox keeps of a day is kept from the end of that day.
    const forgetMs = world.outbox === undefined ? 0 : scenario.config.retentionMs + DAY_MS + FORGET_EVERY_MS;
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
    const keptMs = Math.max(scenario.config.retentionMs, forgetMs) + server.clockRangeMs;
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
      keys.suppression.removedAt,
      ...scenario.lanes.map(({ settings }) => keys.suppression.list(settings.name)),
      keys.losses,
      keys.removals,
      keys.outboxes,
      keys.webhooks.endpoints,
      keys.webhooks.due,
      keys.webhooks.cursors(ENDPOINT),
      keys.webhooks.totals(ENDPOINT),
      ...scenario.lanes.flatMap(({ settings }) =>
        [
          'lane',
          'window',
          'windows',
          'callback',
          'results',
          'latestResults',
          'inbound',
          // An outbox stays until it is deleted.
          ...(world.outbox?.plan.lane === settings.name ? ['states', 'tending', OUTBOX_ID] : []),
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
      [...state.campaigns].every(
        ([
          id,
          {
            state: { endedAt },
          },
        ]) => endedAt > 0 || id === OUTBOX_ID,
      ))
  );
}
