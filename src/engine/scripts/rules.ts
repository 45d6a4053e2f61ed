import type { LaneRules, LocalConfig } from '../../base/config/index.js';
import { PROFILES } from '../../base/profiles/index.js';
import type { ScriptRules } from './script-rules.js';

/** Also the maximum number of requests with an unknown outcome after an outage. */
export const IN_FLIGHT = 32;

const clamp = (value: number, min: number, max: number): number =>
  Math.ceil(Math.min(max, Math.max(min, value)));

/** See {@link ScriptRules.repeatFor}. At least 1% of the lifetime is kept as a margin, in case a clock is set. */
const repeatFor = (lifetimeMs: number, timeout: number, margin: number): number =>
  Math.max(0, Math.floor(lifetimeMs - timeout - Math.max(margin, lifetimeMs / 100)));

/** The rules of a lane, from its settings. Durations without a setting are derived from the window, so that short test windows stay in proportion. */
export function scriptRules(lane: LaneRules, config: LocalConfig): ScriptRules {
  const window = config.quotaWindowMs;
  const timeout = config.requestTimeoutMs;
  const margin = clamp(timeout / 6, 500, 5_000);
  const { clientCorrelator } = lane;
  return {
    quota: lane.hourlyQuota === 'auto' ? 0 : lane.hourlyQuota,
    window,
    pollShare: lane.pollShare,
    smooth: lane.pacing === 'smooth',
    inFlight: IN_FLIGHT,
    timeout,
    margin,
    maxRecipients: lane.maxRecipientsPerRequest,
    firstPoll: config.followUpFirstMs,
    pollAgain: config.followUpFirstMs,
    deadline: config.followUpDeadlineMs,
    backoff: clamp(window / 720, 50, 5_000),
    grace: clamp(window / 20, 500, 5_000),
    repeatFor:
      typeof clientCorrelator === 'string'
        ? 0
        : repeatFor(clientCorrelator.deduplicatesForMs, timeout, margin),
    profile: lane.profile,
    resolveAfter: lane.unknownOutcome.action === 'hold' ? 0 : lane.unknownOutcome.afterMs,
    ...(lane.sendWindow === undefined ? {} : { sendWindow: lane.sendWindow }),
    ...(lane.stored === undefined ? {} : { revision: lane.stored.revision }),
    ...(config.callback === undefined
      ? {}
      : {
          notify: true,
          ...(PROFILES[lane.profile].request.callbackData ? { byReference: true } : {}),
          early: clamp(config.requestTimeoutMs * 4, 10_000, 600_000),
          heard: clamp(window / 6, 1_000, 600_000),
          patience: clamp(config.followUpFirstMs * 10, 1, config.followUpDeadlineMs / 10),
        }),
  };
}
