import type { Clocks } from '../../../src/base/clock.js';
import type { Config } from '../../../src/base/config/index.js';
import type { Events } from '../../../src/base/events/events.js';
import type { InboundService } from '../../../src/engine/inbound/inbound-service.js';
import type { ReceivedPart } from '../../../src/engine/inbound/inbound-store.js';
import type { TurnEnd } from '../../../src/engine/jobs/turn.js';
import { type Stage, wakeLane } from '../../../src/engine/jobs/wake.js';
import type { Lane } from '../../../src/engine/lane/lane.js';
import type { Inbox } from '../../../src/engine/notifications/inbox.js';
import type { Receiver } from '../../../src/engine/notifications/receiver.js';
import { reportToBarrier } from '../../../src/engine/recovery/replay-claims.js';
import { correctClock } from '../../../src/engine/scripts/lane-script.js';
import { suppression } from '../../../src/engine/suppression/suppression.js';
import type { Outbox } from '../../../src/intake/outbox/outbox-methods.js';
import type { Poster } from '../../../src/reporting/webhooks/post.js';
import type { Owner } from '../virtual-clock.js';
import type { World } from '../world.js';
import { SimulatedConnection } from './connection.js';
import { processEvents } from './events.js';
import { openInbound } from './inbound.js';
import { SimulatedMachine } from './machine.js';
import { Network } from './network.js';
import { type Notification, openInboxes, openProcessReceiver } from './notifications.js';
import { openProcessOutbox } from './outbox.js';
import { openServedLane, type ServedLane } from './served-lane.js';
import { removeRemains, sweepLanes } from './sweep.js';
import { deliverTo } from './webhooks.js';

const TURN_MS = 20_000;
const WAIT_HERE_MS = 500;
const DEAD_AFTER_MS = 10_000;
const WELL_AFTER_MS = 15_000;

/** A worker process: the code under test on the world's machine, Redis connection, and service. */
export class Process implements Owner {
  isDead = false;
  stoppedUntil = 0;
  readonly name: string;
  readonly config: Config;
  readonly events: Events;
  readonly machine: SimulatedMachine;
  readonly redis: SimulatedConnection;
  /** The turns in progress, by stage and lane; aborting one ends the turn. */
  readonly serving = new Map<string, AbortController>();
  readonly #world: World;
  readonly #network: Network;
  readonly #lanes: ReadonlyMap<string, ServedLane>;
  readonly #inbound: InboundService | undefined;
  readonly #inboxes: ReadonlyMap<string, Inbox>;
  readonly #receiver: Receiver | undefined;
  #joined: Promise<unknown> = Promise.resolve();
  #lastSignAt = 0;
  #wellSince = 0;

  /** With a connection of its own choice (`redis`) the process suffers no faults: it is the operator. */
  constructor(world: World, name: string, config: Config, redis?: SimulatedConnection) {
    this.name = name;
    this.config = config;
    this.#world = world;
    this.events = processEvents(world, name);
    this.machine = new SimulatedMachine(world, this);
    this.#network = new Network(world, this);
    this.redis = redis ?? new SimulatedConnection(this.#network);
    const suppressed = suppression(this.redis, world.keys);
    this.#lanes = new Map(
      world.scenario.lanes.map(({ settings }) => [
        settings.name,
        openServedLane(world, this, suppressed, settings),
      ]),
    );
    this.#inboxes = openInboxes(world, this, this.#lanes);
    this.#inbound = openInbound(world, this, suppressed);
    this.#receiver = openProcessReceiver(world, this, this.#lanes, this.#inboxes);
  }

