import { createCipheriv, createDecipheriv, createHmac, randomBytes, scryptSync } from 'node:crypto';

/** How tokens are kept at rest. */
export interface Seal {
  /** Names the key without telling it; empty when tokens are stored as they are. */
  readonly fingerprint: string;
  /** `place` (which account, which field) is bound in, so that a sealed text opens nowhere else. */
  close(text: string, place: string): string;
  /** What was stored in the clear opens as it is. Throws an `Error` that says what to do when the text does not open. */
  open(sealed: string, place: string): string;
}

const CIPHER = 'aes-256-gcm';
/** Tells a sealed text from one that was stored before there was a key. */
const MARK = 'gcm:';
const IV_BYTES = 12;
const TAG_BYTES = 16;

const OPEN_SEAL: Seal = { fingerprint: '', close: (text) => text, open: (text) => text };

/** Deriving takes some 50 ms by intent; a process with many lanes does it once. */
const derived = new Map<string, Buffer>();

function keyFrom(secret: string): Buffer {
  const key = derived.get(secret) ?? scryptSync(secret, 'volley tokens at rest', 32);
  derived.set(secret, key);
  return key;
}

/** AES-256-GCM under a key derived from `secretsKey` (any text); without one, tokens are stored in the clear. */
export function createSeal(secretsKey: string | undefined): Seal {
  if (secretsKey === undefined || secretsKey === '') return OPEN_SEAL;
  const key = keyFrom(secretsKey);
  return {
    fingerprint: createHmac('sha256', key).update('fingerprint').digest('hex').slice(0, 16),
    close(text, place) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(place));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return MARK + Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64');
    },
    open(sealed, place) {
      if (!sealed.startsWith(MARK)) return sealed;
      const bytes = Buffer.from(sealed.slice(MARK.length), 'base64');
      try {
        const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), {
          authTagLength: TAG_BYTES,
        });
        decipher.setAAD(Buffer.from(place));
        decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
        const body = bytes.subarray(IV_BYTES + TAG_BYTES);
        return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
      } catch (cause) {
        throw new Error(
          'The stored token does not open under this SECRETS_KEY: give every process the same key, or run `volley token login --again`.',
          { cause },
        );
      }
    },
  };
}
