import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';

/** What a position belongs to. A token of one kind is invalid for the others. */
export const POSITION_KINDS = [
  'campaigns',
  'outboxes',
  'messages',
  'events',
  'audit',
  'inbound',
  'suppressions',
  'results',
  'schedules',
  'unknown',
  'forgotten',
  'failed',
] as const;
/** See {@link POSITION_KINDS}. */
export type PositionKind = (typeof POSITION_KINDS)[number];

/** Turns positions in lists and streams into tokens for clients, which reveal nothing about what other clients own. */
export interface Positions {
  /** The same position always has the same token, in every process. */
  conceal(kind: PositionKind, position: string): Promise<string>;
  /** Returns the position of a token; null if it is not a token of this kind and installation. */
  reveal(kind: PositionKind, token: string): Promise<string | null>;
}

/** A position in the results is base64url, whose bytes make a shorter token. All others are texts. */
const encodingOf = (kind: PositionKind): BufferEncoding => (kind === 'results' ? 'base64url' : 'utf8');

const SECRET_BYTES = 32;
const TAG_BYTES = 16;

/**
 * Opens the positions of an installation. All its processes share a secret, which the first of them stores in Redis.
 *
 * A token is a synthetic initialisation vector and the encrypted position (AES-256 in counter mode): the vector is an HMAC of the
 * position, so it also shows that the token is genuine.
 */
export function openPositions(redis: Redis, keys: Keys): Positions {
  let loading: Promise<Buffer> | undefined;
  const secret = (): Promise<Buffer> => {
    loading ??= loadSecret(redis, keys.positions);
    loading.catch(() => {
      loading = undefined;
    });
    return loading;
  };
  return {
    conceal: async (kind, position) => tokenOf(await secret(), kind, position),
    async reveal(kind, token) {
      const position = positionOf(await secret(), kind, token);
      if (position !== null) return position;
      // Redis may have lost the secret, and another process may have stored a new one.
      loading = undefined;
      return positionOf(await secret(), kind, token);
    },
  };
}

async function loadSecret(redis: Redis, key: string): Promise<Buffer> {
  // Read first: lists are shown on a full Redis, too.
  const stored = await redis.get(key);
  if (stored !== null) return Buffer.from(stored, 'base64url');
  await redis.set(key, randomBytes(SECRET_BYTES).toString('base64url'), 'NX');
  return Buffer.from((await redis.get(key)) ?? '', 'base64url');
}

function derived(secret: Buffer, use: 'tag' | 'encrypt'): Buffer {
  return createHmac('sha256', secret).update(use).digest();
}

function tagOf(secret: Buffer, kind: PositionKind, position: Buffer): Buffer {
  const mac = createHmac('sha256', derived(secret, 'tag')).update(`${kind}:`).update(position);
  return mac.digest().subarray(0, TAG_BYTES);
}

function tokenOf(secret: Buffer, kind: PositionKind, position: string): string {
  const bytes = Buffer.from(position, encodingOf(kind));
  const tag = tagOf(secret, kind, bytes);
  const cipher = createCipheriv('aes-256-ctr', derived(secret, 'encrypt'), tag);
  return Buffer.concat([tag, cipher.update(bytes), cipher.final()]).toString('base64url');
}

function positionOf(secret: Buffer, kind: PositionKind, token: string): string | null {
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length <= TAG_BYTES) return null;
  const tag = bytes.subarray(0, TAG_BYTES);
  const decipher = createDecipheriv('aes-256-ctr', derived(secret, 'encrypt'), tag);
  const position = Buffer.concat([decipher.update(bytes.subarray(TAG_BYTES)), decipher.final()]);
  return timingSafeEqual(tag, tagOf(secret, kind, position)) ? position.toString(encodingOf(kind)) : null;
}
