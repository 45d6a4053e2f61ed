import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  scryptSync,
  timingSafeEqual,
} from 'node:crypto';

/*
 * SECRETS_KEY ──scrypt──► root ──HKDF (RFC 5869)──► a key for each purpose: encryption, its fingerprint, each kind of digest
 *
 * What was made with SECRETS_KEY_PREVIOUS is still accepted, and replaced when it is used.
 */

/** Encrypts tokens at rest. */
export interface Seal {
  /** Identifies the key without revealing it; empty when tokens are stored in the clear. */
  readonly fingerprint: string;
  /** Those of all keys that the seal opens, its own first; empty when tokens are stored in the clear. */
  readonly fingerprints: readonly string[];
  /** `context` (account and field) is authenticated too, so a sealed token opens nowhere else. */
  close(text: string, context: string): string;
  /**
   * Without a key, returns the text unchanged. With one, throws an Error that says what to do when the text does not open, also for
   * a text that is not encrypted: anyone who can write to Redis could have stored it.
   */
  open(sealed: string, context: string): string;
}

const CIPHER = 'aes-256-gcm';
/** Distinguishes sealed text from text that was stored before a key was configured. */
const PREFIX = 'gcm:';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

const IN_THE_CLEAR: Seal = {
  fingerprint: '',
  fingerprints: [],
  close: (text) => text,
  open: (text) => text,
};

/** Deriving is slow on purpose (about 50 ms), so a process with many lanes does it once. */
const roots = new Map<string, Buffer>();

function rootOf(secret: string): Buffer {
  const root = roots.get(secret) ?? scryptSync(secret, 'volley tokens at rest', KEY_BYTES);
  roots.set(secret, root);
  return root;
}

const keyFor = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', rootOf(secret), '', `volley ${purpose}`, KEY_BYTES));

/** Whether the current key made a digest, or the previous one. */
export type DigestMaker = 'current' | 'previous';

/** Digests of texts for one purpose, which only the owner of `SECRETS_KEY` can make. */
export interface Digests {
  of(text: string): string;
  /** What made `digest` of this text; null: neither of them. Takes a time that does not depend on the digest. */
  makerOf(text: string, digest: string): DigestMaker | null;
}

/** HMACs with a key that is derived from `secretsKey` for one purpose. Without `secretsKey`, plain digests. */
export function createDigests(
  secretsKey: string | undefined,
  previousSecretsKey: string | undefined,
  purpose: string,
): Digests {
  if (secretsKey === undefined || secretsKey === '') {
    const of = (text: string): string => createHash('sha256').update(text).digest('base64url');
    return { of, makerOf: (text, digest) => (isEqual(of(text), digest) ? 'current' : null) };
  }
  const derived = new Map<string, Buffer>();
  const of = (text: string, secret = secretsKey): string => {
    const key = derived.get(secret) ?? keyFor(secret, purpose);
    derived.set(secret, key);
    return createHmac('sha256', key).update(text).digest('base64url');
  };
  return {
    of: (text) => of(text),
    makerOf(text, digest) {
      if (isEqual(of(text), digest)) return 'current';
      return previousSecretsKey !== undefined && isEqual(of(text, previousSecretsKey), digest)
        ? 'previous'
        : null;
    },
  };
}

/** Compares two digests in a time that does not depend on them. */
function isEqual(own: string, other: string): boolean {
  const [a, b] = [Buffer.from(own), Buffer.alloc(Buffer.byteLength(own))];
  b.write(other);
  return timingSafeEqual(a, b) && own.length === other.length;
}

/**
 * AES-256-GCM with a key derived from `secretsKey` (any text). Without one, tokens are stored in the clear. Also opens what was sealed
 * with `previousSecretsKey`.
 */
export function createSeal(secretsKey: string | undefined, previousSecretsKey?: string): Seal {
  if (secretsKey === undefined || secretsKey === '') return IN_THE_CLEAR;
  const secrets = [secretsKey, ...(previousSecretsKey === undefined ? [] : [previousSecretsKey])];
  const encryption = (secret: string): Buffer => keyFor(secret, 'encryption of tokens');
  const fingerprints = secrets.map((secret) => keyFor(secret, 'fingerprint').toString('hex').slice(0, 16));
  const key = encryption(secretsKey);
  return {
    fingerprint: fingerprints[0] ?? '',
    fingerprints,
    close(text, context) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return PREFIX + Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64');
    },
    open(sealed, context) {
      const keys = sealed.startsWith(PREFIX) ? secrets.map(encryption) : [];
      let cause: unknown = new Error('it is not encrypted');
      for (const possible of keys) {
        try {
          return decrypted(sealed.slice(PREFIX.length), possible, context);
        } catch (error) {
          cause = error;
        }
      }
      throw new Error(
        'The stored token does not open with this SECRETS_KEY: give every process the same key, or run `volley token login`.',
        { cause },
      );
    },
  };
}

/** Throws if the text was not sealed with this key and context. */
function decrypted(sealed: string, key: Buffer, context: string): string {
  const bytes = Buffer.from(sealed, 'base64');
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString(
    'utf8',
  );
}
