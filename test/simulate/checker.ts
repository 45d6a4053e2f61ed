import { FairnessChecker } from './check-fairness.js';
import { GateChecker } from './check-gate.js';
import { ResumptionChecker } from './check-resumption.js';
import { StatusChecker } from './check-statuses.js';
import type { ClaimState, LaneState } from './lane-state.js';
import type { Process } from './process.js';
import { ordinalOf } from './scenario.js';
import type { Attempt } from './service.js';
import { Violation } from './violation.js';
import type { World } from './world.js';

/** How long a claim may be old before its owner asks whether it still stands; see lane/send-deadline.ts. */
const UNCONFIRMED_MS = 2_000;

interface LaneBook {
  last: LaneState | undefined;
  /** Arrivals at the service within the window, ms. */
  readonly arrivals: number[];
  /** Requests that left since the server last remembered, whose permits it may have forgotten. */
  departures: number[];
  /** Arrivals above the quota that a loss excuses, and until when. */
  excused: number;
  excusedUntil: number;
  /** Claims that were there and were forgotten. */
  readonly lost: Map<string, ClaimState>;
  /** Campaigns that may not start anything: since when, and what was in flight then. */
  readonly halted: Map<string, { at: number; inFlight: ReadonlySet<string> }>;
}

/** Sees everything that leaves a process or is written, and throws a Violation at what must not be. */
export class Checker {
  /** Whether the server has ever lost what it had answered. */
  hasForgotten = false;
  readonly #world: World;
  readonly #lanes = new Map<string, LaneBook>();
  readonly #attempts = new Map<string, Attempt[]>();
  readonly #books: StatusChecker;
  readonly #gate: GateChecker;
  readonly #openings: ResumptionChecker;
  readonly #turns: FairnessChecker;

  constructor(world: World) {
    this.#world = world;
    this.#books = new StatusChecker(world);
    this.#gate = new GateChecker(world);
    this.#openings = new ResumptionChecker(world);
    this.#turns = new FairnessChecker(world);
  }

  lane(name: string): LaneState | undefined {
    return this.#book(name).last;
  }

  /** A lane as it stands after a command. */
  observed(name: string, now: LaneState, by: string): void {
    const book = this.#book(name);
    const before = book.last;
    if (before === now && by !== 'forgotten') return;
    book.last = now;
    if (by === 'forgotten') {
      for (const [number, claim] of before?.claims ?? [])
        if (!now.claims.has(number)) book.lost.set(number, claim);
      this.#books.forgotten(name, now);
      this.#turns.forgotten(name);
      this.#openings.forgotten(name);
      book.halted.clear();
      return;
    }
    this.#halts(book, now);
    if (before !== undefined) {
      this.#resent(before, now, by);
      this.#gate.observed(name, before, now, by);
      this.#turns.observed(name, before, now, by);
      this.#openings.observed(name, before, now, by);
    }
    this.#books.observed(name, before, now, by);
  }

