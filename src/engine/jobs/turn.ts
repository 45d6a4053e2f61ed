import pLimit from 'p-limit';
import type { Alarm, Clock } from '../../base/clock.js';
import type { ClaimReply, Why } from '../claim/claim-reply.js';
import type { GrantedPermit } from '../claim/permit.js';

/** How a turn ended: the lane is idle until it is woken, or continues in `inMs` ms. `requests`: how many the turn started. */
export type TurnEnd =
  | { readonly kind: 'idle'; readonly why: Why; readonly requests: number }
  | { readonly kind: 'later'; readonly inMs: number; readonly why: Why; readonly requests: number };

/** A claim call of a turn: its number, from 1, and how many claims it wants. */
interface TurnCall {
  readonly call: number;
  readonly want: number;
}

/** The steps of a turn. A `Settlement` is the outcome of a claim. */
export interface TurnSteps<Claim, Settlement> {
  /** Retries until Redis replies, or rejects when the signal fires. */
  claim(call: TurnCall): Promise<ClaimReply<Claim>>;
  /**
   * Prepares the requests of these claims. Returns one function per claim, which makes the request if the permit still allows it.
   * If a function rejects, the turn ends and the sweep settles the claim.
   */
  requests(claims: readonly Claim[], permit: GrantedPermit): Promise<readonly (() => Promise<Settlement>)[]>;
  /** Retries until Redis replies. */
  settle(settlements: readonly Settlement[]): Promise<void>;
}

/** What a turn uses of its lane. */
export interface TurnLane {
  readonly rules: { readonly inFlight: number };
  readonly monotonic: Clock;
  readonly alarm: Alarm;
}

/** The limits of a turn. */
export interface TurnOptions {
  /** How long the turn may claim, ms; then other lanes get their turn. */
  readonly turnMs: number;
  /** If the lane can continue within this time, ms, the turn waits: that is cheaper than another turn. */
  readonly waitHereMs: number;
  /** Fires when the process drains or loses the lane. Requests in flight are still settled. */
  readonly signal: AbortSignal;
}

/** When to claim again if requests of other turns use all permits. */
const OTHERS_IN_FLIGHT_MS = 250;
/** How often a turn that found nothing to do, and waits for a response or a time, looks whether there is something by now. */
const NEWS_MS = 200;

/**
 * Serves a lane for one turn: claims while there is room, makes the requests, and settles them. The settlements share a round trip
 * with the next claim, so a fast service leads to few large script calls, and a slow one to small, prompt ones.
 */
export async function runTurn<Claim, Settlement>(
  { monotonic, alarm, rules }: TurnLane,
  steps: TurnSteps<Claim, Settlement>,
  { turnMs, waitHereMs, signal }: TurnOptions,
): Promise<TurnEnd> {
  const { inFlight } = rules;
  const limit = pLimit(inFlight);
  const endAt = monotonic() + turnMs;
  const outcomes: Settlement[] = [];
  let [call, requests, claimAgainAt, lookAt] = [0, 0, 0, 0];
  let why: Why = 'more';
  let againAt: number | null = 0;
  let inProgress = 0;
  let failure: { error: unknown } | undefined;
  const fail = (error: unknown): undefined => {
    failure ??= { error };
  };
  const bell = createBell(alarm);
  const ring = bell.ring;
  signal.addEventListener('abort', ring);

  const begin = async (claims: readonly Claim[], permit: GrantedPermit): Promise<void> => {
    for (const request of await steps.requests(claims, permit)) {
      requests += 1;
      inProgress += 1;
      // A request counts until its outcome is here. p-limit's own count falls some microtasks earlier, in which a turn could end.
      const end = (): void => {
        inProgress -= 1;
        ring();
      };
      limit(request)
        .then((entry) => outcomes.push(entry))
        .catch(fail)
        .finally(end);
    }
  };
  /** If Redis refuses one of them, the others are settled all the same. */
  const settle = (all: readonly Settlement[]): Promise<void> =>
    steps.settle(all).catch(async (error: unknown) => {
      fail(error);
      if (all.length > 1) for (const one of all) await settle([one]);
    });
  const mayClaim = (): boolean =>
    !signal.aborted && monotonic() < endAt && why !== 'fenced' && failure === undefined;

  try {
    for (;;) {
      // A response may have opened the lane or made room, so claim again.
      if (outcomes.length > 0 && why !== 'quota') claimAgainAt = 0;
      const settling = outcomes.length > 0 ? settle(outcomes.splice(0)) : undefined;
      const want = inFlight - inProgress;
      let claimed = 0;
      if (mayClaim() && want > 0 && monotonic() >= Math.min(claimAgainAt, lookAt)) {
        call += 1;
        // If the claim fails, the requests in flight still end and are settled.
        const [reply] = await Promise.all([steps.claim({ call, want }).catch(fail), settling]);
        if (reply === undefined) continue;
        ({ why } = reply);
        againAt = reply.againInMs === null ? null : monotonic() + reply.againInMs;
        claimAgainAt = why === 'more' || why === 'again' ? 0 : (againAt ?? Number.POSITIVE_INFINITY);
        lookAt = why === 'nothing' ? monotonic() + NEWS_MS : Number.POSITIVE_INFINITY;
        claimed = reply.claims.length;
        await begin(reply.claims, reply.permit).catch(fail);
        if (why === 'inFlight') {
          // This turn's own responses make room. The sweep settles requests that earlier turns left in flight.
          againAt = monotonic() + OTHERS_IN_FLIGHT_MS;
          claimAgainAt = inProgress > 0 ? Number.POSITIVE_INFINITY : againAt;
        }
      } else {
        await settling;
      }
      if (outcomes.length > 0 || (claimed > 0 && claimAgainAt === 0 && inFlight > inProgress)) continue;
      const waitMs = mayClaim() ? claimAgainAt - monotonic() : Number.POSITIVE_INFINITY;
      if (inProgress === 0 && (!mayClaim() || waitMs > waitHereMs)) break;
      const newsMs = mayClaim() ? lookAt - monotonic() : Number.POSITIVE_INFINITY;
      await bell.wait(inFlight > inProgress ? Math.min(waitMs, newsMs) : Number.POSITIVE_INFINITY);
    }
  } finally {
    signal.removeEventListener('abort', ring);
  }
  // The claim of a failed request stays in flight until it is overdue. Then the sweep settles it as unknown.
  if (failure !== undefined) throw failure.error;
  if (againAt === null) return { kind: 'idle', why, requests };
  return { kind: 'later', inMs: Math.max(0, Math.ceil(againAt - monotonic())), why, requests };
}

/** Node turns a longer timer into one of 1 ms. Such a wait needs no timer: a response ends it long before. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Wakes a waiting turn. If it rings when nothing waits, the next wait ends immediately. */
function createBell(alarm: Alarm) {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring(): void {
      rung = true;
      wake?.();
    },
    async wait(ms: number): Promise<void> {
      let cancel = (): void => {};
      if (!rung) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (ms <= MAX_TIMER_MS) cancel = alarm(Math.max(0, Math.ceil(ms)), resolve);
        });
      }
      cancel();
      [rung, wake] = [false, undefined];
    },
  };
}
