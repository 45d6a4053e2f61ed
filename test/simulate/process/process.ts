import type { IncomingHttpHeaders } from 'node:http';
import type { Command } from 'ioredis';
import { type Alarm, type Clocks, type Machine, startStopwatch } from '../../../src/base/clock.js';
import type { Config } from '../../../src/base/config/index.js';
import type { Events } from '../../../src/base/events/events.js';
import { PROFILES } from '../../../src/base/profiles/index.js';
import { pollClaims } from '../../../src/engine/follow-up/claims.js';
import { followUpTurn } from '../../../src/engine/follow-up/follow-up.js';
import type { PollClaims } from '../../../src/engine/follow-up/poll-claim.js';
import { type FollowedRequests, openRequests } from '../../../src/engine/follow-up/requests.js';
import { type InboundService, inboundService } from '../../../src/engine/inbound/inbound-service.js';
import type { ReceivedPart } from '../../../src/engine/inbound/inbound-store.js';
import type { TokenSource } from '../../../src/engine/jobs/token-source.js';
import type { TurnEnd } from '../../../src/engine/jobs/turn.js';
import { type Stage, wakeLane } from '../../../src/engine/jobs/wake.js';
import { type Lane, openLane } from '../../../src/engine/lane/lane.js';
import { laneTokenSource } from '../../../src/engine/lane/lane-token-source.js';
import { recentlySettled } from '../../../src/engine/notifications/batch-lookup.js';
import { createInbox, type Inbox } from '../../../src/engine/notifications/inbox.js';
import { type MatchStore, matchStore } from '../../../src/engine/notifications/match-store.js';
import { notificationStore } from '../../../src/engine/notifications/notification-store.js';
import { openReceiver, type Receiver } from '../../../src/engine/notifications/receiver.js';
import { ordinalNumbers } from '../../../src/engine/recipients/slices.js';
import { checkOldCampaigns } from '../../../src/engine/recovery/old-campaigns.js';
import { replayClaims, reportToBarrier } from '../../../src/engine/recovery/replay-claims.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { sweepLane } from '../../../src/engine/recovery/sweep.js';
import { replayAfterAnnouncements } from '../../../src/engine/recovery/watch-losses.js';
import { correctClock } from '../../../src/engine/scripts/lane-script.js';
import { campaignContent } from '../../../src/engine/sending/campaign-content.js';
import { sendClaims } from '../../../src/engine/sending/claims.js';
import type { Messages } from '../../../src/engine/sending/message.js';
import { openMessages } from '../../../src/engine/sending/messages.js';
import { type RecentClaims, recentClaims } from '../../../src/engine/sending/recent-claims.js';
import { sendTurn } from '../../../src/engine/sending/send.js';
import type { SendClaims } from '../../../src/engine/sending/send-claim.js';
import { suppression } from '../../../src/engine/suppression/suppression.js';
import { messageChecker } from '../../../src/intake/outbox/definition/check-message.js';
import { outboxOpener } from '../../../src/intake/outbox/open-outbox.js';
import { operatedOutbox } from '../../../src/intake/outbox/outbox.js';
import type { Outbox } from '../../../src/intake/outbox/outbox-methods.js';
import { tendOutboxes } from '../../../src/intake/outbox/tending/tend-lane.js';
import { outboxResults } from '../../../src/intake/outbox/views/outbox-results.js';
import { resultsLogs } from '../../../src/reporting/results-log.js';
import { resultsReader } from '../../../src/reporting/results-reader.js';
import { deliver } from '../../../src/reporting/webhooks/deliver.js';
import { laneReader } from '../../../src/reporting/webhooks/lane-reader.js';
import { payloadReader } from '../../../src/reporting/webhooks/payload.js';
import type { Poster } from '../../../src/reporting/webhooks/post.js';
import { webhookStore } from '../../../src/reporting/webhooks/store.js';
import type { Seal } from '../../../src/service/auth/seal.js';
import { createTokenCache, type TokenCache } from '../../../src/service/auth/token-cache.js';
import { OPERATOR } from '../../app/access/operator.js';
import type { RandomStream } from '../random.js';
import { AT_SERVICE, OUTBOX_ID } from '../server/lane-state.js';
import { nameOf, type Reply, START } from '../server/server.js';
import type { Owner } from '../virtual-clock.js';
import type { World } from '../world.js';
import { SimulatedConnection, type Transport } from './connection.js';

