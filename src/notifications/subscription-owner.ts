import type { CallbackSettings, LaneCallback } from '../config/index.js';
import { compared } from './callback-address.js';

/** The secret part of an address, as `laneCallback` makes it. */
const SEGMENT = /^[\w-]{43}$/;
/** A token that is not shown whole. */
const BLOTTED = /[*\u2022\u25cf\u2026]/;

/**
 * Whose subscription it is that the service shows; `own` is what a lane subscribes by the setting `callback`, `wasOurs`
 * that this process has seen or made it as ours.
 *
 * Ours is what has our address and, where the service shows it, our token; one that shows another than it was given shows
 * something else. Outdated is what has an address as we make them, or carries one of our secrets: the address or the
 * security token was changed since. Anything else is somebody else's, though it may begin like ours.
 */
export function whose(
  found: { url: string; securityToken: string | null },
  own: LaneCallback,
  callback: CallbackSettings,
  wasOurs: boolean,
): 'ours' | 'outdated' | 'foreign' {
  const { securityToken: token } = found;
  const url = compared(found.url);
  const ours = compared(own.url);
  const isHidden = token === null || token === '' || BLOTTED.test(token);
  if (url === ours && (isHidden || wasOurs || token === own.securityToken)) return 'ours';
  const path = url.split('?', 1)[0] ?? '';
  const [base, segment] = [path.slice(0, path.lastIndexOf('/')), path.slice(path.lastIndexOf('/') + 1)];
  const leadsHere = base === ours.slice(0, ours.lastIndexOf('/')) && SEGMENT.test(segment);
  const isSecret = token === own.securityToken || segment === own.segment;
  // One made by hand may be without the secret part, and carry the setting itself.
  const isByHand = url === compared(callback.url) && token === callback.securityToken;
  return leadsHere || isSecret || isByHand ? 'outdated' : 'foreign';
}