  /** A request leaves a process. */
  departed(process: Process, name: string, kind: 'send' | 'poll', attempt: Attempt | undefined): void {
    const book = this.#book(name);
    const { now } = this.#world.clock;
    book.departures.push(now);
    if (kind === 'poll' || attempt === undefined) return;
    if (this.#world.trace.isWanted)
      this.#world.trace.add(process.name, `sends ${attempt.recipients.join(' ')}`);
    for (const number of attempt.recipients) this.#onceOnly(number, attempt);
    const [first = ''] = attempt.recipients;
    const { campaign } = attempt;
    const ordinal = ordinalOf(first);
    const covers = ([, claim]: readonly [string, ClaimState]): boolean =>
      claim.c === campaign && claim.f <= ordinal && ordinal < claim.f + claim.k;
    const standing = [...(book.last?.claims ?? [])].find(
      (entry) => covers(entry) && entry[1].g === undefined,
    );
    const lost = [...book.lost].find(covers);
    if (standing === undefined && lost === undefined) {
      throw new Violation(
        3,
        `${process.name} sends ${first} of ${campaign} and no claim of it stands in Redis`,
      );
    }
    const halt = book.halted.get(campaign);
    if (halt === undefined || lost !== undefined) return;
    if (!halt.inFlight.has(standing?.[0] ?? '')) {
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

  /** What was refused by its content was not taken under the same correlator before, where those are known again. */
  refused({ campaign, recipients, correlator }: Attempt): void {
    for (const number of correlator === undefined ? [] : recipients) {
      for (const before of this.#attempts.get(`${campaign} ${number}`) ?? []) {
        if (before.correlator === correlator && this.#deduplicates(campaign)) before.isOver = true;
      }
    }
  }

  /** The service has dealt with a request that left at that time. */
  dealt(name: string, leftAt: number): void {
    this.#openings.dealt(name, leftAt);
  }

  /** A request has reached the service. */
  arrived(name: string): void {
    const plan = this.#world.planOf(name);
    if (plan.settings.hourlyQuota === 'auto') return;
    const book = this.#book(name);
    const { now } = this.#world.clock;
    const { quotaWindowMs } = this.#world.scenario.config;
    book.arrivals.push(now);
    while ((book.arrivals[0] ?? now) <= now - quotaWindowMs) book.arrivals.shift();
    const excused = now < book.excusedUntil ? book.excused : 0;
    if (book.arrivals.length > plan.settings.hourlyQuota + excused) {
      throw new Violation(
        1,
        `${book.arrivals.length} requests of ${name} within ${quotaWindowMs} ms, ${plan.settings.hourlyQuota} allowed`,
      );
    }
  }

  /** The service counts more than it allows. */
  throttled(name: string): void {
    const plan = this.#world.planOf(name);
    if (plan.settings.hourlyQuota !== 'auto' && !this.hasForgotten) {
      throw new Violation(1, `a 429 on ${name} by the way "${plan.model}" of counting`);
    }
  }

  remembered(): void {
    const { now } = this.#world.clock;
    const { requestTimeoutMs } = this.#world.scenario.config;
    for (const book of this.#lanes.values()) {
      book.departures = book.departures.filter((at) => at >= now - 2 * requestTimeoutMs);
    }
  }

  forgot(): void {
    this.hasForgotten = true;
    const { now } = this.#world.clock;
    for (const book of this.#lanes.values()) {
      book.excused += book.departures.length;
      book.excusedUntil = now + 2 * this.#world.scenario.config.quotaWindowMs;
    }
  }

  /** What must be so when everything has ended. */
  async ended(): Promise<void> {
    for (const { settings } of this.#world.scenario.lanes) {
      const book = this.#book(settings.name);
      const state = book.last;
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
            `${map.size} ${what} left in ${settings.name}: ${[...map.keys()].join(' ')}`,
          );
      }
      if (state.running + state.scheduled + state.lapsing > 0) {
        throw new Violation(
          10,
          `a campaign that has ended still runs, is scheduled or lapses in ${settings.name}`,
        );
      }
      this.#books.ended(settings.name, state);
      if (this.#world.scenario.notifications !== undefined) await this.#books.requests(settings.name, state);
    }
  }

  #book(name: string): LaneBook {
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const made: LaneBook = {
      last: undefined,
      arrivals: [],
      departures: [],
      excused: 0,
      excusedUntil: 0,
      lost: new Map(),
      halted: new Map(),
    };
    this.#lanes.set(name, made);
    return made;
  }

  #onceOnly(number: string, attempt: Attempt): void {
    const place = `${attempt.campaign} ${number}`;
    const known = this.#attempts.get(place) ?? [];
    for (const before of known) {
      const isRepeat =
        attempt.correlator !== undefined &&
        this.#deduplicates(attempt.campaign) &&
        before.correlator === attempt.correlator &&
        before.recipients.join() === attempt.recipients.join();
      if (!before.isOver && !isRepeat) {
        throw new Violation(
          2,
          `${number} is sent again; what left at ${before.at} ms may have been accepted`,
        );
      }
    }
    known.push(attempt);
    this.#attempts.set(place, known);
  }

  #deduplicates(campaign: string): boolean {
    const { lane } = this.#world.campaign(campaign);
    return this.#world.planOf(lane).settings.clientCorrelator === 'deduplicates';
  }

  /** Somebody said that unknown batches are to be sent again: what left before counts no more. */
  #resent(before: LaneState, now: LaneState, by: string): void {
    if (by !== 'resolve-unknown') return;
    for (const [number, batch] of before.unknown) {
      if (now.unknown.has(number)) continue;
      const [old, fresh] = [before.campaigns.get(batch.c), now.campaigns.get(batch.c)];
      for (let ordinal = batch.f; ordinal < batch.f + batch.k; ordinal += 1) {
        if (old?.statuses[ordinal] !== 'U' || (fresh?.statuses[ordinal] ?? '\0') !== '\0') continue;
        const number = this.#world.numberOf(batch.c, ordinal);
        for (const attempt of this.#attempts.get(`${batch.c} ${number}`) ?? []) attempt.isOver = true;
      }
    }
  }

  #halts(book: LaneBook, now: LaneState): void {
    for (const [id, { state }] of now.campaigns) {
      const isHalted = state.s === 'paused' || state.s === 'cancelled';
      if (!isHalted) book.halted.delete(id);
      else if (!book.halted.has(id)) {
        const inFlight = new Set([...now.claims].filter(([, { c }]) => c === id).map(([number]) => number));
        book.halted.set(id, { at: this.#world.clock.now, inFlight });
      }
    }
  }
}
