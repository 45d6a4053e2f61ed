import { createHmac, randomBytes } from 'node:crypto';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';

const SECRET_BYTES = 32;
const DIGEST_BYTES = 16;

/** A digest of a number with the secret of this installation. Without the secret, it does not show the number. */
export type NumberDigest = (number: string) => Buffer;

/** Opens the digests. All processes share a secret, which the first of them stores in Redis. */
export async function openNumberDigests(redis: Redis, keys: Keys): Promise<NumberDigest> {
  const { secret: key } = keys.forget;
  const stored = await redis.get(key);
  if (stored === null) await redis.set(key, randomBytes(SECRET_BYTES).toString('base64url'), 'NX');
  const secret = Buffer.from(stored ?? (await redis.get(key)) ?? '', 'base64url');
  return (number) => createHmac('sha256', secret).update(number).digest().subarray(0, DIGEST_BYTES);
}
