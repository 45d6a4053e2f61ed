import { z } from 'zod';
import type { Permit } from '../../service/client/messaging-client.js';
import type { Stage } from '../jobs/wake.js';
import { laneScript } from '../scripts/lane-script.js';
import { scriptEvents } from '../scripts/script-events.js';
import type { Lane } from './lane.js';

/*
 * Permits for requests that belong to no campaign. They come from the same ledger as those of campaigns (permits.lua), so that all
 * requests together keep to the quota.
 */

const WHY = ['', 'held', 'recovering', 'throttled', 'unreachable', 'quota', 'inFlight'] as const;

const permitScript = laneScript(import.meta.url, './single-permit.lua', (reply) => {
  const [why, at, now, events] = z.tuple([z.enum(WHY), z.string(), z.string(), z.string()]).parse(reply);
  return { why, at: Number(at), now: Number(now), events: scriptEvents(events) };
});
const NOT_REFUSED = { retryAfterMs: 0, reason: '', jitter: 0 };

/** A permit, or why there is none, for people. */
export type SinglePermit =
  | { readonly kind: 'granted'; readonly permit: Permit }
  /** `inMs`: when to ask again; null: when an operator has acted. */
  | { readonly kind: 'denied'; readonly reason: string; readonly inMs: number | null };

/** How far ahead the ledger reaches, as a share of the window (ledger.lua): until then, a request may arrive. */
const AHEAD = 42 / 384;

/**
 * Takes a permit for one request of a lane. `kind`: what the service counts it as; `other` if it may not count it. Calling it again
 * after a lost reply only wastes a permit.
 */
export async function takeSinglePermit(
  lane: Lane,
  kind: Stage | 'other',
  now?: number,
): Promise<SinglePermit> {
  const age = lane.startStopwatch();
  const {
    why,
    at,
    now: time,
    events,
  } = await permitScript(lane, {
    ...NOT_REFUSED,
    action: 'take',
    kind: kind === 'other' ? 'poll' : kind,
    counted: kind === 'other' ? 0 : 1,
    time: now,
  });
  lane.emit(events);
  if (why !== '') {
    const inMs = Math.max(0, at - time);
    return { kind: 'denied', reason: reasonOf(lane.name, why, inMs), inMs: at === 0 ? null : inMs };
  }
  const { margin, window, timeout } = lane.rules;
  const lastsMs = Math.min(margin, window * AHEAD - timeout);
  return { kind: 'granted', permit: { isExpired: () => age() > lastsMs } };
}

/** Call it when the service answers 429 to a request with a single permit: the lane backs off. */
export async function refuseSinglePermit(
  lane: Lane,
  kind: Stage,
  { retryAfterMs, reason }: { readonly retryAfterMs: number | null; readonly reason: string },
  now?: number,
): Promise<void> {
  const { events } = await permitScript(lane, {
    action: 'refused',
    kind,
    counted: 1,
    retryAfterMs: retryAfterMs ?? 0,
    reason,
    jitter: lane.random(),
    time: now,
  });
  lane.emit(events);
}

function reasonOf(lane: string, why: Exclude<(typeof WHY)[number], ''>, inMs: number): string {
  const later = `in ${Math.ceil(inMs / 1_000)} s`;
  switch (why) {
    case 'held':
      return `the lane ${lane} is held by an operator`;
    case 'recovering':
      return `the lane ${lane} recovers from a loss of data in Redis; its requests start again ${later}`;
    case 'throttled':
      return `the lane ${lane} backs off after a 429; it sends again ${later}`;
    case 'unreachable':
      return `the lane ${lane} backs off because the service did not answer; it sends again ${later}`;
    case 'quota':
      return `the lane ${lane} has used its quota; the next permit comes ${later}`;
    case 'inFlight':
      return `the lane ${lane} has as many requests in flight as it may while its quota is not known`;
    default:
      return why satisfies never;
  }
}