/** A connection from when it is opened until it is cut. */
interface Link {
  isCut: boolean;
  /** Commands up to this one reach the server even if the connection is cut first. */
  reaches: number;
  carried: number;
  ranAt: number;
  repliedAt: number;
  readonly unanswered: Set<Command>;
}

/** A notification request. */
export interface Notification {
  readonly headers: IncomingHttpHeaders;
  readonly query: string;
  readonly body: string;
}

interface Served {
  readonly lane: Lane;
  readonly recent: RecentClaims;
  readonly messages: Messages;
  readonly requests: FollowedRequests;
  readonly matches: MatchStore;
  readonly sends: SendClaims;
  readonly polls: PollClaims;
  readonly tokens: TokenSource;
}

const TURN_MS = 20_000;
const WAIT_HERE_MS = 500;
const DEAD_AFTER_MS = 10_000;
const WELL_AFTER_MS = 15_000;
/** How often waiting notifications are retried. Rare, because each retry takes steps. */
const LOOK_MS = 4_000;

/** A worker process: the code under test on the world's machine, Redis connection, and service. */
export class Process implements Owner, Transport {
  isDead = false;
  stoppedUntil = 0;
  readonly name: string;
  readonly config: Config;
  readonly machine: Machine;
  readonly redis: SimulatedConnection;
  /** The turns in progress, by stage and lane; aborting one ends the turn. */
  readonly serving = new Map<string, AbortController>();
  readonly #world: World;
  readonly #network: RandomStream;
  readonly #lanes: ReadonlyMap<string, Served>;
  readonly #tokens = new Map<string, TokenCache>();
  readonly #suppression: ReturnType<typeof suppression>;
  readonly #inbound: InboundService | undefined;
  readonly #inboxes: ReadonlyMap<string, Inbox>;
  readonly #receiver: Receiver | undefined;
  #joined: Promise<unknown> = Promise.resolve();
  #link: Link;
  #downUntil = 0;
  #lastSignAt = 0;
  /** How long each clock of its machine has stood still, ms. */
  readonly #stood: Record<keyof Clocks, number> = { clock: 0, monotonic: 0, uptime: 0 };
  #wellSince = 0;

