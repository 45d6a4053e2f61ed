import type { LaneState } from '../server/lane-state.js';
import { Violation } from '../violation.js';
import type { World } from '../world.js';

/** After this many successful responses a lane must count as working, even if killed processes could not settle some. */
const ENOUGH_RESPONSES = 8;

interface Resumption {
  /** ms of virtual time. */
  readonly at: number;
  /** Requests sent since then that the service has answered with success. */
  answered: number;
}

/** Once an operator has resumed a lane, outcomes from before that do not stop it again (invariant 9). */
export class ResumptionChecker {
  readonly #world: World;
  readonly #resumptions = new Map<string, Resumption>();

  constructor(world: World) {
    this.#world = world;
  }

  dataLost(lane: string): void {
    this.#resumptions.delete(lane);
  }

  observed(lane: string, before: LaneState, now: LaneState, by: string): void {
    if (by === 'command-lane' && now.epoch !== before.epoch) {
      if (this.#isFixed(lane)) this.#resumptions.set(lane, { at: this.#world.clock.now, answered: 0 });
      else this.#resumptions.delete(lane);
      return;
    }
    const resumption = this.#resumptions.get(lane);
    if (resumption === undefined) return;
    if (before.stopped === '' && now.stopped !== '' && this.#lastRefusalAt(lane) < resumption.at) {
      throw new Violation(
        9,
        `${by} stops ${lane}, which was resumed at ${resumption.at} ms, and nothing was refused since: ${now.stopped}`,
      );
    }
    if (now.unproven && this.#world.isCalm && resumption.answered >= ENOUGH_RESPONSES) {
      throw new Violation(
        9,
        `${lane} still counts as unproven after ${resumption.answered} responses since it was resumed`,
      );
    }
  }

  /** The service answers a request that was sent at that time with success. */
  answered(lane: string, sentAt: number): void {
    const resumption = this.#resumptions.get(lane);
    if (resumption !== undefined && sentAt >= resumption.at) resumption.answered += 1;
  }

  /** An account may still be stopped by an earlier refusal until the operator has logged in again. */
  #isFixed(lane: string): boolean {
    const { credentials } = this.#world.planOf(lane).settings;
    return credentials.kind === 'apiKey' || this.#world.incident?.isResuming(lane) === true;
  }

  /** When the last refused request or login was sent, ms of virtual time. */
  #lastRefusalAt(lane: string): number {
    return Math.max(this.#world.serviceOf(lane).refusedAt, this.#world.accountsOf(lane).refusedAt);
  }
}
