import { createHmac, randomBytes } from 'node:crypto';

/*
 * Signs requests as Standard Webhooks says (github.com/standard-webhooks): HMAC-SHA256 of id, time, and body.
 */

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** A new secret: `whsec_` and 32 random bytes in base64. */
export const newSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64');

/**
 * The headers of a request. `now`: ms; receivers refuse a time that is more than five minutes off, so each attempt has its own. With several
 * secrets, during a rotation, each signs, and receivers accept any of the signatures.
 */
export function signedHeaders(
  id: string,
  now: number,
  body: string,
  secrets: readonly { readonly secret: string }[],
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now / 1_000));
  const signature = ({ secret }: { readonly secret: string }): string => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  };
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map(signature).join(' '),
  };
}
