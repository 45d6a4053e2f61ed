import pLimit from 'p-limit';
import type { Alarm } from '../clock.js';
import type { ClaimReply, Why } from './claims.js';
import type { Lane } from './lane.js';
import type { GrantedPermit } from './permit.js';

/** What a turn's lane does next: it is done until it is woken, or it goes on after `inMs`. */
export type TurnEnd =
  | { readonly kind: 'idle'; readonly why: Why; readonly requests: number }
  | { readonly kind: 'later'; readonly inMs: number; readonly why: Why; readonly requests: number };

/** A call of a turn: its number, from 1, and how many claims it wants. */
export interface TurnCall {
  readonly call: number;
  readonly want: number;
}

/** The steps of a turn; a `Settlement` is what became of a claim. */
export interface TurnSteps<Claim, Settlement> {
  /** Repeats itself until it is answered, or rejects when the signal fires. */
  claim(call: TurnCall): Promise<ClaimReply<Claim>>;
  /**
   * Prepares the requests of these claims: one function per claim, which makes the request if the permit allows it. One that
   * rejects ends the turn, and leaves its claim to the sweep.
   */
  requests(claims: readonly Claim[], permit: GrantedPermit): Promise<readonly (() => Promise<Settlement>)[]>;
  /** Repeats itself until it is answered. */
  settle(settlements: readonly Settlement[]): Promise<void>;
}

/** How long a turn goes on. */
export interface TurnOptions {
  /** After this long nothing more is claimed, so that other lanes get their turn, ms. */
  readonly turnMs: number;
  /** A lane that may go on within this time waits for it here: that is cheaper than another turn. */
  readonly waitHereMs: number;
  /** Fires when the process drains or has lost the lane. Requests in flight are settled all the same. */
  readonly signal: AbortSignal;
}

/** How soon a lane is asked again whose permits are all in flight elsewhere. */
const OTHERS_IN_FLIGHT_MS = 250;

/**
 * Runs a lane for a while: claims as long as there is room, keeps the requests going, and settles what was answered,
 * together with the next claim in one round trip. The more is answered during a round trip, the more goes into the
 * next one, so a fast service is met with few, large scripts and a slow one with small, prompt ones.
 */
export async function runTurn<Claim, Settlement>(
  { monotonic, alarm, rules }: Pick<Lane, 'monotonic' | 'alarm' | 'rules'>,
  steps: TurnSteps<Claim, Settlement>,
  { turnMs, waitHereMs, signal }: TurnOptions,
): Promise<TurnEnd> {
  const { inFlight } = rules;
  const limit = pLimit(inFlight);
  const endAt = monotonic() + turnMs;
  const answered: Settlement[] = [];
  let [call, requests, claimAgainAt] = [0, 0, 0];
  let why: Why = 'more';
  let againAt: number | null = 0;
  let failure: { error: unknown } | undefined;
  const breakOff = (error: unknown): undefined => {
    failure ??= { error };
  };
  const bell = createBell(alarm);
  const ring = bell.ring;
  signal.addEventListener('abort', ring);

  const begin = async (claims: readonly Claim[], permit: GrantedPermit): Promise<void> => {
    for (const request of await steps.requests(claims, permit)) {
      requests += 1;
      limit(request)
        .then((entry) => answered.push(entry))
        .catch(breakOff)
        .finally(ring);
    }
  };
  const underWay = (): number => limit.activeCount + limit.pendingCount;
  const mayClaim = (): boolean =>
    !signal.aborted && monotonic() < endAt && why !== 'fenced' && failure === undefined;

  try {
    for (;;) {
      const settling = answered.length > 0 ? steps.settle(answered.splice(0)).catch(breakOff) : undefined;
      const want = inFlight - underWay();
      let claimed = 0;
      if (mayClaim() && want > 0 && monotonic() >= claimAgainAt) {
        call += 1;
        // A claim that breaks off must not take along what is in flight: that is still answered, and settled.
        const [reply] = await Promise.all([steps.claim({ call, want }).catch(breakOff), settling]);
        if (reply === undefined) continue;
        ({ why } = reply);
        againAt = reply.againInMs === null ? null : monotonic() + reply.againInMs;
        claimAgainAt = why === 'more' || why === 'again' ? 0 : (againAt ?? Number.POSITIVE_INFINITY);
        claimed = reply.claims.length;
        await begin(reply.claims, reply.permit).catch(breakOff);
        if (why === 'inFlight') {
          // Our own answers make room; what others have left in flight is seen to by the sweep.
          againAt = monotonic() + OTHERS_IN_FLIGHT_MS;
          claimAgainAt = underWay() > 0 ? Number.POSITIVE_INFINITY : againAt;
        }
      } else {
        await settling;
      }
      if (answered.length > 0 || (claimed > 0 && claimAgainAt === 0 && inFlight > underWay())) continue;
      const waitMs = mayClaim() ? claimAgainAt - monotonic() : Number.POSITIVE_INFINITY;
      if (underWay() === 0 && (!mayClaim() || waitMs > waitHereMs)) break;
      await bell.wait(inFlight > underWay() ? waitMs : Number.POSITIVE_INFINITY);
      // An answer changes what the lane may do: what was asked in vain before may be had now.
      if (answered.length > 0 && why !== 'quota') claimAgainAt = 0;
    }
  } finally {
    signal.removeEventListener('abort', ring);
  }
  // The claim of what broke off stays as it is: the sweep will say that nobody knows what became of it.
  if (failure !== undefined) throw failure.error;
  if (againAt === null) return { kind: 'idle', why, requests };
  return { kind: 'later', inMs: Math.max(0, Math.ceil(againAt - monotonic())), why, requests };
}

/** Node turns a longer timer into one of 1 ms. It is rung for long before that: only requests in flight wait so long. */
const MOST_TIMER_MS = 2 ** 31 - 1;

/** Something one waits for, at most so long. What was rung while nobody waited is heard by the next who does. */
function createBell(alarm: Alarm) {
  let rung = false;
  let heard: (() => void) | undefined;
  return {
    ring(): void {
      rung = true;
      heard?.();
    },
    async wait(ms: number): Promise<void> {
      let silence = (): void => {};
      if (!rung) {
        await new Promise<void>((resolve) => {
          heard = resolve;
          if (ms <= MOST_TIMER_MS) silence = alarm(Math.max(0, Math.ceil(ms)), resolve);
        });
      }
      silence();
      [rung, heard] = [false, undefined];
    },
  };
}
