import { decoded } from './address.js';

/** The segment after the last `/requests/`; the rest of the address is never used. */
const AFTER_REQUESTS = /^.*\/requests\/([^/?#]+)/;

const LONGEST = 512;

/** What cannot be a segment of a path, however encoded: it would change the path, or is half a character. */
const UNFIT = /^\.\.?$|\p{Surrogate}/u;

/**
 * The request id a resourceURL or a `Location` names: the segment after `/requests/`, its escapes resolved.
 * Only the id is taken, so that no request ever goes to the host an answer names. Null if there is none that could
 * stand in a path.
 */
export function requestIdOf(address: string | undefined): string | null {
  const segment = address === undefined ? undefined : AFTER_REQUESTS.exec(address)?.[1];
  if (segment === undefined) return null;
  const id = decoded(segment).trim();
  return id === '' || id.length > LONGEST || UNFIT.test(id) ? null : id;
}
