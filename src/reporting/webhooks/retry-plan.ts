import type { Random } from '../../base/clock.js';
import type { Exchange } from '../../service/client/exchange.js';
import { retryAfterMs } from '../../service/client/read-response.js';
import { failureReason, PRIVATE_ADDRESS } from '../../service/client/reason.js';

/*
 * What a response means for a delivery, and when the next attempt is due.
 */

/** What an endpoint answered. */
export type Answer =
  | { readonly kind: 'accepted' }
  /** 410: the endpoint wants nothing more. */
  | { readonly kind: 'gone'; readonly reason: string }
  /** 413. */
  | { readonly kind: 'tooLarge'; readonly reason: string }
  /** Another 4xx: the endpoint does not accept this request, and maybe none. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** It may accept the same request later. `waitMs`: how long it asks to wait; null: it does not say. */
  | { readonly kind: 'failed'; readonly reason: string; readonly waitMs: number | null }
  /** This process ended the request. */
  | { readonly kind: 'aborted' };

/** Statuses that ask for the same request later. */
const LATER = new Set([408, 425, 429]);

/** What the end of a request means. `now`: ms. */
export function answerOf(exchange: Exchange, now: number): Answer {
  if (exchange.kind === 'failure') {
    if (exchange.cause === 'aborted') return { kind: 'aborted' };
    const reason =
      exchange.code === PRIVATE_ADDRESS
        ? 'the address is not public; WEBHOOK_ALLOW can permit it'
        : failureReason(exchange);
    return { kind: 'failed', reason, waitMs: null };
  }
  const { status, headers } = exchange;
  const reason = `the endpoint answered ${status}`;
  if (status >= 200 && status < 300) return { kind: 'accepted' };
  if (status === 410) return { kind: 'gone', reason };
  if (status === 413) return { kind: 'tooLarge', reason };
  if (status >= 400 && status < 500 && !LATER.has(status)) return { kind: 'refused', reason };
  return { kind: 'failed', reason, waitMs: retryAfterMs(headers['retry-after'], now) };
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** After the first, second, … failed attempt; then always the last. */
const RETRY_AFTER_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR];
const LONGEST_MS = 10 * HOUR;
/** A wait is up to this share longer, so that the retries of many deliveries do not arrive together. */
const JITTER = 0.2;
/** The most that a `Retry-After` counts. */
const MAX_WAIT_MS = LONGEST_MS;

/** How long to wait after failed attempts, ms. `attempts`: how many there were, from 1. */
export function retryAfter(attempts: number, random: Random): number {
  return Math.round((RETRY_AFTER_MS[attempts - 1] ?? LONGEST_MS) * (1 + JITTER * random()));
}

/** How long an endpoint that asks for a pause gets nothing, ms. */
export const holdFor = (waitMs: number): number => Math.min(Math.max(0, waitMs), MAX_WAIT_MS);

const SHORTEST_PAUSE_MS = SECOND;
const LONGEST_PAUSE_MS = MINUTE;
/** For how long an endpoint that has failed gets no request, as a share of the time since its first failure. */
const PAUSE_SHARE = 0.25;

/** How long to wait with all requests to an endpoint after a failure that did not ask for a wait, ms. */
export function pauseAfter({ failingSince }: Pick<Health, 'failingSince'>, now: number): number {
  const pause = PAUSE_SHARE * (now - failingSince);
  return Math.round(Math.min(Math.max(pause, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS));
}

/** How the requests to an endpoint have gone. Times in ms; 0: none. */
export interface Health {
  readonly failingSince: number;
  readonly lastFailedAt: number;
  readonly lastDeliveredAt: number;
  /** No request starts before then. */
  readonly heldUntil: number;
  readonly lastError: string;
  /** Results in a request; less than usual after a 413. */
  readonly maxResults: number;
}

/** Results in a request. */
const MAX_RESULTS = 200;

export const NEW_HEALTH: Health = {
  failingSince: 0,
  lastFailedAt: 0,
  lastDeliveredAt: 0,
  heldUntil: 0,
  lastError: '',
  maxResults: MAX_RESULTS,
};

/** After a request that the endpoint accepted. */
export const delivered = ({ maxResults }: Health, now: number): Health => ({
  ...NEW_HEALTH,
  lastDeliveredAt: now,
  maxResults,
});

/** After a request that failed. The failures count from the first of several within 24 hours. */
export function failed(health: Health, reason: string, now: number): Health {
  const isSeries = health.failingSince > 0 && now - health.lastFailedAt < DAY;
  return {
    ...health,
    failingSince: isSeries ? health.failingSince : now,
    lastFailedAt: now,
    lastError: reason,
  };
}

const DISABLE_AFTER_MS = 5 * DAY;

/** Whether every request has failed for so long that the endpoint is disabled. */
export const isDead = ({ failingSince }: Health, now: number): boolean =>
  failingSince > 0 && now - failingSince >= DISABLE_AFTER_MS;

const REFUSALS = 3;

/** Whether to give up on a delivery that the endpoint has refused so often while it accepted others. */
export function isHopeless(
  { refusals, firstRefusedAt }: { readonly refusals: number; readonly firstRefusedAt: number },
  { lastDeliveredAt }: Health,
): boolean {
  return refusals >= REFUSALS && lastDeliveredAt > firstRefusedAt;
}
