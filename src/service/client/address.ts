/** A recipient's address in the interface: `tel:` and the E.164 number with its plus (interface page, OutboundRequest). */
export function telAddress(number: string): string {
  return `tel:${number}`;
}

/**
 * The E.164 number, with its plus, of an address from the service, however it is written: `tel:+…`, `+…`, digits only,
 * URL-encoded, or with visual separators or parameters (RFC 3966). Null if it is no such number.
 */
export function numberOf(address: string): string | null {
  const plain = decoded(address).replace(/[\s().-]/g, '');
  const digits = /^(?:tel:)?(?:\+|00)?([1-9]\d{3,14})(?:;|$)/i.exec(plain)?.[1];
  return digits === undefined ? null : `+${digits}`;
}

/**
 * The sender as a path segment: everything is percent-encoded except letters, digits, `-`, `_`, `.`, and `~` (rule 5). Sends and
 * polls both use it, because a poll must name the sender exactly as the send did (interface page, get delivery infos).
 */
export function senderSegment(sender: string): string {
  return encodeURIComponent(sender).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The segment after the last `/requests/`. */
const AFTER_REQUESTS = /^(?:.*\/)?requests\/([^/?#]+)/i;
/** A relative reference of one segment. */
const LONE_SEGMENT = /^(?:\.?\/)?([^/?#:]+)\/?(?:[?#]|$)/;
const MAX_REQUEST_ID = 512;
/** Text that cannot be a path segment even when encoded: it would change the path, or is half a character. */
const NO_SEGMENT = /^\.\.?$|\p{Surrogate}/u;

/**
 * The request id in a resourceURL or a `Location`: the decoded segment after `/requests/`. Only the id is used, so no request
 * ever goes to a host that a response names. Null if there is none, or if it cannot be a path segment.
 */
export function requestIdOf(address: string | undefined): string | null {
  const segment = address === undefined ? undefined : AFTER_REQUESTS.exec(address)?.[1];
  if (segment === undefined) return null;
  const id = decoded(segment).trim();
  return id === '' || id.length > MAX_REQUEST_ID || NO_SEGMENT.test(id) ? null : id;
}

/** The request id in the address of a request that was just created. It may be relative to `/requests`, as an id alone. */
export function createdIdOf(address: string | undefined): string | null {
  const id = requestIdOf(address);
  if (id !== null || address === undefined) return id;
  const segment = LONE_SEGMENT.exec(address.trim())?.[1];
  return segment === undefined || /^requests$/i.test(segment) ? null : requestIdOf(`requests/${segment}`);
}

/** Text with its percent escapes decoded; unchanged if they are not valid. */
export function decoded(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
