import { type CallbackSettings, laneCallback } from '../config/index.js';

/** The longest address that is compared or shown. */
const MAX_LENGTH = 2_048;
/** The secret part of an address, as `laneCallback` makes it. */
const SEGMENT = /^[\w-]{43}$/;
/** A token of which the service hides at least a part. */
const MASKED = /[*\u2022\u25cf\u2026]/;

/**
 * Who owns the subscription that the service shows for a lane. `wasOurs`: this process has seen it as ours, or created it.
 *
 * - `ours`: it has our address and, if the service shows the token, our token. A service that shows something else than the
 *   token it was given is believed once the subscription was ours.
 * - `outdated`: its address has the form of ours, or it contains one of our secrets; the address or the security token has
 *   been changed since.
 * - `foreign`: anything else, even if the address begins like ours.
 */
export function ownerOf(
  found: { url: string; securityToken: string | null },
  { callback, lane, wasOurs }: { callback: CallbackSettings; lane: string; wasOurs: boolean },
): 'ours' | 'outdated' | 'foreign' {
  const own = laneCallback(callback, lane);
  const { securityToken: token } = found;
  const url = normalisedUrl(found.url);
  const ownUrl = normalisedUrl(own.url);
  const isHidden = token === null || token === '' || MASKED.test(token);
  if (url === ownUrl && (isHidden || wasOurs || token === own.securityToken)) return 'ours';
  const [base, segment] = splitAtLastSlash(url.split('?', 1)[0] ?? '');
  const isAtOurAddress = base === splitAtLastSlash(ownUrl)[0] && SEGMENT.test(segment);
  const hasOurSecret = token === own.securityToken || segment === own.segment;
  // A subscription that an operator made by hand may have no secret part and carry the setting itself.
  const isMadeByHand = url === normalisedUrl(callback.url) && token === callback.securityToken;
  return isAtOurAddress || hasOurSecret || isMadeByHand ? 'outdated' : 'foreign';
}

/** An address without its secrets, for people: the last part of the path, every long part, and the query are left out. */
export function redactedUrl(url: string): string {
  if (url.length > MAX_LENGTH || !URL.canParse(url)) return '…';
  const { origin, pathname } = new URL(url);
  if (origin === 'null') return '…';
  const parts = pathname.replace(/\/+$/, '').split('/');
  const isSecret = (part: string, at: number) => at > 0 && (at === parts.length - 1 || part.length >= 20);
  return `${origin}${parts.map((part, at) => (isSecret(part, at) ? '…' : part)).join('/') || '/'}`;
}

/** A service may spell the host, the port, and the trailing slash in its own way. */
function normalisedUrl(url: string): string {
  if (url.length > MAX_LENGTH || !URL.canParse(url)) return url;
  const { origin, pathname, search } = new URL(url);
  return `${origin}${pathname.replace(/\/+$/, '')}${search}`;
}

function splitAtLastSlash(url: string): [base: string, last: string] {
  const slash = url.lastIndexOf('/');
  return [url.slice(0, slash), url.slice(slash + 1)];
}