  /** Joins the workers of its lanes, as worker.ts does, and accepts notifications. */
  start(): void {
    if (this.#receiver !== undefined) for (const inbox of this.#inboxes.values()) inbox.start();
    this.#joined = Promise.allSettled(
      [...this.#lanes.values()].map(({ lane, recent }) => reportToBarrier(lane, 'join', recent.self)),
    );
  }

  /** Whether the heartbeats would still show it as alive. */
  get isAlive(): boolean {
    const { now } = this.#world.clock;
    return (!this.isDead && !this.isStopped) || now - this.#lastSignAt < DEAD_AFTER_MS;
  }

  /** Whether nothing has happened to it for longer than a recovery barrier lasts. */
  get isWell(): boolean {
    return !this.isDead && this.#world.clock.now > this.#wellSince + WELL_AFTER_MS;
  }

  get isConnected(): boolean {
    return !this.isStopped && this.#network.isUp;
  }

  get isStopped(): boolean {
    return this.stoppedUntil > this.#world.clock.now;
  }

  /** Runs a turn of a lane, as worker.ts does. */
  async serve(stage: Stage, name: string, signal: AbortSignal): Promise<TurnEnd> {
    const served = this.#served(name);
    const { lane } = served;
    const client = this.#world.serviceOf(name).clientOf(this);
    const turn = { turnMs: TURN_MS, waitHereMs: WAIT_HERE_MS, signal };
    const { followUp, send } = this.#world.parts;
    if (stage === 'poll')
      return followUp(lane, { ...served, claims: served.polls, client, events: this.events }, turn);
    await this.#joined;
    const failed = (_lane: string, error: Error): void => this.#world.fail(error);
    const end = await send(lane, { ...served, claims: served.sends, client, failed }, turn);
    if (end.requests > 0) await wakeLane(lane, this.#world.jobs, ['poll']);
    return end;
  }

  /** Looks at a lane that was woken during its turn, as worker.ts does. */
  lookAgain(name: string): void {
    wakeLane(this.laneNamed(name), this.#world.jobs).catch(() => {});
  }

  /** Sweeps all lanes once. */
  sweep(): Promise<void> {
    const lanes = [...this.#lanes.values()].map(({ lane }) => lane);
    return sweepLanes(this.#world, this, lanes, this.#inbound);
  }

  /** Removes what lost campaigns have left. */
  removeRemains(): Promise<void> {
    const lanes = [...this.#lanes].map(([name, { lane }]) => [name, lane] as const);
    return removeRemains(this.#world, this, lanes);
  }

  /** The outbox of this world, as a platform uses it through this process. */
  outbox(): Outbox {
    this.#outbox ??= openProcessOutbox(this.#world, this);
    return this.#outbox;
  }
  #outbox: Outbox | undefined;

  /** Replays the claims of lanes with announced losses, as worker.ts does every second. */
  async lookForLosses(): Promise<void> {
    const { clock, keys, parts } = this.#world;
    if (this.isDead) return;
    const recents = new Map([...this.#lanes].map(([name, { recent }]) => [name, recent]));
    const again = (): void => void clock.schedule(1_000, () => this.lookForLosses(), this);
    // Not awaited: the reply takes another step.
    parts.replayAfterAnnouncements(this.redis, keys, recents).catch(again);
  }

  /** Whether this process has compared its clock with that of Redis, so that it notices a step. */
  get knowsClock(): boolean {
    return [...this.#lanes.values()].every(({ lane }) => lane.serverClock?.expectation !== '');
  }

  /** Checks the clock of Redis, as recovery/sweep.ts does. */
  checkClock(): undefined {
    const { time } = this.#world.server;
    for (const { lane } of this.#lanes.values()) {
      if (!lane.serverClock?.hasStepped(time)) continue;
      correctClock(lane).catch((error: unknown) => this.#world.broken(`${this.name}: clock`, error));
    }
    return undefined;
  }

  /** A notification arrives at this process. */
  notified(segment: string, notification: Notification): void {
    const received = this.#receiver?.receive(segment, notification);
    if (this.#world.trace.isWanted)
      this.#world.trace.add(this.name, `notified, ${received}: ${notification.body}`);
  }

  /** An operator logs in again, whatever has stopped the account. Calls `loggedIn` on success. */
  logInAgain(lane: string, loggedIn = (): void => {}): void {
    const accounts = this.#world.accountsOf(lane);
    accounts.logsInAgain(this, true);
    this.#lanes
      .get(lane)
      ?.tokenCache?.login({ again: true })
      .then(({ kind }) => {
        accounts.logsInAgain(this, false);
        if (kind === 'token') loggedIn();
      })
      .catch((error: unknown) => this.#world.broken(`${this.name}: login`, error));
  }

  /** A message of a person arrives at this process. */
  async receives(lane: string, part: ReceivedPart): Promise<void> {
    await this.#inbound?.receive(lane, part);
  }

  /** Delivers events to an endpoint. Returns when it is due again, ms by this machine. */
  deliverTo(endpoint: string, poster: Poster): Promise<number | null> {
    return deliverTo(this.#world, this, endpoint, poster);
  }

  laneNamed(name: string): Lane {
    return this.#served(name).lane;
  }

  /** Cuts its connection to Redis, which is back after `downMs`. */
  cut(downMs: number): void {
    this.#wellSince = Math.max(this.#wellSince, this.#world.clock.now + downMs);
    this.#network.cut(downMs, () => {
      for (const { recent } of this.#lanes.values()) recent.replay();
    });
  }

  kill(): void {
    this.isDead = true;
    this.#lastSignAt = this.#world.clock.now;
    this.#network.sever();
  }

  /** Stops the process for a while, without it noticing. These clocks of its machine stand still meanwhile. */
  stop(ms: number, standing: readonly (keyof Clocks)[] = []): void {
    const { now } = this.#world.clock;
    const until = Math.max(this.stoppedUntil, now + ms);
    const from = Math.max(this.stoppedUntil, now);
    this.machine.stand(until - from, standing);
    this.#lastSignAt = now;
    this.stoppedUntil = until;
    this.#wellSince = Math.max(this.#wellSince, until);
  }

  #served(name: string): ServedLane {
    const served = this.#lanes.get(name);
    if (served === undefined) throw new Error(`no such lane: ${name}`);
    return served;
  }
}
