import type { CampaignState, LaneState } from '../server/lane-state.js';
import { Violation } from '../violation.js';
import type { World } from '../world.js';

/** No campaign waits too long for the others, and sends and polls do not starve each other (invariant 9). */
export class FairnessChecker {
  readonly #world: World;
  /** For each waiting campaign, the batches claimed from other campaigns. */
  readonly #passed = new Map<string, number>();
  /** Sends claimed in a row while a poll was due, and polls claimed in a row while sends waited. */
  readonly #waited = new Map<string, { sends: number; polls: number }>();

  constructor(world: World) {
    this.#world = world;
  }

  dataLost(lane: string): void {
    this.#passed.clear();
    this.#waited.delete(lane);
  }

  observed(lane: string, before: LaneState, now: LaneState, by: string): void {
    if (by === 'claim-send') this.#campaigns(before, now);
    if (by === 'command-lane' || by === 'command-campaign') this.#waited.delete(lane);
    if (this.#world.isCalm) this.#kinds(lane, before, now);
  }

  #campaigns(before: LaneState, now: LaneState): void {
    const claimed = new Map<string, number>();
    for (const [number, { campaign, placeholder }] of now.claims) {
      if (!before.claims.has(number) && placeholder === undefined)
        claimed.set(campaign, (claimed.get(campaign) ?? 0) + 1);
    }
    if (claimed.size === 0) return;
    for (const [id, { state }] of before.campaigns) {
      const hasSome = isWaiting(state);
      const waits = hasSome && state.notBefore <= now.time && this.#world.isOpen(id);
      if (!waits || claimed.has(id)) {
        this.#passed.delete(id);
        continue;
      }
      const others = [...claimed].reduce((sum, [, count]) => sum + count, 0);
      const passed = (this.#passed.get(id) ?? 0) + others;
      this.#passed.set(id, passed);
      // Each other campaign has a head start of five turns when it starts or returns; high priority weighs four times more.
      const bound = [...now.campaigns].reduce(
        (sum, [other, { state: otherState }]) => sum + (other === id ? 0 : 6 * otherState.weight),
        2,
      );
      if (passed > bound)
        throw new Violation(9, `${id} waited while ${passed} batches of other campaigns were claimed`);
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
    const areSendsWaiting = [...now.campaigns].some(
      ([id, { state }]) => this.#world.isOpen(id) && isWaiting(state),
    );
    const isPollWaiting = [...now.unpolled.values()].some((due) => due <= now.time);
    waited.sends = polls > 0 || !isPollWaiting ? 0 : waited.sends + sends;
    waited.polls = sends > 0 || !areSendsWaiting ? 0 : waited.polls + polls;
    const bound = 3 * hourlyQuota + 3;
    if (waited.sends > bound)
      throw new Violation(9, `${lane} claimed ${waited.sends} sends while a poll was due`);
    if (waited.polls > bound)
      throw new Violation(9, `${lane} claimed ${waited.polls} polls while sends waited`);
  }
}

/** Whether a campaign has something that may be sent. What waits in an outbox may not be due, or be too late, so it is not judged. */
function isWaiting({ state, remainder, counts, outbox }: CampaignState): boolean {
  return (
    outbox === undefined && state === 'running' && remainder === 'planned' && (counts['planned'] ?? 0) > 0
  );
}
