import { FairnessChecker } from './checks/fairness.js';
import { GateChecker } from './checks/gate.js';
import { ResumptionChecker } from './checks/resumption.js';
import { StatusChecker } from './checks/statuses.js';
import type { Process } from './process/process.js';
import { type ClaimState, type LaneState, OUTBOX_ID } from './server/lane-state.js';
import type { Attempt } from './service/service.js';
import { Violation } from './violation.js';
import type { World } from './world.js';

/** The age above which a process confirms a claim before it sends; see claim/permit.ts. */
const UNCONFIRMED_MS = 2_000;

interface LaneHistory {
  last: LaneState | undefined;
  /** Arrivals at the service within the quota window, ms of virtual time. */
  readonly arrivals: number[];
  /** Claims that Redis has lost. */
  readonly lost: Map<string, ClaimState>;
  /** Paused and cancelled campaigns: since when, and the claims that were in flight then. */
  readonly halted: Map<string, { at: number; inFlight: ReadonlySet<string> }>;
}

/** Watches every request and every write, and throws a Violation when an invariant is broken. */
export class Checker {
  /** Whether Redis has lost data in this world. */
  hasLostData = false;
  readonly #world: World;
  readonly #lanes = new Map<string, LaneHistory>();
  readonly #attempts = new Map<string, Attempt[]>();
  /** Numbers that are suppressed while campaigns are sent: since when, and the claims that were in flight then. */
  readonly #stops = new Map<string, { at: number; inFlight: ReadonlySet<string> }>();
  /** The texts that each campaign was given, and when a later one was acknowledged: from then on, nothing new starts with them. */
  readonly #texts = new Map<string, Map<string, { replacedAt?: number }>>();
  #savedAt = 0;
  readonly #statuses: StatusChecker;
  readonly #gate: GateChecker;
  readonly #resumption: ResumptionChecker;
  readonly #fairness: FairnessChecker;

  constructor(world: World) {
    this.#world = world;
    this.#statuses = new StatusChecker(world);
    this.#gate = new GateChecker(world.clock);
    this.#resumption = new ResumptionChecker(world);
    this.#fairness = new FairnessChecker(world);
  }

  lane(name: string): LaneState | undefined {
    return this.#historyOf(name).last;
  }

  /** Called with the state of a lane after each command that may have changed it. */
  observed(name: string, now: LaneState, by: string): void {
    const history = this.#historyOf(name);
    const before = history.last;
    if (before === now && by !== 'data loss') return;
    history.last = now;
    if (by === 'data loss') {
      for (const [number, claim] of before?.claims ?? [])
        if (!now.claims.has(number)) history.lost.set(number, claim);
      this.#statuses.dataLost(name, now);
      this.#fairness.dataLost(name);
      this.#resumption.dataLost(name);
      history.halted.clear();
      return;
    }
    this.#halts(history, now);
    if (before !== undefined) {
      this.#resent(before, now, by);
      if (by === 'claim-send') this.#closed(before, now);
      this.#gate.observed(name, before, now, by);
      this.#fairness.observed(name, before, now, by);
      this.#resumption.observed(name, before, now, by);
    }
    this.#statuses.observed(name, before, now, by);
    this.#world.outbox?.observed(before, now, by);
  }

