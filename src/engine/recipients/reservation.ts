import { createHash } from 'node:crypto';
import { type Redis, serverTime } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';

/*
 * A reservation names the campaign that holds something only one campaign may hold: an idempotency key, for 24 hours
 * a content (the same recipients, message, and sender), or, while it is imported, a text that is sent only to those who do not get it yet. It is valid only while its campaign has a state, or was deleted before its retention ended: any other campaign without
 * a state can never be committed, so anyone may release what it reserved. A content that is sent again is taken over from the campaign
 * that held it, which holds it again if the new one sends nothing.
 */

/** The campaign that holds a reservation. */
export interface Holder {
  readonly campaign: string;
  readonly lane: LaneId;
}

const CONTENT_HELD_MS = 24 * 60 * 60 * 1000;

const passScript = loadScript(import.meta.url, './pass-reservation.lua', (reply) => reply === 1);

function storedValue({ campaign, lane }: Holder): string {
  return `${campaign} ${lane}`;
}

/** The key that reserves a content on a lane, by its digest. Tenants of other lanes must not learn of it. */
export function contentKey(keys: Keys, digest: string, lane: string): string {
  // 132 bits are enough to tell contents apart; each campaign has such a key.
  const short = digest.slice(0, 22);
  return keys.idempotency(`content:${short}:${lane}`);
}

/** The keys of a reservation: its earlier holders are in the same slot of a cluster. */
const keysOf = (reservation: string) => ({ reservation, former: `{${reservation}}:former` });

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** Identifies a text and its sender. */
export const textDigest = (text: string, sender: string): string =>
  sha256(JSON.stringify([sender, text])).slice(0, 22);

/** Identifies an idempotency key, which belongs to its lane. No two pairs of key and lane have the same result. */
export function idempotencyDigest(idempotencyKey: string, lane: LaneId): string {
  return `lane:${sha256(idempotencyKey)}:${lane}`;
}

/** Identifies the idempotency key of an occurrence of a schedule. No key of a client has the same result. */
export function occurrenceDigest(idempotencyKey: string): string {
  return `schedule:${sha256(idempotencyKey)}`;
}

/** The campaign that holds the key, or null if it is free. */
export async function readHolder(redis: Redis, key: string): Promise<Holder | null> {
  const value = await redis.get(key);
  return value === null ? null : parseHolder(value);
}

/** The campaigns that held the content before, and will again if those after them send nothing; the latest first. */
export async function readFormerHolders(redis: Redis, key: string): Promise<Holder[]> {
  const now = await serverTime(redis);
  const entries = (await redis.lrange(keysOf(key).former, 0, -1)).map((entry) => {
    const space = entry.lastIndexOf(' ');
    return { holder: parseHolder(entry.slice(0, space)), until: Number(entry.slice(space + 1)) };
  });
  return entries.filter(({ until }) => until > now).map(({ holder }) => holder);
}

function parseHolder(value: string): Holder {
  const space = value.indexOf(' ');
  return { campaign: value.slice(0, space), lane: value.slice(space + 1) };
}

/** Reserves an idempotency key until its campaign is deleted. Returns false if another campaign holds it. */
export async function reserveKey(redis: Redis, key: string, holder: Holder): Promise<boolean> {
  return (await redis.set(key, storedValue(holder), 'NX')) === 'OK';
}

/** Reserves a content for 24 hours. Returns false if another campaign holds it; `again` takes it over instead. */
export async function reserveContent(
  redis: Redis,
  key: string,
  holder: Holder,
  again: boolean,
): Promise<boolean> {
  const value = storedValue(holder);
  if (again) return passScript.run(redis, keysOf(key), { holder: value, held: CONTENT_HELD_MS });
  return (await redis.set(key, value, 'PX', CONTENT_HELD_MS, 'NX')) === 'OK';
}

/** Releases a reservation, in so many ms, if this campaign still holds it. */
export async function releaseReservation(redis: Redis, key: string, holder: Holder, inMs = 0): Promise<void> {
  const value = storedValue(holder);
  if (inMs === 0) await passScript.run(redis, keysOf(key), { holder: value, held: 0 });
  else if ((await redis.get(key)) === value) await redis.pexpire(key, Math.ceil(inMs));
}
