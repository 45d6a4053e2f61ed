/** Removes from a text what must not be logged. */
export interface Mask {
  /** For names and ids, which contain digits: removes secrets, and phone numbers only if they start with a plus. */
  id(text: string): string;
  /** For ids that other systems made up, which may contain a phone number anywhere: `447700900123-1`. */
  foreignId(text: string): string;
  /** For texts that other systems wrote: removes secrets and phone numbers. */
  prose(text: string): string;
  /** Adds secrets. */
  hide(secrets: readonly string[]): void;
}

/** Keeps only the end of a phone number, and the first two digits of an international one: `+44…123`. */
export function maskNumber(number: string): string {
  const digits = number.replace(/\D/g, '');
  const shown = digits.length < 9 ? digits.slice(-2) : digits.slice(-3);
  return number.startsWith('+') && digits.length >= 9 ? `+${digits.slice(0, 2)}…${shown}` : `…${shown}`;
}

const JSON_WEB_TOKEN = /\beyJ[\w-]+(?:\.[\w-]*){1,4}/g;
/** A key of the HTTP API. */
const API_KEY = /\bvk_(?:test_)?[0-9a-f]{4,}_[\w-]{8,}/g;
const BEARER = /\b(bearer|basic)(\s+|%20)[^\s"',]+/gi;
const URL_PASSWORD = /(\/\/)[^\s/@]*@/g;
const NAMED_SECRET =
  /((?:api[-_ ]?key|access[-_ ]?token|refresh[-_ ]?token|security[-_ ]?token|token|password|passwd|secret|authorization)["']?\s*[:=]\s*["']?)(?!(?:bearer|basic)\s)[^\s"',}&]+/gi;

/** Phone numbers with a plus, as we send them and the service repeats them, also in a URL. */
const PLUS_NUMBER = /(?:\+|%2B)\d(?:[ ().-]{0,2}\d){5,14}/gi;
/** Seven or more digits in a row, also in groups, but no dates and no parts of ids or addresses. */
const BARE_NUMBER = /(?<![\w.-])(?!\d{4}-\d\d-\d\d)\d(?:[ -]?\d){6,17}(?![\w-]|\.\d)/g;

/** Seven or more digits in a row, whatever is around them. */
const DIGITS = /\d{7,}/g;
/** A random id (RFC 9562), whose hexadecimal digits may look like a number. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Creates a mask that finds the configured `secrets` by their text and other secrets by their form. It ignores configured
 * secrets of fewer than four characters: masking them would make texts unreadable and reveal them through the gaps.
 */
export function createMask(secrets: readonly string[] = []): Mask {
  const hidden = new Set<string>();
  /** Those that are hidden, the longest first, because one may contain another. */
  let longestFirst: readonly string[] = [];
  const hide = (more: readonly string[]): void => {
    for (const secret of more) {
      if (secret.length < 4) continue;
      hidden.add(secret);
      hidden.add(encodeURIComponent(secret));
    }
  };
  /** Sorted only for the next text: a process opens thousands of lanes, each of which hides its secrets. */
  const known = (): readonly string[] => {
    if (longestFirst.length < hidden.size) longestFirst = [...hidden].sort((a, b) => b.length - a.length);
    return longestFirst;
  };
  hide(secrets);
  const id = (text: string): string => {
    let masked = text;
    for (const secret of known()) masked = masked.replaceAll(secret, '[secret]');
    return masked
      .replace(JSON_WEB_TOKEN, '[token]')
      .replace(API_KEY, '[key]')
      .replace(BEARER, '$1$2[token]')
      .replace(URL_PASSWORD, '$1[secret]@')
      .replace(NAMED_SECRET, '$1[secret]')
      .replace(PLUS_NUMBER, (number) => maskNumber(number.replace(/^%2B/i, '+')));
  };
  return {
    id,
    hide,
    foreignId: (text) => (UUID.test(text) ? id(text) : id(text).replace(DIGITS, maskNumber)),
    prose: (text) => id(text).replace(BARE_NUMBER, maskNumber),
  };
}
