import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';

/** A received notification. */
export interface IncomingNotification {
  readonly headers: IncomingHttpHeaders;
  /** The part of its URL after the question mark; may be empty. */
  readonly query: string;
  /** The body as received, and the JSON in it. */
  readonly body: string;
  readonly document: unknown;
}

/** How many texts of a body are compared: a token appears among the first fields or not at all. */
const MAX_TEXTS = 20_000;
const MAX_DEPTH = 12;

const SIGNATURES = ['sha256', 'sha1', 'sha512'] as const;

/**
 * Whether a notification proves that its sender knows one of the tokens. The interface page does not show where the token appears
 * (Events, rule 5: header, signature, or body), so every place counts: a header of any name, alone, after a scheme such as
 * `Bearer`, or as the user or password of `Basic`; a query parameter; any text of the body; or a header with the body's HMAC.
 * Comparisons are in constant time.
 */
export function carriesToken(incoming: IncomingNotification, tokens: readonly string[]): boolean {
  const wanted = tokens.map((token) => Buffer.from(token));
  for (const text of textsOf(incoming)) {
    if (wanted.some((token) => isSame(token, text))) return true;
  }
  return isSigned(incoming, tokens);
}

/** The same for a service that is documented to send the token inside the delivery info list, with or without its wrapper. */
export function listCarriesToken(document: unknown, tokens: readonly string[]): boolean {
  const sent = listToken.safeParse(document).data;
  return sent !== undefined && tokens.some((token) => isSame(Buffer.from(token), sent));
}

const tokenInList = z
  .object({ securityToken: z.string(), deliveryInfo: z.array(z.unknown()) })
  .transform((list) => list.securityToken);
const listToken = z.union([
  z.object({ deliveryInfoList: tokenInList }).transform((body) => body.deliveryInfoList),
  tokenInList,
]);

/** A generator rather than a list: comparing stops at the first match, before the rest is collected. */
function* textsOf({ headers, query, document }: IncomingNotification): Generator<string> {
  yield* headerTexts(headers);
  yield* queryTexts(query);
  yield* bodyTexts(document);
}

/** Compares in a time that depends only on the lengths. */
function isSame(token: Buffer, text: string): boolean {
  // A character takes up to 3 bytes, so most texts are ruled out by their length without being copied.
  if (text.length > token.length || text.length * 3 < token.length) return false;
  const bytes = Buffer.from(text);
  return bytes.length === token.length && timingSafeEqual(bytes, token);
}

function* headerTexts(headers: IncomingHttpHeaders): Generator<string> {
  for (const value of Object.values(headers).flat()) {
    if (value === undefined) continue;
    const text = value.trim();
    yield text;
    const [, scheme = '', rest = ''] = /^([!-~]+)\s+(\S.*)$/.exec(text) ?? [];
    if (rest === '') continue;
    yield rest;
    if (scheme.toLowerCase() !== 'basic') continue;
    const pair = Buffer.from(rest, 'base64').toString();
    const colon = pair.indexOf(':');
    yield pair;
    if (colon >= 0) {
      yield pair.slice(0, colon);
      yield pair.slice(colon + 1);
    }
  }
}

function* queryTexts(query: string): Generator<string> {
  for (const value of new URLSearchParams(query).values()) {
    yield value;
    // URLSearchParams decodes an unencoded plus sign as a space.
    if (value.includes(' ')) yield value.replaceAll(' ', '+');
  }
}

function* bodyTexts(document: unknown): Generator<string> {
  let left = MAX_TEXTS;
  let level: unknown[] = [document];
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    const below: unknown[] = [];
    for (const value of level) {
      if (typeof value === 'string') {
        yield value;
        left -= 1;
        if (left === 0) return;
      } else if (typeof value === 'object' && value !== null) {
        for (const inner of Object.values(value)) below.push(inner);
      }
    }
    level = below;
  }
}

/** Whether a header contains the HMAC of the body, in hex or base64, with or without the hash's name before it. */
function isSigned({ headers, body }: IncomingNotification, tokens: readonly string[]): boolean {
  const texts = [...headerTexts(headers)].map((text) => text.replace(/^(?:hmac-?)?sha-?\d+[=:]\s*/i, ''));
  return SIGNATURES.some((hash) => {
    const bytes = { sha1: 20, sha256: 32, sha512: 64 }[hash];
    const candidates = texts.flatMap((text) => signaturesIn(text, bytes));
    if (candidates.length === 0) return false;
    return tokens.some((token) => {
      const expected = createHmac(hash, token).update(body).digest();
      return candidates.some((candidate) => timingSafeEqual(candidate, expected));
    });
  });
}

/** The text decoded from hex and base64, where that has the length of a signature. */
function signaturesIn(text: string, bytes: number): Buffer[] {
  const signatures: Buffer[] = [];
  if (text.length === bytes * 2 && /^[0-9a-f]+$/i.test(text)) signatures.push(Buffer.from(text, 'hex'));
  if (Math.abs(text.length - Math.ceil((bytes * 4) / 3)) <= 2 && /^[\w+/-]+={0,2}$/.test(text)) {
    signatures.push(Buffer.from(text, 'base64'));
  }
  return signatures.filter(({ length }) => length === bytes);
}
