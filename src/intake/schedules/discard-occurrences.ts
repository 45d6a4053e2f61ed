import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { occurrenceDigest, readHolder } from '../../engine/recipients/reservation.js';
import { discardImport } from '../import/import-session.js';
import { type Due, occurrenceKey, type StoredSchedule } from './stored-schedule.js';
import { dueOccurrences } from './timetable.js';

const OCCURRENCES_AT_ONCE = 100;

/**
 * Discards what workers are importing for the occurrences of a schedule that an operator has paused or removed. A worker compares the
 * revision before it commits a campaign, but it may have done so before the change, and stand still since. From here on it cannot commit;
 * and one that reserves its key later finds the changed revision. Campaigns that exist stay.
 *
 * `before`: the schedule before the change. `run`: the requested run to discard, ms; 0: none. `now`: ms by the clock of Redis.
 */
export async function discardOccurrences(
  redis: Redis,
  keys: Keys,
  schedule: Pick<StoredSchedule, 'id' | 'definition' | 'next'>,
  run: number,
  now: number,
): Promise<void> {
  const { definition, next } = schedule;
  const discard = async (due: Due): Promise<void> => {
    const key = keys.idempotency(occurrenceDigest(occurrenceKey(schedule, due)));
    const holder = await readHolder(redis, key);
    if (holder !== null) await discardImport(redis, keys, holder.lane, holder.campaign, 'givenUp');
  };
  if (run > 0) await discard({ at: run, manual: true });
  for (let first = next; first <= now; ) {
    const { due, following } = dueOccurrences(definition, first, now, OCCURRENCES_AT_ONCE);
    await Promise.all(due.map((at) => discard({ at })));
    first = following;
  }
}
