import type { ClaimState, LaneState } from './lane-state.js';
import type { CampaignPlan, OutboxPlan } from './scenario.js';
import { Violation } from './violation.js';
import type { World } from './world.js';

/** A put of a message. Each has a number of its own, by which its request is recognised. */
export interface Put {
  readonly id: string;
  readonly number: string;
  readonly version: number | null;
  /** Whether every attempt was answered. Otherwise one may take effect at any later time. */
  isCertain: boolean;
}

/** A message as it was planned: where it is, and when it is due, s. */
export interface Planned {
  readonly campaign: string;
  readonly ordinal: number;
  readonly number: string;
  readonly due: number;
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
/** The states of a message whose request the service may have accepted. */
const MAY_BE_ACCEPTED = [
  'unknown',
  'deliveredToNetwork',
  'deliveredToTerminal',
  'deliveryImpossible',
  'unconfirmed',
  'abandoned',
];
/** A process sends no later than this after it has last seen that its claim holds, ms. */
const UNCONFIRMED_MS = 2_000;

/**
 * Watches an outbox. What it has acknowledged must hold: a cancelled message is not sent, nor the earlier text of one that was changed,
 * nor one that is too late; an id is accepted at most once; and every message is accounted for.
 */
export class OutboxChecker {
  readonly plan: OutboxPlan;
  readonly #world: World;
  /** The plan of the outbox in the place of a campaign, which each of its waves shares. */
  readonly campaign: CampaignPlan;
  readonly #puts = new Map<string, Put>();
  readonly #putsOf = new Map<string, Put[]>();
  /** Numbers that must not be sent. */
  readonly #forbidden = new Map<string, Promised>();
  readonly #waves = new Map<string, Planned[]>();
  readonly #places = new Map<string, Planned[]>();
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
  readonly #textOfWave = new Map<string, string>();
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

  /** Whether this is the outbox, or one of its waves. */
  has(campaign: string): boolean {
    return campaign === this.plan.name || this.#waves.has(campaign);
  }

  numberOf(wave: string, ordinal: number): string {
    return this.#waves.get(wave)?.[ordinal]?.number ?? '';
  }

  /** Where a number was planned. */
  placesOf(number: string): readonly Planned[] {
    return this.#places.get(number) ?? [];
  }

  idOf(number: string): string {
    return this.#puts.get(number)?.id ?? 'no message';
  }

  /** A put that is about to be sent to the outbox. */
  newPut(id: string, version: number | null): Put {
    const put: Put = { id, number: `+491511${1_000_000 + this.#puts.size}`, version, isCertain: true };
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
    if (accepted.has(`${this.plan.name} ${number}`))
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

  /** Notes what is planned since the last look. Other checkers ask for it. */
  noted({ outbox }: LaneState): void {
    for (const [wave, planned] of outbox?.recipients ?? []) {
      for (const [ordinal, text] of planned.entries()) {
        const [digits = '', due = ''] = text.split(' ');
        const before = this.#waves.get(wave)?.[ordinal];
        if (before?.number === `+${digits}` && before.due === Number(due)) continue;
        this.#plan(wave, ordinal, `+${digits}`, Number(due));
      }
    }
  }

  #plan(campaign: string, ordinal: number, number: string, due: number): void {
    const wave = this.#waves.get(campaign) ?? [];
    this.#waves.set(campaign, wave);
    const planned = { campaign, ordinal, number, due };
    wave[ordinal] = planned;
    this.#places.set(number, [...this.placesOf(number), planned]);
  }

  /** A message that waits lapses only when it is too late. */
  #retired(before: LaneState, { ended }: NonNullable<LaneState['outbox']>, by: string): void {
    for (const [id, kind] of ended) {
      const due = before.outbox?.waiting.get(id);
      if (kind === 'L' && due !== undefined && !this.#isLate(Number(due)))
        throw new Violation(13, `${id} lapses before its time is over, after ${by}`);
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
    const numberIn = (field: string): number => Number(outbox.fields.get(field) ?? 0);
    const sum =
      ['waiting', 'cancelled', 'lapsed'].reduce((all, field) => all + numberIn(field), 0) +
      [...outbox.fields.keys()].reduce(
        (all, field) => all + (field.startsWith('removed:') ? numberIn(field) : 0),
        0,
      ) +
      outbox.waves.reduce((all, wave) => all + (now.campaigns.get(wave)?.state.total ?? 0), 0);
    if (sum !== numberIn('total'))
      throw new Violation(4, `the outbox has ${sum} messages, and counts ${numberIn('total')}, after ${by}`);
    if (outbox.waiting.size !== numberIn('waiting'))
      throw new Violation(
        4,
        `${outbox.waiting.size} messages wait, but the outbox counts ${numberIn('waiting')}, after ${by}`,
      );
    if (before === undefined || by === 'data loss') return;
    const planned = (state: LaneState): number =>
      outbox.waves.reduce((sum, wave) => sum + (state.campaigns.get(wave)?.state.total ?? 0), 0);
    if (outbox.fields.get('state') === 'paused' && planned(now) > planned(before))
      throw new Violation(8, 'messages are planned although the outbox is paused');
    if (by === 'claim-send') this.#claimed(before, now);
    this.#retired(before, outbox, by);
    this.#lapsed(before, now, by);
  }

  #claimed(before: LaneState, now: LaneState): void {
    for (const [number, { campaign, first, count, placeholder }] of now.claims) {
      const planned = this.#waves.get(campaign);
      if (planned === undefined || placeholder !== undefined || before.claims.has(number)) continue;
      for (const message of planned.slice(first, first + count)) {
        if (message.due * 1_000 + this.plan.lateMs <= now.time)
          throw new Violation(13, `${this.idOf(message.number)} is claimed too late`);
      }
    }
  }

