import { RECIPIENT_STATE, type RecipientState } from '../../../src/campaign/states/recipient.js';
import type { CampaignPlan, OutboxPlan } from '../scenario/scenario.js';
import {
  type ClaimState,
  type LaneState,
  type ObservedMessage,
  type ObservedOutbox,
  OUTBOX_ID,
} from '../server/lane-state.js';
import { Violation } from '../violation.js';
import type { World } from '../world.js';

/** A put of a message. Each has a number of its own, by which its request is recognised. */
export interface Put {
  readonly id: string;
  /** What must be accepted at most once: the id, until it is forgotten. */
  readonly under: string;
  readonly number: string;
  readonly version: number | null;
  /** Whether every attempt was answered. Otherwise one may take effect at any later time. */
  isCertain: boolean;
}

/** A text that the outbox was given. Without an answer, it may get it at any later time. */
interface GivenText {
  readonly text: string;
  readonly givenAt: number;
  answeredAt: number | undefined;
}

/** When a text was replaced, and the claims that were in flight then. */
interface Replaced {
  readonly at: number;
  readonly inFlight: ReadonlySet<string>;
}

/** Something that an answer has promised. A loss of data may undo it. */
interface Promised {
  readonly why: string;
  readonly at: number;
}

const NO_BATCH: ReadonlySet<number> = new Set();
const OPEN: ReadonlySet<string> = new Set(['planned', 'sending', 'unknown', 'deliveredToNetwork']);
/** A message with this state may be put again, under another number. */
const NEVER_SENT: ReadonlySet<string> = new Set(['cancelled', 'lapsed']);
/** The states of a message whose request the service may have accepted. */
const MAY_BE_ACCEPTED = [
  'unknown',
  'deliveredToNetwork',
  'deliveredToTerminal',
  'deliveryImpossible',
  'unconfirmed',
  'abandoned',
];
const NEVER_CLAIMED: ReadonlySet<string> = new Set(['planned', ...NEVER_SENT]);
/** A process sends no later than this after it has last seen that its claim holds, ms. */
const UNCONFIRMED_MS = 2_000;

/**
 * Watches an outbox. What it has acknowledged must hold: a cancelled message is not sent, nor the earlier text of one that was changed,
 * nor one that is too late; an id is accepted at most once; every message is accounted for, and is due at some time or has ended.
 */
export class OutboxChecker {
  readonly plan: OutboxPlan;
  readonly #world: World;
  /** The plan of the outbox in the place of a campaign. */
  readonly campaign: CampaignPlan;
  readonly #puts = new Map<string, Put>();
  /** Those under each id, since it was last forgotten. */
  readonly #putsOf = new Map<string, Put[]>();
  readonly #timesForgotten = new Map<string, number>();
  /** Numbers that must not be sent. */
  readonly #forbidden = new Map<string, Promised>();
  /** The messages by their numbers, as they were last, and the numbers of those with a recipient. */
  readonly #messages = new Map<number, ObservedMessage>();
  readonly #numbersOf = new Map<string, number[]>();
  /** How many messages of each state were forgotten. */
  #forgotten: ReadonlyMap<string, number> = new Map();
  /** Since when the outbox is paused, and the claims that were in flight then. */
  #paused: { readonly at: number; readonly inFlight: ReadonlySet<string> } | undefined;
  #savedAt = 0;
  /** Ids that the outbox has acknowledged, and the most messages that they may be: one that has ended may be put again. */
  readonly #known = new Set<string>();
  #most = 0;
  /** The version that was acknowledged last under each id. */
  readonly #versions = new Map<string, number>();
  /** The texts of the outbox: the first, and those that it was given. */
  readonly #texts: GivenText[] = [];
  /** Texts with which nothing is sent any more, except what was in flight. */
  readonly #replaced = new Map<string, Replaced>();
  /** The text of the last request of each message. */
  readonly #textOf = new Map<number, string>();
  /** Whether every operation was answered, and Redis has lost nothing. */
  #isCertain = true;

  constructor(world: World, plan: OutboxPlan) {
    this.#world = world;
    this.plan = plan;
    const { name: id, lane, window, priority } = plan;
    this.#texts.push({ text: id, givenAt: -1, answeredAt: -1 });
    this.campaign = {
      id,
      lane,
      range: 0,
      recipients: 0,
      priority,
      committedAt: 0,
      startsInMs: 0,
      validForMs: 0,
      bad: NO_BATCH,
      suppressed: NO_BATCH,
      ...(window === undefined ? {} : { window }),
    };
  }

  /** The recipient of a message. */
  numberOf(message: number): string {
    return this.#messages.get(message)?.to ?? '';
  }

