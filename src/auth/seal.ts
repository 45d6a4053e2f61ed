import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  randomBytes,
  scryptSync,
} from 'node:crypto';

/** Encrypts tokens at rest. */
export interface Seal {
  /** Identifies the key without revealing it; empty when tokens are stored in the clear. */
  readonly fingerprint: string;
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

const IN_THE_CLEAR: Seal = { fingerprint: '', close: (text) => text, open: (text) => text };

/** Deriving is slow on purpose (about 50 ms), so a process with many lanes does it once. */
const derived = new Map<string, Buffer>();

function keyFrom(secret: string): Buffer {
  const key = derived.get(secret) ?? scryptSync(secret, 'volley tokens at rest', 32);
  derived.set(secret, key);
  return key;
}

/**
 * Digests of texts: HMACs with a key that is derived from `secretsKey` for one purpose, so that only its owner can make one.
 * Without `secretsKey`, plain digests.
 */
export function createDigest(secretsKey: string | undefined, purpose: string): (text: string) => string {
  if (secretsKey === undefined || secretsKey === '') {
    return (text) => createHash('sha256').update(text).digest('base64url');
  }
  let key: Buffer | undefined;
  return (text) => {
    key ??= createHmac('sha256', keyFrom(secretsKey)).update(`volley ${purpose}`).digest();
    return createHmac('sha256', key).update(text).digest('base64url');
  };
}

/** AES-256-GCM with a key derived from `secretsKey` (any text). Without one, tokens are stored in the clear. */
export function createSeal(secretsKey: string | undefined): Seal {
  if (secretsKey === undefined || secretsKey === '') return IN_THE_CLEAR;
  const key = keyFrom(secretsKey);
  return {
    fingerprint: createHmac('sha256', key).update('fingerprint').digest('hex').slice(0, 16),
    close(text, context) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return PREFIX + Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64');
    },
    open(sealed, context) {
      try {
        if (!sealed.startsWith(PREFIX)) throw new Error('it is not encrypted');
        const bytes = Buffer.from(sealed.slice(PREFIX.length), 'base64');
        const iv = bytes.subarray(0, IV_BYTES);
        const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
        decipher.setAAD(Buffer.from(context));
        decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
        const body = bytes.subarray(IV_BYTES + TAG_BYTES);
        return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
      } catch (cause) {
        throw new Error(
          'The stored token does not open with this SECRETS_KEY: give every process the same key, or run `volley token login`.',
          { cause },
        );
      }
    },
  };
}