  #lapsed(before: LaneState, now: LaneState, by: string): void {
    for (const [wave, planned] of this.#waves) {
      const [old, fresh] = [before.campaigns.get(wave), now.campaigns.get(wave)];
      if (fresh === undefined || old?.statuses === fresh.statuses) continue;
      for (const [ordinal, message] of planned.entries()) {
        if (fresh.statuses[ordinal] !== 'L' || old?.statuses[ordinal] === 'L') continue;
        if (!this.#isLate(message.due))
          throw new Violation(13, `${wave}:${ordinal} lapses before its time is over, after ${by}`);
      }
    }
  }

  /** Called when a request with this number leaves. `claimed`: its claim, with its number; undefined if Redis has lost it. */
  sent(
    number: string,
    claimed: readonly [claim: string, state: ClaimState] | undefined,
    wave: string,
    text: string,
  ): void {
    const promised = this.#forbidden.get(number);
    if (promised !== undefined) throw new Violation(13, `${number} is sent, but ${promised.why}`);
    const [claim, state] = claimed ?? [];
    const before = this.#textOfWave.get(wave) ?? text;
    if (before !== text)
      throw new Violation(13, `${wave} sends ${text} to ${number}, and sent ${before} before`);
    this.#textOfWave.set(wave, text);
    const replaced = this.#replaced.get(text);
    if (
      replaced !== undefined &&
      claim !== undefined &&
      state?.again === undefined &&
      !replaced.inFlight.has(claim)
    )
      throw new Violation(13, `${number} is sent with ${text}, which was replaced before it was claimed`);
    const paused = this.#paused;
    if (paused === undefined || claim === undefined) return;
    if (!paused.inFlight.has(claim))
      throw new Violation(8, `${number} is sent, claimed after the outbox was paused`);
    if (this.#world.clock.now - paused.at > UNCONFIRMED_MS)
      throw new Violation(8, `${number} is sent long after the outbox was paused`);
  }

  /** Called when the service accepts a request with this number. */
  accepted(number: string): void {
    const promised = this.#forbidden.get(number);
    if (promised !== undefined) throw new Violation(13, `${number} is accepted, but ${promised.why}`);
  }

  /** Whether nothing is left to do. */
  hasEnded({ outbox }: LaneState): boolean {
    return outbox?.fields.get('closed') === '1' && Number(outbox.fields.get('waiting')) === 0;
  }

  /** Checks the state of each message against what the service has accepted. `stateOf`: undefined for an unknown id. */
  async ended(state: LaneState, stateOf: (id: string) => Promise<string | undefined>): Promise<void> {
    const total = Number(state.outbox?.fields.get('total'));
    // What has ended is forgotten when the clock is set forward, and may be cancelled again.
    const isCertain = this.#isCertain && !this.#world.scenario.faults.has('clock');
    if (isCertain && (total < this.#known.size || total > this.#most))
      throw new Violation(4, `the outbox has ${total} messages, but it took ${this.#known.size}`);
    const { accepted } = this.#world.serviceOf(this.plan.lane);
    for (const [id, puts] of this.#putsOf) {
      const seen = await stateOf(id);
      const sent = puts.filter(({ number }) => accepted.has(`${this.plan.name} ${number}`));
      // The ids of sent messages live as long as their wave.
      // Where one was planned before that, Redis has lost it.
      const wasAccepted = sent.some(({ number }) =>
        state.campaigns.has(this.placesOf(number).at(-1)?.campaign ?? ''),
      );
      if (seen === 'waiting') throw new Violation(4, `${id} still waits`);
      if (wasAccepted && !MAY_BE_ACCEPTED.includes(seen ?? ''))
        throw new Violation(4, `the service accepted ${id}, but it is ${seen ?? 'unknown to the outbox'}`);
    }
  }
}
