import type { Redis } from '../../../src/base/redis/connection.js';
import { GoneError } from '../../../src/campaign/errors/errors.js';
import {
  RECIPIENT_STATE,
  type RecipientState,
  SETTLED_STATES,
} from '../../../src/campaign/states/recipient.js';
import { outboxResults } from '../../../src/intake/outbox/views/outbox-results.js';
import { createResultsFeed, type ResultsFeed } from '../../../src/reporting/results-feed.js';
import { type LaneState, OUTBOX_ID } from '../server/lane-state.js';
import { Violation } from '../violation.js';
import type { World } from '../world.js';

/** Results per page: few, so that pages divide entries. */
const LIMIT = 7;

const STATE_OF = new Map<string | null, string>(
  Object.entries(RECIPIENT_STATE).map(([state, { letter }]) => [letter, state]),
);

/** A platform that reads the results feed from time to time. It must learn the final state of every recipient. */
export class ResultsChecker {
  readonly #world: World;
  readonly #feed: ResultsFeed;
  /** The latest result of each recipient, and of each message. */
  readonly #latest = new Map<string, RecipientState>();
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
        this.#ordered(
          campaign === null ? `${OUTBOX_ID} ${message} ${recipient ?? ''}` : `${campaign} ${recipient}`,
          status,
        );
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
    // An id may be used again.
    if (place.startsWith(OUTBOX_ID) && (before === 'cancelled' || before === 'lapsed')) return;
    const next: readonly string[] = RECIPIENT_STATE[before].next;
    if (!next.includes(status)) throw new Violation(11, `${place} was ${before}, and is now ${status}`);
  }

  /** Compares what the platform has learned with the final states of a lane. */
  ended(lane: LaneState): void {
    const check = (place: string, final: string): void => {
      const learned = this.#latest.get(place);
      if (learned === final && SETTLED_STATES.includes(learned)) return;
      throw new Violation(11, `${place} is ${final}, but the results feed says ${learned ?? 'nothing'}`);
    };
    for (const [id, { state, statuses }] of lane.campaigns) {
      if (id === OUTBOX_ID) continue;
      for (let ordinal = 0; ordinal < state.ordinals; ordinal += 1)
        check(
          `${id} ${this.#world.numberOf(id, ordinal)}`,
          STATE_OF.get(statuses[ordinal] ?? '') ?? state.remainder,
        );
    }
    for (const { id, to, state } of lane.outbox?.numbered.values() ?? [])
      check(`${OUTBOX_ID} ${id} ${to}`, state);
  }
}
