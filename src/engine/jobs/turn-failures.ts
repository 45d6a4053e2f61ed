import type { Clock } from '../../base/clock.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import type { Stage } from './wake.js';

/** How often a process notes that the turns of a stage of a lane still fail. */
const NOTE_EVERY_MS = 10_000;
/** Characters that are kept of an error. */
const MAX_ERROR = 300;

/** What Redis adds to the errors of a script; only the log needs it. */
const WHERE_IN_SCRIPT = /,? script: [0-9a-f]{40}, on @user_script:\d+\.?$/;

/**
 * Notes in Redis that the turns of a lane fail, so that its status can say so: for each stage, since when, and the last error.
 * A turn fails about once a second, and is noted at most every ten seconds.
 */
export interface TurnFailures {
  /** A turn has failed. */
  failed(stage: Stage, lane: LaneId, error: Error): void;
  /** A turn has made its requests, or has nothing to do. */
  succeeded(stage: Stage, lane: LaneId): void;
}

/** What {@link turnFailures} needs. */
interface TurnFailuresOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly monotonic: Clock;
  /** Removes secrets and phone numbers. */
  mask(text: string): string;
}

/** Creates the notes of a process. They never fail: if Redis is away, nothing is noted. */
export function turnFailures({ redis, keys, clock, monotonic, mask }: TurnFailuresOptions): TurnFailures {
  const noted = new Map<string, number>();
  const ignore = (): void => {};
  return {
    failed(stage, lane, { message, name }) {
      const turn = `${stage} ${lane}`;
      const notedAt = noted.get(turn);
      if (notedAt !== undefined && monotonic() < notedAt + NOTE_EVERY_MS) return;
      noted.set(turn, monotonic());
      const key = keys.lane(lane, 'failures');
      const error = mask((message || name).replace(WHERE_IN_SCRIPT, ''))
        .replace(/\s+/g, ' ')
        .slice(0, MAX_ERROR);
      redis.hsetnx(key, `${stage}:since`, clock()).catch(ignore);
      redis.hset(key, `${stage}:error`, error).catch(ignore);
    },
    succeeded(stage, lane) {
      noted.delete(`${stage} ${lane}`);
      // Another process may have noted the failures.
      redis.hdel(keys.lane(lane, 'failures'), `${stage}:since`, `${stage}:error`).catch(ignore);
    },
  };
}
