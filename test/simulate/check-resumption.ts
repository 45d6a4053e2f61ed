import type { LaneState } from './lane-state.js';
import { Violation } from './violation.js';
import type { World } from './world.js';

/** Answers after which a lane is surely believed to be mended, though processes died before they could settle some. */
const ENOUGH = 8;

interface Opening {
  /** ms of virtual time. */
  readonly at: number;
  /** Requests made since that the service has dealt with. */
  dealt: number;
}

/** A lane that an operator has opened goes on: what was known before does not stop it again (9). */
export class ResumptionChecker {
  readonly #world: World;
  readonly #openings = new Map<string, Opening>();

  constructor(world: World) {
    this.#world = world;
  }

  forgotten(lane: string): void {
    this.#openings.delete(lane);
  }

  observed(lane: string, before: LaneState, now: LaneState, by: string): void {
    if (by === 'command-lane' && now.epoch !== before.epoch) {
      if (this.#isMended(lane)) this.#openings.set(lane, { at: this.#world.clock.now, dealt: 0 });
      else this.#openings.delete(lane);
      return;
    }
    const opening = this.#openings.get(lane);
    if (opening === undefined) return;
    if (before.stopped === '' && now.stopped !== '' && this.#refusedAt(lane) < opening.at) {
      throw new Violation(
        9,
        `${by} stops ${lane}, which was opened at ${opening.at} ms, and nothing was refused since: ${now.stopped}`,
      );
    }
    if (now.unproven && this.#world.isCalm && opening.dealt >= ENOUGH) {
      throw new Violation(9, `${lane} is still tried after ${opening.dealt} answers since it was opened`);
    }
  }

  /** The service has dealt with a request that left at that time. */
  dealt(lane: string, leftAt: number): void {
    const opening = this.#openings.get(lane);
    if (opening !== undefined && leftAt >= opening.at) opening.dealt += 1;
  }

  /** An account may be stopped by what was known of it before, until an operator has logged in. */
  #isMended(lane: string): boolean {
    const { credentials } = this.#world.planOf(lane).settings;
    return credentials.kind === 'apiKey' || this.#world.incident?.isOpening(lane) === true;
  }

  /** When the last request left that was refused, or an account was. */
  #refusedAt(lane: string): number {
    return Math.max(this.#world.serviceOf(lane).refusedAt, this.#world.accountsOf(lane).refusedAt);
  }
}