  /** The messages that had a recipient. */
  ordinalsOf(number: string): readonly number[] {
    return this.#numbersOf.get(number) ?? [];
  }

  /** What must be accepted at most once of those with a number. */
  idOf(number: string): string {
    return this.#puts.get(number)?.under ?? 'no message';
  }

  /** A put that is about to be sent to the outbox. */
  newPut(id: string, version: number | null): Put {
    const under = `${id}, forgotten ${this.#timesForgotten.get(id) ?? 0} times`;
    const put: Put = {
      ...{ id, under, version, isCertain: true },
      number: `+491511${1_000_000 + this.#puts.size}`,
    };
    this.#puts.set(put.number, put);
    this.#putsOf.set(id, [...(this.#putsOf.get(id) ?? []), put]);
    return put;
  }

  /** No answer came: the put, or the cancel, may take effect at any later time. */
  unanswered(put: Put | undefined): void {
    if (put !== undefined) put.isCertain = false;
    this.#isCertain = false;
  }

  putAnswered(put: Put, outcome: string): void {
    if (outcome === 'created') {
      this.#known.add(put.id);
      this.#most += 1;
    }
    if (outcome === 'created' || outcome === 'updated') this.#replaces(put.id, put, put.version, outcome);
    else if (outcome !== 'unchanged' && put.isCertain)
      this.#forbid(put.number, `the outbox answered ${outcome}`);
  }

