import type { Clock, Random } from '../../base/clock.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import type { DisabledBecause } from '../../campaign/views/webhook-views.js';
import type { Seal } from '../../service/auth/seal.js';
import { type Delivery, halvesOf, nextDelivery, sizeOf } from './delivery.js';
import { type Endpoint, hostOf, type OpenSecret, openSecrets, withSecrets } from './endpoint.js';
import { disable, type KeyEndDeps, keyEndOf } from './key-ends.js';
import type { LaneReader } from './lane-reader.js';
import type { PayloadReader } from './payload.js';
import type { Poster } from './post.js';
import {
  type Answer,
  answerOf,
  delivered,
  failed,
  type Health,
  holdFor,
  isDead,
  isHopeless,
  pauseAfter,
  retryAfter,
} from './retry-plan.js';
import { signedHeaders } from './signature.js';
import type { Settlement, Step, WebhookStore } from './store.js';

/*
 * Delivers to one endpoint, as long as there is something to deliver. The logs of results say what has changed (store/results.lua):
 *
 *   log of a lane ──► cursor ──► deliveries, stored with the cursor ──► at most 4 requests ──► accepted: forgotten
 *                                   ▲                                        │
 *                                   └───────────── failed: due later ◄───────┤
 *                                                  refused by itself, while others are accepted: given up, can be replayed
 *
 * A delivery is stored before its first request and until it is accepted, so a process that dies loses none. Its request says the state of
 * its recipients at that time, which is why nothing of it but the places is stored. The one job of the endpoint keeps others away, and the
 * scripts keep two processes from storing the same range twice if one of them lost the job without noticing.
 */

/** Requests to an endpoint at a time. */
const MAX_IN_FLIGHT = 4;
/** Deliveries that wait for an endpoint, until no more of the log is read for it. */
const MAX_WAITING = 32;
const MAX_BYTES = 64 * 1024;
/** The bytes that a result takes are an estimate at first. */
const USUAL_BYTES = 340;
/** Failures for longer than this are an outage. With shorter ones, a delivery that fails among others would never wait. */
const OUTAGE_MS = 10_000;
/** A worker that cannot open the secrets of an endpoint leaves it to others for so long. */
const UNREADABLE_MS = 60_000;

/** What a turn needs. */
export interface DeliverDeps extends KeyEndDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly lanes: LaneReader;
  readonly payload: PayloadReader;
  readonly poster: Poster;
  readonly seal: Seal;
  readonly clock: Clock;
  readonly monotonic: Clock;
  readonly random: Random;
}

/** Delivers to an endpoint for at most `turnMs`. Returns when it is due again, ms; null: when something happens on its lanes. */
export async function deliver(
  deps: DeliverDeps,
  id: string,
  { turnMs, signal }: { readonly turnMs: number; readonly signal: AbortSignal },
): Promise<number | null> {
  const { store, monotonic } = deps;
  const began = monotonic();
  const opened = await openEndpoint(deps, id);
  if (typeof opened !== 'object' || opened === null) return opened;
  const turn = await beginTurn(deps, opened, signal);
  const isOver = (): boolean =>
    signal.aborted || turn.isEnded || turn.problem !== undefined || monotonic() - began > turnMs;
  try {
    while (!isOver()) {
      if (turn.start()) continue;
      if (turn.wantsMore && (await turn.readMore())) continue;
      if (turn.inFlight.size === 0) break;
      await Promise.race(turn.inFlight.values());
    }
  } finally {
    await Promise.allSettled(turn.inFlight.values());
  }
  if (turn.problem !== undefined) throw turn.problem;
  if (turn.isEnded) return null;
  const next = turn.nextDue(turn.wantsMore || isOver());
  if (next !== null) await store.setDue(id, next);
  return next;
}

/** An endpoint that gets something. `until`: when its API key ends, ms; null: never. */
interface Opened {
  readonly endpoint: Endpoint;
  readonly secrets: readonly OpenSecret[];
  readonly until: number | null;
}

/** Opens an endpoint that gets something; otherwise, says when to look at it again. */
async function openEndpoint(deps: DeliverDeps, id: string): Promise<Opened | number | null> {
  const { store, seal, events, clock } = deps;
  // Before anything is read of it: what is asked for from now on, such as a replay, stays due after the turn.
  await store.takeDue(id);
  let endpoint = await store.endpoint(id);
  if (endpoint === null || endpoint.disabledBecause !== null) return null;
  try {
    const secrets = openSecrets(seal, endpoint, clock());
    const { because, until } = await keyEndOf(deps, endpoint);
    if (because !== null) {
      await disable(deps, endpoint, because);
      return null;
    }
    if (endpoint.sealedWith !== seal.fingerprint) endpoint = await sealAgain(store, seal, endpoint, secrets);
    return { endpoint, secrets, until };
  } catch {
    events.emit({ type: 'webhook.unreadable', webhook: id, host: hostOf(endpoint) });
    const next = clock() + UNREADABLE_MS;
    await store.setDue(id, next);
    return next;
  }
}

