import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { metaKey } from './campaign-keys.js';
import { readRecord } from './damaged.js';

/*
 * A short list has no key of its own: most campaigns of a platform have one recipient, and a key would take more memory than the list.
 * Its only slice is stored with the text of the campaign.
 */

/** The longest slice that is stored so, in bytes. A longer one takes no more memory as a key of its own, because this one is base64. */
const SHORT_BYTES = 256;

const meta = z.object({ list: z.base64().optional() });

/** A list as it is stored with the text, if it is short: `slices` are those that are not stored yet, numbers and blobs in turn. */
export function shortList(slices: readonly (string | Buffer)[]): string | undefined {
  const [number, blob] = slices;
  const isWhole = number === '0' && slices.length === 2;
  return isWhole && Buffer.isBuffer(blob) && blob.length <= SHORT_BYTES ? blob.toString('base64') : undefined;
}

/** The slice that {@link shortList} encoded. */
export const blobOf = (list: string): Buffer => Buffer.from(list, 'base64');

/** Reads the only slice of a short list; null if the list is not short. */
export async function readShortList(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  campaign: string,
): Promise<Buffer | null> {
  const json = await redis.get(metaKey(keys, lane, campaign));
  const { list } = json === null ? {} : readRecord('a campaign', () => meta.parse(JSON.parse(json)));
  return list === undefined ? null : blobOf(list);
}
