import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import type { ScriptEvent } from '../scripts/script-events.js';
import type { ScriptRules } from '../scripts/script-rules.js';

/** What the notifications use of their lane. */
export interface NotifiedLane {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly id: LaneId;
  readonly name: string;
  readonly rules: Pick<ScriptRules, 'byReference' | 'early'>;
  /** Repeats a call to Redis until Redis replies, or the signal fires. */
  retry<Answer>(run: () => Promise<Answer>, signal?: AbortSignal): Promise<Answer>;
  emit(events: readonly ScriptEvent[]): void;
}
