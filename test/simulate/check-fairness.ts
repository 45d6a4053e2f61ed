import type { LaneState } from './lane-state.js';
import { Violation } from './violation.js';
import type { World } from './world.js';

/** Whose turn it is: campaigns beside each other, sends beside polls (9). */
export class FairnessChecker {
  readonly #world: World;
  /** Batches that others were given while a campaign waited. */
  readonly #passed = new Map<string, number>();
  /** Polls made while sends waited, and the other way about. */
  readonly #waited = new Map<string, { sends: number; polls: number }>();

  constructor(world: World) {
    this.#world = world;
  }

  forgotten(lane: string): void {
    this.#passed.clear();
    this.#waited.delete(lane);
  }

  observed(lane: string, before: LaneState, now: LaneState, by: string): void {
    if (by === 'claim-send') this.#campaigns(before, now);
    if (by === 'command-lane' || by === 'command-campaign') this.#waited.delete(lane);
    if (this.#world.isCalm) this.#kinds(lane, before, now);
  }

  #campaigns(before: LaneState, now: LaneState): void {
    const given = new Map<string, number>();
    for (const [number, { c, g }] of now.claims) {
      if (!before.claims.has(number) && g === undefined) given.set(c, (given.get(c) ?? 0) + 1);
    }
    if (given.size === 0) return;
    for (const [id, { state }] of before.campaigns) {
      const hasSome = state.s === 'running' && state.rest === 'planned' && (state.n['planned'] ?? 0) > 0;
      const waits = hasSome && state.opens <= now.time;
      if (!waits || given.has(id)) {
        this.#passed.delete(id);
        continue;
      }
      const others = [...given].reduce((sum, [, count]) => sum + count, 0);
      const passed = (this.#passed.get(id) ?? 0) + others;
      this.#passed.set(id, passed);
      // Each of the others has a head start of five turns when it comes or comes back, and high priority is four times faster.
      const bound = [...now.campaigns].reduce(
        (sum, [other, { state: its }]) => sum + (other === id ? 0 : 6 * its.weight),
        2,
      );
      if (passed > bound) throw new Violation(9, `${id} waits while others were given ${passed} batches`);
    }
  }

  #kinds(lane: string, before: LaneState, now: LaneState): void {
    const { hourlyQuota } = this.#world.planOf(lane).settings;
    if (hourlyQuota === 'auto') return;
    const waited = this.#waited.get(lane) ?? { sends: 0, polls: 0 };
    this.#waited.set(lane, waited);
    const fresh = (which: 'claims' | 'polls'): number =>
      [...now[which].keys()].filter((number) => !before[which].has(number)).length;
    const [sends, polls] = [fresh('claims'), fresh('polls')];
    const areSendsWaiting = [...now.campaigns.values()].some(
      ({ state }) => state.s === 'running' && state.rest === 'planned' && (state.n['planned'] ?? 0) > 0,
    );
    const isPollWaiting = [...now.unpolled.values()].some((due) => due <= now.time);
    waited.sends = polls > 0 || !isPollWaiting ? 0 : waited.sends + sends;
    waited.polls = sends > 0 || !areSendsWaiting ? 0 : waited.polls + polls;
    const bound = 3 * hourlyQuota + 3;
    if (waited.sends > bound) throw new Violation(9, `${waited.sends} sends of ${lane} while a poll was due`);
    if (waited.polls > bound) throw new Violation(9, `${waited.polls} polls of ${lane} while sends waited`);
  }
}
