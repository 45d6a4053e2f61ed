import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { loadScript } from '../redis/script.js';

/*
 * A reservation names the campaign that holds something only one may hold: an idempotency key, or for a day a content.
 * It is as good as its campaign: of one whose campaign has no state any more, anybody may free it, because a campaign
 * without a state can never be committed.
 */

/** What a reservation holds: the campaign and its lane, as in the index. */
export interface Holder {
  readonly campaign: string;
  readonly lane: string;
}

/** A content equals another for as long. */
const CONTENT_HELD_MS = 24 * 60 * 60 * 1000;

const freeScript = loadScript(import.meta.url, './release-reservation.lua', (reply) => reply === 1);

/** The value of a reservation. */
export function reservationOf({ campaign, lane }: Holder): string {
  return `${campaign} ${lane}`;
}

/** The key under which a content, by its digest, is held: for all lanes, or for one alone. */
export function contentKey(keys: Keys, digest: string, lane?: string): string {
  return keys.idempotency(lane === undefined ? `content:${digest}` : `content:${digest}:${lane}`);
}

/** Who holds the key; null if nobody does. */
export async function holderOf(redis: Redis, key: string): Promise<Holder | null> {
  const value = await redis.get(key);
  if (value === null) return null;
  const space = value.indexOf(' ');
  return { campaign: value.slice(0, space), lane: value.slice(space + 1) };
}

/** Reserves an idempotency key until its campaign is removed. False if somebody holds it. */
export async function reserveKey(redis: Redis, key: string, holder: Holder): Promise<boolean> {
  return (await redis.set(key, reservationOf(holder), 'NX')) === 'OK';
}

/** Holds a content for 24 hours; `again` takes it from whoever holds it. False if somebody holds it. */
export async function holdContent(
  redis: Redis,
  key: string,
  holder: Holder,
  again: boolean,
): Promise<boolean> {
  const value = reservationOf(holder);
  const set = again
    ? await redis.set(key, value, 'PX', CONTENT_HELD_MS)
    : await redis.set(key, value, 'PX', CONTENT_HELD_MS, 'NX');
  return set === 'OK';
}

/** Gives a reservation up, unless it is somebody else's by now. */
export async function freeKey(redis: Redis, key: string, owner: string): Promise<void> {
  await freeScript.run(redis, [key], [owner]);
}
