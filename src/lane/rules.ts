import type { LaneRules, LocalConfig } from '../config/index.js';

/** What the scripts need to know of a lane; sent along with each call, so that no stale copy can lie in Redis. */
export interface ScriptRules {
  /** Requests a window; 0: `auto`. */
  readonly quota: number;
  /** Milliseconds, as are all durations here. */
  readonly window: number;
  readonly pollShare: number;
  readonly smooth: boolean;
  /** Most requests of a kind in flight at a time. */
  readonly inFlight: number;
  /** The longest that a request takes. */
  readonly timeout: number;
  /** What a claim may take on top of its request before it counts as left behind. */
  readonly margin: number;
  readonly maxRecipients: number;
  readonly firstPoll: number;
  /** The shortest time between two polls of one request. */
  readonly pollAgain: number;
  readonly deadline: number;
  /** The first pause after a 429 or a failure that names no time; doubled by each that follows. */
  readonly backoff: number;
  /** How long nothing is claimed after Redis turned out not to be the one it was. */
  readonly grace: number;
  /** A repeated correlator is answered without sending again, so that what is unknown may be sent again. */
  readonly deduplicates: boolean;
  /** Age at which the policy settles what is unknown; 0: never. */
  readonly resolveAfter: number;
  /** Notifications are on: what finds a request by its id is kept. Left out where they are not. */
  readonly notify?: true;
  /** How long a notification waits for its request to become known; this and what follows goes with `notify`. */
  readonly early?: number;
  /** For so long after one has come, notifications are relied on… */
  readonly heard?: number;
  /** …and a request is first asked about no sooner than this, and asked again after as much, or after its age. */
  readonly patience?: number;
}

/** An outage costs at most so many requests of unknown outcome. */
export const IN_FLIGHT = 32;

const clamp = (value: number, least: number, most: number): number =>
  Math.ceil(Math.min(most, Math.max(least, value)));

/** The rules of a lane. What is not configured follows from the window, so that compressed windows stay in proportion. */
export function scriptRules(lane: LaneRules, config: LocalConfig): ScriptRules {
  const window = config.quotaWindowMs;
  return {
    quota: lane.hourlyQuota === 'auto' ? 0 : lane.hourlyQuota,
    window,
    pollShare: lane.pollShare,
    smooth: lane.pacing === 'smooth',
    inFlight: IN_FLIGHT,
    timeout: config.requestTimeoutMs,
    margin: clamp(config.requestTimeoutMs / 6, 500, 5_000),
    maxRecipients: lane.maxRecipientsPerRequest,
    firstPoll: config.followUpFirstMs,
    pollAgain: config.followUpFirstMs,
    deadline: config.followUpDeadlineMs,
    backoff: clamp(window / 720, 50, 5_000),
    grace: clamp(window / 20, 500, 5_000),
    deduplicates: lane.clientCorrelator === 'deduplicates',
    resolveAfter: lane.unknownOutcome.action === 'hold' ? 0 : lane.unknownOutcome.afterMs,
    ...(config.callback === undefined
      ? {}
      : {
          notify: true,
          early: clamp(config.requestTimeoutMs * 4, 10_000, 600_000),
          heard: clamp(window / 6, 1_000, 600_000),
          patience: clamp(config.followUpFirstMs * 10, 1, config.followUpDeadlineMs / 10),
        }),
  };
}