  cancelAnswered(id: string, version: number | null, outcome: string): void {
    if (outcome !== 'cancelled') return;
    // An id that is not known is cancelled as well.
    if (!this.#known.has(id)) this.#most += 1;
    this.#known.add(id);
    this.#replaces(id, undefined, version, 'cancelled');
  }

  /** What was put earlier under an id is not sent any more. */
  #replaces(id: string, by: Put | undefined, version: number | null, how: string): void {
    const last = this.#versions.get(id) ?? -1;
    if (by !== undefined && version !== null && version < last && !this.#world.scenario.faults.has('clock'))
      throw new Violation(13, `${id} was ${how} with version ${version} after version ${last}`);
    if (by !== undefined && version !== null) this.#versions.set(id, version);
    for (const put of this.#putsOf.get(id) ?? []) {
      // One that was not answered may take effect later, unless its version is too low; that is forgotten after some time.
      const isOld = by !== undefined && version !== null && put.version !== null && put.version < version;
      const isOver = put.isCertain || (isOld && !this.#world.scenario.faults.has('clock'));
      if (put !== by && isOver) this.#forbid(put.number, `${id} was ${how}`);
    }
  }

  #forbid(number: string, why: string): void {
    if (this.#forbidden.has(number)) return;
    this.#forbidden.set(number, { why, at: this.#world.clock.now });
    const { accepted } = this.#world.serviceOf(this.plan.lane);
    if (accepted.has(`${OUTBOX_ID} ${number}`))
      throw new Violation(13, `${why}, but ${number} was accepted before`);
  }

  /** Whether the messages of the outbox may have this text. */
  isText(text: string): boolean {
    return text === this.plan.name || text.startsWith(`${this.plan.name} `);
  }

  /** A text that the outbox is about to be given. */
  newText(): string {
    const text = `${this.plan.name} ${this.#texts.length}`;
    this.#texts.push({ text, givenAt: this.#world.clock.now, answeredAt: undefined });
    return text;
  }

  /** The outbox has acknowledged a text: it does not send those any more that it had before this one was given. */
  textAnswered(text: string): void {
    const at = this.#world.clock.now;
    const given = this.#texts.find((one) => one.text === text);
    if (given === undefined) return;
    given.answeredAt = at;
    const claims = this.#world.checker.lane(this.plan.lane)?.claims ?? new Map<string, ClaimState>();
    for (const { text: before, answeredAt } of this.#texts) {
      if (answeredAt === undefined || answeredAt >= given.givenAt || this.#replaced.has(before)) continue;
      this.#replaced.set(before, { at, inFlight: new Set(claims.keys()) });
    }
  }

  /** The outbox has acknowledged that it is paused; `false`: it may be resumed. */
  pauseAnswered(isPaused: boolean): void {
    const claims = this.#world.checker.lane(this.plan.lane)?.claims ?? new Map<string, ClaimState>();
    this.#paused = isPaused ? { at: this.#world.clock.now, inFlight: new Set(claims.keys()) } : undefined;
  }

  redisSaved(): void {
    this.#savedAt = this.#world.clock.now;
  }

  redisLostData(): void {
    this.#isCertain = false;
    this.#versions.clear();
    this.#paused = undefined;
    for (const [text, { at }] of this.#replaced) if (at >= this.#savedAt) this.#replaced.delete(text);
    for (const given of this.#texts)
      if ((given.answeredAt ?? 0) >= this.#savedAt) given.answeredAt = undefined;
    for (const [number, { at }] of this.#forbidden) {
      if (at >= this.#savedAt) this.#forbidden.delete(number);
    }
  }

  /** Notes what is stored since the last look. Other checkers ask for it. */
  noted({ outbox }: LaneState): void {
    for (const [number, message] of outbox?.numbered ?? []) {
      const before = this.#messages.get(number);
      if (before === message) continue;
      // A number that was never in a request may be used again after a loss.
      const isUsed = before !== undefined && !NEVER_CLAIMED.has(before.state);
      if (isUsed && before.id !== message.id)
        throw new Violation(4, `${message.id} has the number ${number}, which ${before.id} had`);
      this.#messages.set(number, message);
      if (before?.to === message.to) continue;
      this.#numbersOf.set(message.to, [...this.ordinalsOf(message.to), number]);
    }
  }

  /** A lane keeps its time when the clock is set back a little. */
  #isLate(due: number): boolean {
    const laneTime = this.#world.checker.lane(this.plan.lane)?.time ?? 0;
    return due * 1_000 + this.plan.lateMs <= Math.max(this.#world.server.time, laneTime);
  }

  /** Called with the state of the lane after each command that may have changed it. */
  observed(before: LaneState | undefined, now: LaneState, by: string): void {
    const { outbox } = now;
    if (outbox === undefined) return;
    this.#counted(now, outbox, by);
    this.#dated(outbox, by);
    if (before?.outbox === undefined || by === 'data loss') return;
    if (by === 'claim-send') this.#claimed(before, now, outbox);
    for (const [id, message] of outbox.messages) this.#moved(before.outbox.messages.get(id), message, by);
    for (const id of before.outbox.messages.keys()) {
      if (outbox.messages.has(id)) continue;
      if (by !== 'tend-outbox') throw new Violation(4, `${id} is gone after ${by}`);
      this.#timesForgotten.set(id, (this.#timesForgotten.get(id) ?? 0) + 1);
      this.#putsOf.delete(id);
      this.#versions.delete(id);
    }
  }

  /** The counts are those of the messages that are stored, and of the final ones that were forgotten. */
  #counted({ claims }: LaneState, { state, messages }: ObservedOutbox, by: string): void {
    const stored = new Map<string, number>();
    for (const one of messages.values()) stored.set(one.state, (stored.get(one.state) ?? 0) + 1);
    const sum = Object.values(state.counts).reduce((all, count) => all + count, 0);
    if (sum !== state.total)
      throw new Violation(4, `the outbox has ${sum} messages, and counts ${state.total}, after ${by}`);
    const forgotten = new Map<string, number>();
    for (const name of new Set([...stored.keys(), ...Object.keys(state.counts)])) {
      const left = (state.counts[name] ?? 0) - (stored.get(name) ?? 0);
      const mayDiffer = !OPEN.has(name) && (by === 'tend-outbox' || by === 'data loss');
      if (left !== (this.#forgotten.get(name) ?? 0) && !mayDiffer)
        throw new Violation(
          4,
          `the outbox counts ${state.counts[name] ?? 0} ${name}, but has ${stored.get(name) ?? 0}, after ${by}`,
        );
      forgotten.set(name, left);
    }
    this.#forgotten = forgotten;
    const claimed = [...claims.values()].filter(({ campaign }) => campaign === OUTBOX_ID);
    if (claimed.length !== (stored.get('sending') ?? 0))
      throw new Violation(
        4,
        `${stored.get('sending') ?? 0} messages are in flight, but ${claimed.length} claims, after ${by}`,
      );
  }

  /** What waits is due at some time, and what has ended is forgotten at some time. */
  #dated({ messages, due }: ObservedOutbox, by: string): void {
    for (const [id, { state }] of messages) {
      const at = due.get(id);
      const isRight =
        state === 'sending' ? at === undefined : at !== undefined && (state === 'planned' ? at >= 0 : at < 0);
      if (!isRight)
        throw new Violation(4, `${id} is ${state}, but has the time ${at ?? 'none'}, after ${by}`);
    }
  }

  /** A message is claimed in time, and not while its outbox is paused. */
  #claimed(before: LaneState, now: LaneState, { numbered, state }: ObservedOutbox): void {
    for (const [claim, { campaign, first, placeholder, turn }] of now.claims) {
      if (campaign !== OUTBOX_ID || placeholder !== undefined || turn === 'placeholder') continue;
      if (before.claims.has(claim)) continue;
      if (state.state === 'paused')
        throw new Violation(8, `message ${first} is claimed although the outbox is paused`);
      const { id, due = 0 } = numbered.get(first) ?? {};
      if (due * 1_000 + this.plan.lateMs <= now.time) throw new Violation(13, `${id} is claimed too late`);
    }
  }

  /** A message changes its state only as its state machine allows, and lapses only when it is too late. */
  #moved(before: ObservedMessage | undefined, now: ObservedMessage, by: string): void {
    if (before === now) return;
    if (before === undefined || before.number !== now.number) {
      if (before !== undefined && !NEVER_SENT.has(before.state))
        throw new Violation(5, `${now.id} has another number, and was ${before.state}, after ${by}`);
      return;
    }
    const next: readonly RecipientState[] = RECIPIENT_STATE[before.state].next;
    if (before.state !== now.state && !next.includes(now.state))
      throw new Violation(5, `${now.id} changed from ${before.state} to ${now.state}, after ${by}`);
    if (before.state !== now.state && now.state === 'lapsed' && !this.#isLate(now.due))
      throw new Violation(13, `${now.id} lapses before its time is over, after ${by}`);
    if (before.to !== now.to && before.state !== 'planned')
      throw new Violation(13, `${now.id} has another recipient, and was ${before.state}, after ${by}`);
  }

  /** Called when a request with this number leaves. `claimed`: its claim, with its number; undefined if Redis has lost it. */
  sent(number: string, claimed: readonly [claim: string, state: ClaimState] | undefined, text: string): void {
    const promised = this.#forbidden.get(number);
    if (promised !== undefined) throw new Violation(13, `${number} is sent, but ${promised.why}`);
    const [claim, state] = claimed ?? [];
    if (state !== undefined) this.#repeated(state, text);
    const replaced = this.#replaced.get(text);
    if (replaced !== undefined && claim !== undefined && state?.again === undefined) {
      if (!replaced.inFlight.has(claim))
        throw new Violation(13, `${number} is sent with ${text}, which was replaced before it was claimed`);
      if (this.#world.clock.now - replaced.at > UNCONFIRMED_MS)
        throw new Violation(13, `${number} is sent with ${text} long after that was replaced`);
    }
    const paused = this.#paused;
    if (paused === undefined || claim === undefined) return;
    if (!paused.inFlight.has(claim))
      throw new Violation(8, `${number} is sent, claimed after the outbox was paused`);
    if (this.#world.clock.now - paused.at > UNCONFIRMED_MS)
      throw new Violation(8, `${number} is sent long after the outbox was paused`);
  }

  /** A request that may have been accepted goes again unchanged. */
  #repeated({ first, again }: ClaimState, text: string): void {
    const before = this.#textOf.get(first) ?? text;
    if (before !== text && again !== undefined)
      throw new Violation(
        13,
        `message ${first} is sent again with ${text}, and was sent with ${before} before`,
      );
    this.#textOf.set(first, text);
  }

  /** Called when the service accepts a request with this number. */
  accepted(number: string): void {
    const promised = this.#forbidden.get(number);
    if (promised !== undefined) throw new Violation(13, `${number} is accepted, but ${promised.why}`);
  }

  /** Whether nothing is left to do. */
  hasEnded({ outbox }: LaneState): boolean {
    if (outbox?.fields.get('closed') !== '1') return false;
    return ![...outbox.messages.values()].some(({ state }) => OPEN.has(state));
  }

  /** Checks the state of each message against what the service has accepted. `stateOf`: undefined for an unknown id. */
  async ended(state: LaneState, stateOf: (id: string) => Promise<string | undefined>): Promise<void> {
    const total = state.outbox?.state.total ?? 0;
    // What has ended is forgotten when the clock is set forward, and may be cancelled again.
    const isCertain = this.#isCertain && !this.#world.scenario.faults.has('clock');
    if (isCertain && (total < this.#known.size || total > this.#most))
      throw new Violation(4, `the outbox has ${total} messages, but it took ${this.#known.size}`);
    const { accepted } = this.#world.serviceOf(this.plan.lane);
    for (const [id, puts] of this.#putsOf) {
      const seen = await stateOf(id);
      const { to } = state.outbox?.messages.get(id) ?? {};
      if (seen === 'waiting') throw new Violation(4, `${id} still waits`);
      const wasAccepted = puts.some(({ number }) => number === to && accepted.has(`${OUTBOX_ID} ${number}`));
      if (wasAccepted && !MAY_BE_ACCEPTED.includes(seen ?? ''))
        throw new Violation(4, `the service accepted ${id}, but it is ${seen ?? 'unknown to the outbox'}`);
      if (to === undefined && puts.some(({ number }) => accepted.has(`${OUTBOX_ID} ${number}`)))
        throw new Violation(4, `the service accepted ${id}, which the outbox does not know`);
    }
  }
}
