/** Takes out of a text what a log must not hold. */
export interface Mask {
  /** For names and ids, whose digits mean something: secrets, and numbers only where a plus gives them away. */
  id(text: string): string;
  /** For whatever somebody else wrote: secrets and phone numbers. */
  prose(text: string): string;
}

/** Shows of a phone number only its end, and of an international one its beginning: `+44…123`. */
export function maskNumber(number: string): string {
  const digits = number.replace(/\D/g, '');
  const shown = digits.length < 9 ? digits.slice(-2) : digits.slice(-3);
  return number.startsWith('+') && digits.length >= 9 ? `+${digits.slice(0, 2)}…${shown}` : `…${shown}`;
}

const JSON_WEB_TOKEN = /\beyJ[\w-]+(?:\.[\w-]*){1,4}/g;
/** A key to the HTTP API. */
const API_KEY = /\bvk_[0-9a-f]{4,}_[\w-]{8,}/g;
const BEARER = /\b(bearer|basic)(\s+|%20)[^\s"',]+/gi;
const URL_PASSWORD = /(\/\/)[^\s/@]*@/g;
const NAMED_SECRET =
  /((?:api[-_ ]?key|access[-_ ]?token|refresh[-_ ]?token|security[-_ ]?token|token|password|passwd|secret|authorization)["']?\s*[:=]\s*["']?)(?!(?:bearer|basic)\s)[^\s"',}&]+/gi;

/** Written with a plus, as we send them and the service repeats them, also inside a URL. */
const PLUS_NUMBER = /(?:\+|%2B)\d(?:[ ().-]{0,2}\d){5,14}/gi;
/** Seven digits and more in a row, also in groups; not a date, nor a piece of an id or an address. */
const BARE_NUMBER = /(?<![\w.-])(?!\d{4}-\d\d-\d\d)\d(?:[ -]?\d){6,17}(?![\w-]|\.\d)/g;

/**
 * A mask that knows the installation's own secrets by their text, and everybody else's by their shape. Secrets under
 * four letters are left out: blotting them out would tear every text apart and give them away by the gaps.
 */
export function createMask(secrets: readonly string[] = []): Mask {
  const known = secrets
    .filter((secret) => secret.length >= 4)
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    .sort((a, b) => b.length - a.length);
  const id = (text: string): string => {
    let masked = text;
    for (const secret of known) masked = masked.replaceAll(secret, '[secret]');
    return masked
      .replace(JSON_WEB_TOKEN, '[token]')
      .replace(API_KEY, '[key]')
      .replace(BEARER, '$1$2[token]')
      .replace(URL_PASSWORD, '$1[secret]@')
      .replace(NAMED_SECRET, '$1[secret]')
      .replace(PLUS_NUMBER, (number) => maskNumber(number.replace(/^%2B/i, '+')));
  };
  return { id, prose: (text) => id(text).replace(BARE_NUMBER, maskNumber) };
}