/** Seals the secrets of an endpoint with the current SECRETS_KEY, so that the previous one is no longer needed. */
async function sealAgain(
  store: WebhookStore,
  seal: Seal,
  endpoint: Endpoint,
  secrets: readonly OpenSecret[],
): Promise<Endpoint> {
  await store.change(endpoint.id, endpoint, withSecrets(seal, endpoint, secrets));
  return (await store.endpoint(endpoint.id)) ?? endpoint;
}

/** What is known of an endpoint during a turn. */
async function beginTurn(deps: DeliverDeps, { endpoint, secrets, until }: Opened, signal: AbortSignal) {
  const { redis, keys, store, lanes, clock, random, events } = deps;
  const { id } = endpoint;
  const [deliveries, cursors, totals] = await Promise.all([
    store.deliveries(id),
    store.cursors(id),
    store.totals(id),
  ]);
  const waiting = new Map(deliveries.map((delivery) => [delivery.id, delivery]));
  const flying = new Map<string, Delivery>();
  const inFlight = new Map<string, Promise<void>>();
  let health: Health = totals.health;
  /** Whether a request of this turn has failed since the endpoint has last accepted one. */
  let hasFailed = false;
  let isEnded = false;
  let problem: unknown;
  let bytesPerResult = USUAL_BYTES;
  /** The lanes whose logs may have more; undefined: not looked at yet. */
  let ahead: LaneId[] | undefined;

  /** Stores what was read. If another process was faster, this turn has nothing more to do. */
  const advance = async (step: Step): Promise<void> => {
    if (isEnded) return;
    if (!(await store.store(id, step))) {
      isEnded = true;
      return;
    }
    cursors.set(step.cursor, step.to);
    for (const delivery of step.deliveries) waiting.set(delivery.id, delivery);
    if (step.removed) events.emit({ type: 'webhook.resultsRemoved', webhook: id, resultCount: step.removed });
  };

  /** Whether someone has changed, disabled, or removed the endpoint since the turn began. */
  const isChanged = async (): Promise<boolean> => (await store.endpoint(id))?.json !== endpoint.json;

  /** Makes one attempt. */
  const attempt = async (delivery: Delivery): Promise<void> => {
    const { data, resultCount, removedCount } = await deps.payload(delivery);
    if (data === null) return settle({ delivery, removed: removedCount });
    const timestamp = new Date(delivery.createdAt).toISOString();
    const body = JSON.stringify({ type: delivery.type, timestamp, data });
    const bytes = Buffer.byteLength(body);
    if (resultCount > 0) bytesPerResult = Math.max(USUAL_BYTES / 2, bytes / resultCount);
    // Only before its first attempt: the endpoint may have accepted an earlier one.
    const halves = bytes > MAX_BYTES && delivery.attempts === 0 ? halvesOf(delivery, clock()) : null;
    if (halves !== null) return settle({ delivery, by: halves });
    const isOver = until !== null && until <= clock();
    if (isOver || (await isChanged())) {
      isEnded = true;
      return;
    }
    const headers = signedHeaders(delivery.id, clock(), body, secrets);
    const answer = answerOf(await deps.poster.post(endpoint.url, headers, body, signal), clock());
    // It says nothing about another address, which gets at once what this one has not accepted.
    if (answer.kind !== 'accepted' && (await isChanged())) {
      isEnded = true;
      return;
    }
    await settleAnswer({ ...delivery, attempts: delivery.attempts + 1 }, answer, {
      results: resultCount,
      removed: removedCount,
    });
  };

  const settleAnswer = async (
    delivery: Delivery,
    answer: Answer,
    had: { readonly results: number; readonly removed: number },
  ): Promise<void> => {
    const now = clock();
    let isBack = false;
    switch (answer.kind) {
      case 'accepted':
        isBack = health.failingSince > 0 && now - health.failingSince > OUTAGE_MS;
        health = delivered(health, now);
        hasFailed = false;
        await settle({ delivery, health, delivered: 1, ...had });
        return isBack ? bringForward(now) : undefined;
      case 'aborted':
        return;
      case 'gone':
        noteFailure(answer.reason, now);
        await settle({ delivery, by: [again(delivery, answer.reason, now)], health });
        return end('gone');
      case 'tooLarge': {
        const halves = halvesOf(delivery, now);
        if (halves !== null) {
          health = { ...health, maxResults: Math.ceil(sizeOf(delivery) / 2) };
          return settle({ delivery, by: halves, health });
        }
        noteFailure(answer.reason, now);
        return giveUp(again(delivery, answer.reason, now));
      }
      case 'refused': {
        noteFailure(answer.reason, now);
        const refused = {
          ...again(delivery, answer.reason, now),
          refusals: delivery.refusals + 1,
          firstRefusedAt: delivery.firstRefusedAt || now,
        };
        if (isHopeless(refused, health)) return giveUp(refused);
        await settle({ delivery, by: [refused], health });
        break;
      }
      case 'failed':
        noteFailure(answer.reason, now);
        hasFailed = true;
        health = {
          ...health,
          heldUntil: now + (answer.waitMs === null ? pauseAfter(health, now) : holdFor(answer.waitMs)),
        };
        await settle({ delivery, by: [again(delivery, answer.reason, now)], health });
        break;
      default:
        return answer satisfies never;
    }
    if (isDead(health, now)) await end('failing');
  };

  const noteFailure = (reason: string, now: number): void => {
    if (health.failingSince === 0)
      events.emit({ type: 'webhook.failing', webhook: id, host: hostOf(endpoint), reason });
    health = failed(health, reason, now);
  };

  const again = (delivery: Delivery, reason: string, now: number): Delivery => ({
    ...delivery,
    dueAt: now + retryAfter(delivery.attempts, random),
    reason,
  });

  const giveUp = async (hopeless: Delivery): Promise<void> => {
    const delivery = { ...hopeless, failedAt: clock() };
    await settle({ delivery, isGivenUp: true, health });
    events.emit({
      type: 'webhook.gaveUp',
      webhook: id,
      delivery: delivery.id,
      host: hostOf(endpoint),
      reason: delivery.reason,
    });
  };

  const settle = async (settlement: Settlement): Promise<void> => {
    await store.settle(id, settlement);
    waiting.delete(settlement.delivery.id);
    for (const delivery of settlement.by ?? []) waiting.set(delivery.id, delivery);
  };

  /** Requests that may run at a time: one finds out whether an endpoint that fails is back. */
  const mostInFlight = (): number => (health.failingSince > 0 ? 1 : MAX_IN_FLIGHT);

  /** The endpoint is back after a while, so what failed for its sake need not wait any longer. */
  const bringForward = async (now: number): Promise<void> => {
    const late = [...waiting.values()].filter(
      ({ id: key, dueAt, refusals }) => dueAt > now && refusals === 0 && !flying.has(key),
    );
    for (const delivery of late) await settle({ delivery, by: [{ ...delivery, dueAt: now }] });
  };

  const end = async (because: DisabledBecause): Promise<void> => {
    isEnded = true;
    await disable({ store, events }, endpoint, because);
  };

  return {
    inFlight,
    get isEnded() {
      return isEnded;
    },
    /** Why an attempt could not be made or noted, such as that Redis is away. */
    get problem() {
      return problem;
    },
    /** Whether there is room for more of the log, which may have some. */
    get wantsMore() {
      return (
        inFlight.size < mostInFlight() &&
        waiting.size < MAX_WAITING &&
        (ahead === undefined || ahead.length > 0)
      );
    },

    /** Starts the next request. Returns false if none may start now. */
    start(): boolean {
      const now = clock();
      if (inFlight.size >= mostInFlight() || hasFailed || health.heldUntil > now) return false;
      const delivery = nextDelivery(waiting.values(), flying, now);
      if (delivery === undefined) return false;
      flying.set(delivery.id, delivery);
      const running = attempt(delivery)
        .catch((error: unknown) => {
          problem = error;
        })
        .finally(() => {
          flying.delete(delivery.id);
          inFlight.delete(delivery.id);
        });
      inFlight.set(delivery.id, running);
      return true;
    },

    /** Reads more of the logs. Returns false if there is nothing more. */
    async readMore(): Promise<boolean> {
      ahead ??= await lanes.ahead(endpoint.lanes ?? (await redis.smembers(keys.lanes)), cursors);
      const lane = ahead.shift();
      if (lane === undefined) return false;
      const { steps, hasMore } = await lanes.read(endpoint, lane, cursors, {
        deliveries: MAX_WAITING - waiting.size,
        results: Math.max(1, Math.min(health.maxResults, Math.floor(MAX_BYTES / bytesPerResult))),
      });
      for (const step of steps) await advance(step);
      if (hasMore) ahead.push(lane);
      return true;
    },

    /** When something is due again, ms; null: nothing waits. `isMore`: whether there may be something that was not read. */
    nextDue(isMore: boolean): number | null {
      const times = isMore ? [clock()] : [...waiting.values()].map(({ dueAt }) => dueAt);
      return times.length === 0 ? null : Math.max(health.heldUntil, Math.min(...times));
    },
  };
}
