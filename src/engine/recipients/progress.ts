import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { RECIPIENT_STATES, type RecipientState } from '../../campaign/states/recipient.js';
import { progressKey } from './campaign-keys.js';

/*
 * How a campaign went: its counts when they had changed, in samples of 52 bytes (the time in seconds, and the count of each state, 32 bits
 * each), at most 128 of them. A sample follows the one before by at least a sixty-fourth of the whole time; of more samples, every other one
 * is left out.
 */

/** The counts of a campaign at a time, ms. */
export interface ProgressSample {
  readonly at: number;
  readonly counts: Readonly<Record<RecipientState, number>>;
}

const MOST = 128;
const SIZE = 4 + 4 * RECIPIENT_STATES.length;
/** How long a sample is the newest at least, ms; and as a part of the time since the first one. */
const [LEAST_MS, PART] = [5_000, 64];

function pack({ at, counts }: ProgressSample): Buffer {
  const bytes = Buffer.alloc(SIZE);
  bytes.writeUInt32BE(Math.floor(at / 1_000));
  for (const [place, state] of RECIPIENT_STATES.entries()) bytes.writeUInt32BE(counts[state], 4 + 4 * place);
  return bytes;
}

function unpack(bytes: Buffer): ProgressSample[] {
  return Array.from({ length: Math.floor(bytes.length / SIZE) }, (_, index) => {
    const read = (place: number): number => bytes.readUInt32BE(index * SIZE + 4 * place);
    const counts = Object.fromEntries(RECIPIENT_STATES.map((state, place) => [state, read(place + 1)]));
    return { at: read(0) * 1_000, counts: counts as Record<RecipientState, number> };
  });
}

/** Reads the samples of a campaign, the oldest first. */
export async function readProgress(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  campaign: string,
): Promise<ProgressSample[]> {
  const bytes = await redis.getBuffer(progressKey(keys, lane, campaign));
  return bytes === null ? [] : unpack(bytes);
}

/**
 * Records the counts of a campaign if they have changed, and the last sample is old enough or the campaign has ended. Returns when the next
 * one may follow, ms.
 */
export async function recordProgress(
  redis: Redis,
  keys: Keys,
  {
    lane,
    campaign,
    hasEnded,
  }: { readonly lane: LaneId; readonly campaign: string; readonly hasEnded: boolean },
  sample: ProgressSample,
): Promise<number> {
  const key = progressKey(keys, lane, campaign);
  const [oldest, newest, length] = await Promise.all([
    redis.getrangeBuffer(key, 0, SIZE - 1),
    redis.getrangeBuffer(key, -SIZE, -1),
    redis.strlen(key),
  ]);
  const [[first = sample], [last]] = [unpack(oldest), unpack(newest)];
  const least = Math.max(LEAST_MS, (sample.at - first.at) / PART);
  const isSame =
    last !== undefined && RECIPIENT_STATES.every((state) => last.counts[state] === sample.counts[state]);
  const isEarly = last !== undefined && sample.at - last.at < least;
  if (isSame || (isEarly && !hasEnded)) return sample.at + least;
  if (length < MOST * SIZE) await redis.append(key, pack(sample));
  else {
    const all = [...(await readProgress(redis, keys, lane, campaign)), sample];
    const kept = all.filter((_, at) => at % 2 === 0 || at === all.length - 1);
    await redis.set(key, Buffer.concat(kept.map(pack)));
  }
  return sample.at + least;
}