  /** Called when a request leaves a process. */
  sent(process: Process, name: string, kind: 'send' | 'poll', attempt: Attempt | undefined): void {
    if (kind === 'poll' || attempt === undefined) return;
    if (this.#world.trace.isWanted)
      this.#world.trace.add(process.name, `sends ${attempt.recipients.join(' ')}`);
    for (const number of attempt.recipients) this.#atMostOnce(number, attempt);
    const history = this.#historyOf(name);
    const { now } = this.#world.clock;
    const [first = ''] = attempt.recipients;
    const { campaign } = attempt;
    const ordinals = this.#world.ordinalsOf(campaign, first);
    const covers = ([, claim]: readonly [string, ClaimState]): boolean =>
      claim.campaign === campaign &&
      ordinals.some((ordinal) => claim.first <= ordinal && ordinal < claim.first + claim.count);
    const claimed = [...(history.last?.claims ?? [])].find(
      (entry) => covers(entry) && entry[1].placeholder === undefined,
    );
    const lost = [...history.lost].find(covers);
    if (claimed === undefined && lost === undefined) {
      throw new Violation(3, `${process.name} sends ${first} of ${campaign}, which has no claim in Redis`);
    }
    // A resend permits one more request, and not a late one of the process that claimed the batch before.
    const turn = claimed?.[1].turn ?? '';
    if (lost === undefined && turn !== 'replayed' && !turn.startsWith(`${process.name}-`)) {
      throw new Violation(
        2,
        `${process.name} sends ${first} of ${campaign}, which ${turn} has claimed since`,
      );
    }
    const replacedAt = this.#texts.get(campaign)?.get(attempt.text)?.replacedAt;
    if (replacedAt !== undefined && lost === undefined && claimed?.[1].again === undefined)
      throw new Violation(
        13,
        `${process.name} sends ${first} of ${campaign} with ${attempt.text}, which was replaced at ${replacedAt} ms`,
      );
    if (!this.#world.isOpen(campaign, ordinals))
      throw new Violation(12, `${process.name} sends ${first} of ${campaign} outside its window`);
    if (campaign === OUTBOX_ID)
      this.#world.outbox?.sent(first, lost === undefined ? claimed : undefined, attempt.text);
    if (lost === undefined)
      for (const number of attempt.recipients) this.#afterStop(number, `${name} ${claimed?.[0]}`);
    const halt = history.halted.get(campaign);
    if (halt === undefined || lost !== undefined) return;
    if (!halt.inFlight.has(claimed?.[0] ?? '')) {
      throw new Violation(
        8,
        `${process.name} sends ${first} of ${campaign}, claimed after it was paused or cancelled`,
      );
    }
    if (now - halt.at > UNCONFIRMED_MS) {
      throw new Violation(
        8,
        `${process.name} sends ${first} ${now - halt.at} ms after ${campaign} was paused or cancelled`,
      );
    }
  }

  /** A text that a campaign is about to be given. */
  newText(id: string): string {
    const texts = this.#texts.get(id) ?? new Map([[id, {}]]);
    this.#texts.set(id, texts);
    const text = `${id} ${texts.size}`;
    texts.set(text, {});
    return text;
  }

  /** A campaign has acknowledged a text: it starts nothing with those that it was given before. */
  textAnswered(id: string, text: string): void {
    for (const [before, state] of this.#texts.get(id) ?? []) {
      if (before === text) return;
      state.replacedAt ??= this.#world.clock.now;
    }
  }

  /** Called when a number has been suppressed, because of a stop word. */
  stopped(number: string): void {
    const claims = [...this.#lanes].flatMap(([name, { last }]) =>
      [...(last?.claims.keys() ?? [])].map((claim) => `${name} ${claim}`),
    );
    this.#stops.set(number, { at: this.#world.clock.now, inFlight: new Set(claims) });
  }

  /** Called when a stop word may no longer be in force. */
  resumed(number: string): void {
    this.#stops.delete(number);
  }

  #afterStop(number: string, claim: string): void {
    const stop = this.#stops.get(number);
    if (stop === undefined) return;
    const age = this.#world.clock.now - stop.at;
    if (!stop.inFlight.has(claim))
      throw new Violation(14, `${number} gets a request that was claimed after its stop`);
    if (age > UNCONFIRMED_MS) throw new Violation(14, `${number} gets a request ${age} ms after its stop`);
  }

  /** Called when the service answers a request that was sent at that time with success. */
  answered(name: string, sentAt: number): void {
    this.#resumption.answered(name, sentAt);
  }

  /** Called when a request reaches the service. */
  arrived(name: string): void {
    const plan = this.#world.planOf(name);
    if (plan.settings.hourlyQuota === 'auto') return;
    const history = this.#historyOf(name);
    const { now } = this.#world.clock;
    const { quotaWindowMs } = this.#world.scenario.config;
    history.arrivals.push(now);
    while ((history.arrivals[0] ?? now) <= now - quotaWindowMs) history.arrivals.shift();
    if (history.arrivals.length > plan.settings.hourlyQuota) {
      throw new Violation(
        1,
        `${history.arrivals.length} requests of ${name} within ${quotaWindowMs} ms, ${plan.settings.hourlyQuota} allowed`,
      );
    }
  }

  /** Called when the service answers 429 because of its quota. */
  throttled(name: string): void {
    const plan = this.#world.planOf(name);
    if (plan.settings.hourlyQuota !== 'auto') {
      throw new Violation(1, `429 on ${name} with quota model "${plan.model}"`);
    }
  }

  /** Called when Redis saves its data. */
  redisSaved(): void {
    this.#savedAt = this.#world.clock.now;
    this.#world.outbox?.redisSaved();
  }

  /** Called when Redis loses what it has not saved. */
  redisLostData(): void {
    this.hasLostData = true;
    for (const texts of this.#texts.values())
      for (const state of texts.values())
        if ((state.replacedAt ?? 0) >= this.#savedAt) delete state.replacedAt;
    this.#world.outbox?.redisLostData();
  }

  /** Checks what must hold once every campaign has ended. */
  async ended(): Promise<void> {
    for (const { settings } of this.#world.scenario.lanes) {
      const history = this.#historyOf(settings.name);
      const state = history.last;
      if (state === undefined) continue;
      const left = {
        claims: state.claims,
        polls: state.polls,
        unknown: state.unknown,
        unpolled: state.unpolled,
        polled: state.polled,
      };
      for (const [what, map] of Object.entries(left)) {
        if (map.size > 0)
          throw new Violation(
            10,
            `${settings.name} still has ${map.size} ${what}: ${[...map.keys()].join(' ')}`,
          );
      }
      if (state.running.length + state.scheduled + state.lapsing > 0) {
        throw new Violation(
          10,
          `${settings.name} still lists an ended campaign as running, scheduled, or lapsing`,
        );
      }
      this.#statuses.ended(settings.name, state);
      if (settings.name === this.#world.outbox?.plan.lane)
        await this.#world.outbox.ended(state, this.#world.stateOfMessage);
      await this.#world.results.read();
      this.#world.results.ended(state);
      if (this.#world.scenario.notifications !== undefined)
        await this.#statuses.requests(settings.name, state);
    }
  }

  #historyOf(name: string): LaneHistory {
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const created: LaneHistory = {
      last: undefined,
      arrivals: [],
      lost: new Map(),
      halted: new Map(),
    };
    this.#lanes.set(name, created);
    return created;
  }

  #atMostOnce(number: string, attempt: Attempt): void {
    const place = this.#world.recipientOf(attempt.campaign, number);
    const known = this.#attempts.get(place) ?? [];
    for (const before of known) {
      const isRepeat =
        attempt.correlator !== undefined &&
        attempt.arrivesBy - before.at < this.#remembersFor(attempt.campaign) &&
        before.correlator === attempt.correlator &&
        before.recipients.join() === attempt.recipients.join();
      if (!before.isClosed && before.text !== attempt.text)
        throw new Violation(
          13,
          `${number} is sent ${attempt.text}, although the request with ${before.text} may have been accepted`,
        );
      if (!before.isClosed && !isRepeat) {
        throw new Violation(
          2,
          `${number} is sent again, although the request sent at ${before.at} ms may have been accepted`,
        );
      }
    }
    known.push(attempt);
    this.#attempts.set(place, known);
  }

  /** For how long the service remembers a correlator, ms. */
  #remembersFor(campaign: string): number {
    const { lane } = this.#world.campaign(campaign);
    const { clientCorrelator } = this.#world.planOf(lane).settings;
    return typeof clientCorrelator === 'string' ? 0 : clientCorrelator.deduplicatesForMs;
  }

  /** An operator or the lane's policy resends batches with an unknown outcome: earlier attempts no longer count. */
  #resent(before: LaneState, now: LaneState, by: string): void {
    if (by !== 'resolve-unknown') return;
    for (const [number, batch] of before.unknown) {
      if (now.unknown.has(number)) continue;
      const [old, fresh] = [before.campaigns.get(batch.campaign), now.campaigns.get(batch.campaign)];
      for (let ordinal = batch.first; ordinal < batch.first + batch.count; ordinal += 1) {
        const isResent =
          batch.campaign === OUTBOX_ID
            ? now.outbox?.numbered.get(ordinal)?.state === 'planned'
            : old?.statuses[ordinal] === 'U' && (fresh?.statuses[ordinal] ?? '\0') === '\0';
        if (!isResent) continue;
        const number = this.#world.numberOf(batch.campaign, ordinal);
        for (const attempt of this.#attempts.get(this.#world.recipientOf(batch.campaign, number)) ?? []) {
          if (attempt.arrivesBy > this.#world.clock.now && !attempt.isClosed) {
            throw new Violation(
              2,
              `${number} is to be resent, although the request sent at ${attempt.at} ms may still arrive until ${attempt.arrivesBy} ms`,
            );
          }
          attempt.isClosed = true;
        }
      }
    }
  }

  /** A claim takes a campaign whose window it finds closed out of the rotation. */
  #closed(before: LaneState, now: LaneState): void {
    for (const id of now.running) {
      const opensAt = now.campaigns.get(id)?.state.opensAt;
      if (opensAt !== undefined && before.campaigns.get(id)?.state.opensAt === undefined)
        throw new Violation(12, `${id} stays in the rotation when its window closes`);
    }
  }

  #halts(history: LaneHistory, now: LaneState): void {
    for (const [id, { state }] of now.campaigns) {
      const isHalted = state.state === 'paused' || state.state === 'cancelled';
      if (!isHalted) history.halted.delete(id);
      else if (!history.halted.has(id)) {
        const inFlight = new Set(
          [...now.claims].filter(([, { campaign }]) => campaign === id).map(([number]) => number),
        );
        history.halted.set(id, { at: this.#world.clock.now, inFlight });
      }
    }
  }
}