  /** With a connection of its own choice (`redis`) the process suffers no faults: it is the operator. */
  constructor(world: World, name: string, config: Config, redis?: SimulatedConnection) {
    this.name = name;
    this.config = config;
    this.#world = world;
    this.#link = newLink();
    const { clock, scenario, keys } = world;
    const random = world.streams(name);
    this.#network = world.streams(`network of ${name}`);
    const [offset, skew] = [random.integer(0, 1_000_000), random.integer(-2_000, 2_000)];
    let nonces = 0;
    this.machine = {
      clock: () => START + clock.now + skew - this.#stood.clock,
      monotonic: () => offset + clock.now - this.#stood.monotonic,
      uptime: () => 2 * offset + clock.now - this.#stood.uptime,
      alarm: this.#alarm,
      random: random.next,
      nonce: () => {
        nonces += 1;
        return `${name}-${nonces}`;
      },
    };
    this.redis = redis ?? new SimulatedConnection(this);
    this.#suppression = suppression(this.redis, keys);
    this.#lanes = new Map(
      scenario.lanes.map(({ settings }) => {
        const lane = {
          ...openLane(this.redis, keys, config, settings, this.#events, random.next, this.machine),
          startStopwatch: () => world.parts.startStopwatch(this.machine),
        };
        const content = campaignContent(lane);
        const suppressed = {
          areSuppressed: (numbers: readonly string[]) => this.#suppression.areSuppressed(lane.id, numbers),
          isOnlyBy: (operation: string, number: string) =>
            this.#suppression.isOnlyBy(operation, lane.id, number),
          lastRemoval: () => this.#suppression.lastRemoval(lane.id),
        };
        return [
          settings.name,
          {
            lane,
            recent: world.parts.recentClaims(
              this.machine.monotonic,
              {
                process: name,
                mayLose: () => ({ ms: scenario.lossMs, withReplicaMs: scenario.lossMs }),
              },
              (recent) => replayClaims(lane, recent),
            ),
            messages: openMessages(lane, content, suppressed),
            requests: openRequests(lane, content),
            matches: matchStore(lane),
            sends: sendClaims(lane),
            polls: pollClaims(lane),
            tokens: this.#tokenSourceOf(settings),
          },
        ];
      }),
    );
    const shared = { capacity: { left: 1_000 }, recentlySettled: recentlySettled(100) };
    const numbers = ordinalNumbers(this.redis, keys);
    this.#inboxes = new Map(
      [...this.#lanes].map(([lane, served]) => {
        const senderOf = async (_lane: string, id: string) => ({
          sender: 'ACME',
          id: id === OUTBOX_ID ? AT_SERVICE : id,
        });
        const { monotonic, alarm } = this.machine;
        const options = {
          store: notificationStore(served.lane),
          matches: served.matches,
          events: this.#events,
          numbers,
          senderOf,
          alarm,
          monotonic,
          ...shared,
          lookMs: LOOK_MS,
        };
        return [lane, world.parts.inbox(served.lane, options)];
      }),
    );
    if (scenario.replies.length > 0) {
      const nameOf = async (id: string) => id;
      this.#inbound = inboundService({
        redis: this.redis,
        keys,
        finder: { nameOf, idOf: nameOf, ids: async () => [...this.#lanes.keys()] },
        suppression: this.#suppression,
        events: this.#events,
        ...{ clock: this.machine.clock, alarm: this.machine.alarm },
        retentionMs: config.retentionMs,
        replies: { stopWords: ['stop'], startWords: ['start'], stopScope: 'lane' },
        by: OPERATOR,
        lastSent: async () => null,
        sentSince: async () => [],
      });
    }
    const { callback } = config;
    if (callback !== undefined) {
      const { monotonic } = this.machine;
      const profileOf = (id: string) => PROFILES[this.#lanes.get(id)?.lane.settings.profile ?? 'v1'];
      const options = { callback, inboxes: this.#inboxes, profileOf, events: this.#events, monotonic };
      this.#receiver = world.parts.receiver(options);
    }
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
    return !this.isStopped && this.#world.clock.now >= this.#downUntil;
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
      return followUp(lane, { ...served, claims: served.polls, client, events: this.#events }, turn);
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
  async sweep(): Promise<void> {
    const { keys, jobs, scenario } = this.#world;
    const options = {
      redis: this.redis,
      keys,
      lanes: () => [],
      wakers: jobs,
      events: this.#events,
      retentionMs: scenario.config.retentionMs,
      discardImport: async () => {},
      alive: async () => [],
      openingsOf: this.#world.openingsOf,
      tendOutboxes: (lane: string) => this.#tend(this.laneNamed(lane)),
      tendInbound: async (lane: string) => this.#inbound?.tend(lane),
      removeCampaign: async (lane: string, id: string) =>
        void (await removeCampaign(this.redis, keys, lane, id)),
    };
    const alive = this.#world.allProcesses.filter((process) => process.isAlive).map(({ name }) => name);
    await Promise.all(
      [...this.#lanes.values()].map(({ lane }) => this.#world.parts.sweep(lane, options, alive)),
    );
  }

  /** Removes what lost campaigns have left, as recovery/data-removal.ts does every hour. */
  async removeRemains(): Promise<void> {
    const { keys, server } = this.#world;
    const lanes = [...this.#lanes].map(([name, { lane }]) => [name, lane] as const);
    const options = {
      redis: this.redis,
      keys,
      finder: { withId: async (id: string) => this.laneNamed(id), configured: async () => new Map(lanes) },
      events: this.#events,
      retentionMs: this.config.retentionMs,
      maxCampaignAgeMs: this.config.maxCampaignAgeMs,
      followUpPastMaxAgeMs: this.config.followUpPastMaxAgeMs,
      discardImport: async () => {},
      removeCampaign: async () => {},
    };
    await checkOldCampaigns(options, server.time);
  }

  /** Has the outbox of a lane forget what is old, as app/runtime/start-workers.ts does. */
  async #tend(lane: Lane): Promise<void> {
    const { retentionMs, maxCampaignAgeMs, followUpPastMaxAgeMs } = this.config;
    const openForMs = maxCampaignAgeMs + followUpPastMaxAgeMs;
    await tendOutboxes(lane, { clock: this.machine.clock, retentionMs, openForMs });
  }

  /** The outbox of this world, as a platform uses it through this process. */
  outbox(): Outbox {
    this.#outbox ??= this.#openOutbox();
    return this.#outbox;
  }
  #outbox: Outbox | undefined;

  #openOutbox(): Outbox {
    const { keys, jobs, outbox } = this.#world;
    if (outbox === undefined) throw new Error('this world has no outbox');
    const { name } = outbox.plan;
    const options = {
      redis: this.redis,
      keys,
      config: this.config,
      events: this.#events,
      finder: {
        withId: async (id: string) => this.laneNamed(id),
        named: async (id: string) => this.laneNamed(id),
        nameOf: async (id: string) => id,
        idOf: async (id: string) => id,
        configured: async () => new Map([[outbox.plan.lane, this.laneNamed(outbox.plan.lane)]]),
      },
      wakers: jobs,
      clock: this.machine.clock,
      random: this.machine.random,
    };
    const opener = outboxOpener(options);
    return operatedOutbox(options, OPERATOR, name, async () => {
      const opened = await opener.open(outbox.plan.lane, name);
      // The openings of windows are drawn, so that their rules cannot be read.
      const { window: _, ...settings } = opened.settings;
      const { sendWindow: __, ...rules } = opened.lane.rules;
      const lane = { ...opened.lane, rules };
      return { ...opened, lane, settings, check: messageChecker(settings, this.config, []) };
    });
  }

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
    this.#tokens
      .get(lane)
      ?.login({ again: true })
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

  /** Delivers events to an endpoint, as a worker with the role `webhooks` does. Returns when it is due again, ms by this machine. */
  deliverTo(endpoint: string, poster: Poster): Promise<number | null> {
    const { redis } = this;
    const { keys, parts } = this.#world;
    const { clock, monotonic, random } = this.machine;
    const finder = { nameOf: async (id: string) => id };
    const { read } = resultsReader({ redis, keys, finder, outboxes: outboxResults(redis, keys) });
    const options = {
      ...{ redis, keys, poster, clock, monotonic, random, events: this.#events },
      store: webhookStore(redis, keys),
      lanes: laneReader({ redis, keys, clock, logs: resultsLogs(redis, keys, finder) }),
      payload: payloadReader({ redis, keys, finder, read }),
      seal: UNSEALED,
      lifeOf: async () => ({ state: 'active', until: null }) as const,
    };
    return parts.deliver(options, endpoint, { turnMs: TURN_MS, signal: new AbortController().signal });
  }

  laneNamed(name: string): Lane {
    return this.#served(name).lane;
  }

  carry(command: Command): void {
    const { clock, server, trace } = this.#world;
    if (this.isDead) return;
    if (clock.now < this.#downUntil) {
      clock.schedule(1, () => void command.reject(new Error('Connection is closed.')), this);
      return;
    }
    const link = this.#link;
    link.carried += 1;
    const place = link.carried;
    link.unanswered.add(command);
    const name = nameOf(command, this.#world.scripts);
    const { incident, stage, suspension } = this.#world;
    const delayMs = (incident?.delayOf(this, name) ?? 0) + (stage?.delayOf(this, name) ?? 0);
    link.ranAt = Math.max(link.ranAt, clock.now + this.#world.latency(this.#network) + delayMs);
    clock.schedule(link.ranAt - clock.now, async () => {
      if (place > link.reaches) return;
      const refusal = this.#world.outOfMemory(command);
      const reply: Reply = refusal === undefined ? await server.execute(command) : { error: refusal };
      if (trace.isWanted) trace.add('redis', `${this.name} ${name} ${shown(reply)}`);
      suspension?.ran(this, name, reply);
      stage?.ran(this, name);
      if (link.isCut || this.isDead) return;
      const answer = (): void => {
        if (link.unanswered.delete(command)) answerTo(command, reply);
      };
      link.repliedAt = Math.max(link.repliedAt, clock.now + this.#world.latency(this.#network));
      const isAtOnce = link.repliedAt === clock.now && !this.isStopped;
      if (isAtOnce) answer();
      else clock.schedule(link.repliedAt - clock.now, () => void answer(), this);
    });
  }

  /** Cuts the connection: replies are lost, whether or not the commands ran. It is back after `downMs`. */
  cut(downMs: number): void {
    const { clock } = this.#world;
    this.#wellSince = Math.max(this.#wellSince, clock.now + downMs);
    const link = this.#sever();
    this.#downUntil = clock.now + downMs;
    const lost = [...link.unanswered];
    clock.schedule(
      0,
      () => {
        for (const command of lost) command.reject(new Error('Connection is closed.'));
        return undefined;
      },
      this,
    );
    clock.schedule(downMs, () => void this.#connected(), this);
  }

  kill(): void {
    this.isDead = true;
    this.#lastSignAt = this.#world.clock.now;
    this.#sever();
  }

  /** Stops the process for a while, without it noticing. These clocks of its machine stand still meanwhile. */
  stop(ms: number, standing: readonly (keyof Clocks)[] = []): void {
    const { now } = this.#world.clock;
    const until = Math.max(this.stoppedUntil, now + ms);
    const from = Math.max(this.stoppedUntil, now);
    for (const name of standing) this.#stood[name] += until - from;
    this.#lastSignAt = now;
    this.stoppedUntil = until;
    this.#wellSince = Math.max(this.#wellSince, until);
  }

  /** Timers run by the monotonic clock, so they stop with it. */
  readonly #alarm: Alarm = (ms, ring) => {
    const { monotonic } = this.machine;
    const at = monotonic() + ms;
    const ringOrWait = (): undefined => {
      if (monotonic() < at) cancel = schedule(at - monotonic());
      else ring();
      return undefined;
    };
    const schedule = (inMs: number) => this.#world.clock.schedule(inMs, ringOrWait, this);
    let cancel = schedule(ms);
    return () => cancel();
  };

  #sever(): Link {
    const link = this.#link;
    link.isCut = true;
    link.reaches = this.#network.integer(link.carried - link.unanswered.size, link.carried);
    this.#link = newLink();
    return link;
  }

  #connected(): void {
    if (this.#world.clock.now < this.#downUntil) return;
    for (const { recent } of this.#lanes.values()) recent.replay();
  }

  #served(name: string): Served {
    const served = this.#lanes.get(name);
    if (served === undefined) throw new Error(`no such lane: ${name}`);
    return served;
  }

  #tokenSourceOf(settings: World['scenario']['lanes'][number]['settings']): TokenSource {
    const { credentials, name } = settings;
    if (credentials.kind === 'apiKey') return laneTokenSource(name, credentials, undefined);
    const accounts = this.#world.accountsOf(name);
    const cache = this.#world.parts.tokenCache({
      redis: this.redis,
      keys: this.#world.keys,
      account: credentials,
      requestTimeoutMs: this.config.requestTimeoutMs,
      login: () => accounts.login(this),
      refresh: (token) => accounts.refresh(this, token),
      retryAfterMs: [5_000, 20_000],
      freshMs: 5_000,
      machine: this.machine,
    });
    this.#tokens.set(name, cache);
    return laneTokenSource(name, credentials, cache);
  }

  readonly #events: Events = {
    hide: () => {},
    emit: (event) => {
      const { trace } = this.#world;
      if (event.type === 'request.matched') this.#world.count('requests matched by a notification');
      if (event.type === 'request.confirmed') this.#world.count('requests confirmed after a notification');
      if (event.type === 'workers.lost') this.#world.workersLost(event.processes.split(' '));
      if (event.type === 'notifications.failed')
        this.#world.broken(`${this.name}: notifications`, event.error);
      if (trace.isWanted)
        trace.add(
          this.name,
          JSON.stringify(event, (_, value) => (value instanceof Error ? value.message : value)),
        );
    },
    on: () => () => {},
    onAny: () => () => {},
    next: () => new Promise(() => {}),
  };
}

function newLink(): Link {
  return {
    isCut: false,
    reaches: Number.POSITIVE_INFINITY,
    carried: 0,
    ranAt: 0,
    repliedAt: 0,
    unanswered: new Set(),
  };
}

function answerTo(command: Command, reply: Reply): void {
  if ('error' in reply) command.reject(reply.error);
  else command.resolve(reply.value);
}

function shown(reply: Reply): string {
  if ('error' in reply) return reply.error.message;
  // The server lists a large hash in an order of its own, which differs between servers.
  if (Array.isArray(reply.value)) return JSON.stringify(reply.value.map(String).sort()).slice(0, 300);
  const text = JSON.stringify(reply.value, (_, value) =>
    value?.type === 'Buffer' ? Buffer.from(value.data).toString('latin1') : value,
  );
  return (text ?? '').slice(0, 300);
}

/** Sealing takes random bytes. */
const UNSEALED: Seal = {
  fingerprint: 'in the clear',
  fingerprints: [],
  close: (text) => text,
  open: (text) => text,
};

/** The parts of the code under test that a mutant may replace. */
export const PARTS = {
  startStopwatch,
  recentClaims,
  send: sendTurn,
  followUp: followUpTurn,
  sweep: sweepLane,
  inbox: createInbox,
  receiver: openReceiver,
  tokenCache: createTokenCache,
  deliver,
  replayAfterAnnouncements,
};
export type Parts = typeof PARTS;
