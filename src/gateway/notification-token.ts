import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** A notification as it came in. */
export interface Incoming {
  readonly headers: IncomingHttpHeaders;
  /** What follows the question mark of its address, or nothing. */
  readonly query: string;
  /** The body as it was sent, and the JSON that it holds. */
  readonly body: string;
  readonly document: unknown;
}

/** Texts of a body that are looked at: a token stands among the first fields of a notification or nowhere. */
const MOST_TEXTS = 20_000;
const DEPTH = 12;

const SIGNATURES = ['sha256', 'sha1', 'sha512'] as const;

/**
 * Whether a notification proves that its sender knows one of the tokens. How the token comes is not shown (interface
 * page, Events, rule 5: header, signature or body), so each way it may is good: a header of any name, alone, after a
 * scheme such as `Bearer`, or as the user or password of `Basic`; a parameter of the query; any text of the body; or a
 * header with the body's HMAC under the token. Each comparison takes the same time wherever two texts differ.
 */
export function carriesToken(incoming: Incoming, tokens: readonly string[]): boolean {
  const wanted = tokens.map((token) => Buffer.from(token));
  const isToken = (text: string): boolean => wanted.some((token) => isSame(token, text));
  // No `some` over a list: everything a notification holds would be gathered before the first is looked at.
  for (const text of headerTexts(incoming.headers)) {
    if (isToken(text)) return true;
  }
  for (const text of queryTexts(incoming.query)) {
    if (isToken(text)) return true;
  }
  for (const text of bodyTexts(incoming.document)) {
    if (isToken(text)) return true;
  }
  return isSigned(incoming, tokens);
}

/** Compares in a time that depends on the lengths alone. */
function isSame(token: Buffer, text: string): boolean {
  // A character is up to 3 bytes here, so most texts are told apart by their length without being copied.
  if (text.length > token.length || text.length * 3 < token.length) return false;
  const given = Buffer.from(text);
  return given.length === token.length && timingSafeEqual(given, token);
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
    // A plus sign that nobody encoded is read as a space.
    if (value.includes(' ')) yield value.replaceAll(' ', '+');
  }
}

function* bodyTexts(document: unknown): Generator<string> {
  let left = MOST_TEXTS;
  let level: unknown[] = [document];
  for (let depth = 0; depth < DEPTH && level.length > 0; depth++) {
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

/** Whether a header holds the HMAC of the body, in hex or base64, with or without the name of the hash before it. */
function isSigned({ headers, body }: Incoming, tokens: readonly string[]): boolean {
  const given = [...headerTexts(headers)].map((text) => text.replace(/^(?:hmac-?)?sha-?\d+[=:]\s*/i, ''));
  return SIGNATURES.some((hash) => {
    const bytes = { sha1: 20, sha256: 32, sha512: 64 }[hash];
    const candidates = given.flatMap((text) => signaturesIn(text, bytes));
    if (candidates.length === 0) return false;
    return tokens.some((token) => {
      const right = createHmac(hash, token).update(body).digest();
      return candidates.some((candidate) => timingSafeEqual(candidate, right));
    });
  });
}

/** The bytes that a text may mean, if they are as many as a signature has. */
function signaturesIn(text: string, bytes: number): Buffer[] {
  const found: Buffer[] = [];
  if (text.length === bytes * 2 && /^[0-9a-f]+$/i.test(text)) found.push(Buffer.from(text, 'hex'));
  if (Math.abs(text.length - Math.ceil((bytes * 4) / 3)) <= 2 && /^[\w+/-]+={0,2}$/.test(text)) {
    found.push(Buffer.from(text, 'base64'));
  }
  return found.filter(({ length }) => length === bytes);
}
