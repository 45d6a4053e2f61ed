import type { Redis } from '../../src/base/redis/connection.js';
import { GoneError } from '../../src/campaign/errors/errors.js';
import {
  RECIPIENT_STATE,
  RETURNED_LETTER,
  type RecipientState,
  SETTLED_STATES,
} from '../../src/campaign/states/recipient.js';
import { outboxResults } from '../../src/intake/outbox/views/outbox-results.js';
import { createResultsFeed, type ResultsFeed } from '../../src/reporting/results-feed.js';
import type { LaneState } from './lane-state.js';
import { Violation } from './violation.js';
import type { World } from './world.js';

/** Results per page: few, so that pages divide entries. */
const LIMIT = 7;

const STATE_OF = new Map<string | null, string>(
  Object.entries(RECIPIENT_STATE).map(([state, { letter }]) => [letter, state]),
);

/** A platform that reads the results feed from time to time. It must learn the final state of every recipient. */
export class ResultsChecker {
  readonly #world: World;
  readonly #feed: ResultsFeed;
  /** The latest result of each recipient. */
  readonly #latest = new Map<string, RecipientState>();
  /** The latest result of each message that ended while it waited in the outbox. An id may be used again. */
  readonly #ended = new Map<string, RecipientState>();
  #cursor: string | undefined;
  #reading = Promise.resolve();

  constructor(world: World, redis: Redis) {
    this.#world = world;
    const finder = { idOf: async (name: string) => name, nameOf: async (id: string) => id };
    this.#feed = createResultsFeed({
      redis,
      keys: world.keys,
      finder,
      outboxes: outboxResults(redis, world.keys),
    });
  }

  /** Reads everything that is there. */
  read(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#read());
    return this.#reading;
  }

  async #read(): Promise<void> {
    for (;;) {
      const page = await this.#page();
      this.#cursor = page?.nextCursor;
      for (const { campaign, message, to: recipient, status } of page?.results ?? []) {
        if (status === 'duplicate' || status === 'invalid') continue;
        if (campaign === null) {
          if (message !== null) this.#ended.set(message, status);
          continue;
        }
        this.#ordered(`${campaign} ${recipient}`, status);
      }
      if (page !== undefined && !page.hasMore) return;
    }
  }

  async #page() {
    try {
      return await this.#feed.results({ cursor: this.#cursor, limit: LIMIT });
    } catch (error) {
      // A position that only a server knew whose data is lost. The platform starts again.
      if (error instanceof GoneError && this.#cursor !== undefined && this.#world.checker.hasLostData)
        return undefined;
      throw error;
    }
  }

  #ordered(place: string, status: RecipientState): void {
    const before = this.#latest.get(place);
    this.#latest.set(place, status);
    // A loss of data takes states back.
    if (before === undefined || this.#world.checker.hasLostData || before === status) return;
    const next: readonly string[] = RECIPIENT_STATE[before].next;
    if (!next.includes(status)) throw new Violation(11, `${place} was ${before}, and is now ${status}`);
  }

  /** Compares what the platform has learned with the final states of a lane. */
  ended(lane: LaneState): void {
    for (const [id, { state, statuses }] of lane.campaigns) {
      for (let ordinal = 0; ordinal < state.ordinals; ordinal += 1) {
        if (statuses[ordinal] === RETURNED_LETTER) continue;
        const place = `${id} ${this.#world.numberOf(id, ordinal)}`;
        const final = STATE_OF.get(statuses[ordinal] ?? '') ?? state.remainder;
        const learned = this.#latest.get(place);
        if (learned === final && SETTLED_STATES.includes(learned)) continue;
        throw new Violation(11, `${place} is ${final}, but the results feed says ${learned ?? 'nothing'}`);
      }
    }
    for (const [id, letter] of lane.outbox?.ended ?? []) {
      const final = letter === 'C' ? 'cancelled' : 'lapsed';
      const learned = this.#ended.get(id);
      if (learned !== final)
        throw new Violation(11, `${id} is ${final}, but the results feed says ${learned ?? 'nothing'}`);
    }
  }
}
