import { Counter, Gauge, Registry } from 'prom-client';
import { within } from '../clock.js';
import {
  type FleetSnapshot,
  type LaneSnapshot,
  PAUSE_CAUSES,
  SUBSCRIPTION_STATES,
} from '../reporting/fleet-snapshot.js';

const LANE_STATES = ['open', 'paused', 'probing', 'stopped', 'held'] as const;

const UP = 'volley_fleet_up';

/** Prometheus gives up after 10 s unless it is told otherwise. */
const COUNTED_WITHIN_MS = 8_000;

/**
 * What Redis knows of lanes, campaigns and workers: the same from every process, and read when it is asked for. Resolves
 * without it, and says so in a metric of its own, where Redis does not answer in time.
 */
export function fleetMetrics(fleetSnapshot: () => Promise<FleetSnapshot>): { text(): Promise<string> } {
  const registry = new Registry();
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });

  const up = gauge(UP, '1 if Redis could be asked how everything stands.');
  const state = gauge(
    'volley_lane_state',
    '1 for the state that the lane is in, 0 for each other.',
    'lane',
    'state',
  );
  const closed = gauge(
    'volley_lane_closed',
    '1 for why the lane starts nothing, or only a probe, 0 for each other cause.',
    'lane',
    'cause',
  );
  const limit = gauge(
    'volley_lane_quota_limit',
    'Requests a window permits now; none while nobody knows.',
    'lane',
  );
  const learned = gauge(
    'volley_lane_quota_learned',
    'Requests a window permits, as learned; none before it is, nor where it is configured.',
    'lane',
  );
  const used = gauge(
    'volley_lane_quota_used',
    'Requests answered in the window that ends now.',
    'lane',
    'kind',
  );
  const inFlight = gauge('volley_lane_in_flight', 'Requests on the wire or about to be.', 'lane');
  const permits = gauge(
    'volley_lane_permits',
    'Requests that may leave now; none while nobody knows.',
    'lane',
  );
  const throttled = new Counter({
    name: 'volley_lane_throttled_total',
    help: 'Requests answered 429 since the lane began.',
    labelNames: ['lane'],
    registers: [registry],
  });
  const awaiting = gauge(
    'volley_lane_awaiting_reports',
    'Requests without a final report for each recipient.',
    'lane',
  );
  const late = gauge(
    'volley_lane_poll_overdue_seconds',
    'How long the request that is due first has waited for its poll.',
    'lane',
  );
  const unknown = gauge('volley_lane_unknown_batches', 'Batches of whose outcome nobody knows.', 'lane');
  const subscription = gauge(
    'volley_lane_subscription',
    '1 for how the subscription to notifications stood when it was last looked at, 0 for each other way.',
    'lane',
    'state',
  );
  const heard = gauge(
    'volley_lane_notified_age_seconds',
    'Since the last notification; none before the first.',
    'lane',
  );
  const early = gauge(
    'volley_lane_early_notifications',
    'Requests that were notified of, and that nobody knows yet.',
    'lane',
  );
  const sendable = gauge(
    'volley_lane_sendable_campaigns',
    'Campaigns that have somebody to send to now.',
    'lane',
  );
  const campaigns = gauge('volley_campaigns', 'Campaigns kept, by state.', 'lane', 'state');
  const recipients = gauge(
    'volley_recipients',
    'Recipients of the campaigns kept, by state.',
    'lane',
    'state',
  );
  const requests = gauge(
    'volley_campaign_requests',
    'Requests put on the wire for the campaigns kept, repeated ones too.',
    'lane',
    'kind',
  );
  const jobs = gauge('volley_jobs', 'Jobs in the queues; each is a lane that has work.', 'stage', 'state');
  const workers = gauge('volley_workers', 'Worker processes alive.', 'role');
  const swept = gauge(
    'volley_sweep_age_seconds',
    'Since the last sweep; +Inf if there was none within a day.',
  );

  const setLane = (counted: LaneSnapshot): void => {
    const { status } = counted;
    const { quota, name: lane } = status;
    for (const one of LANE_STATES) state.set({ lane, state: one }, Number(one === status.state));
    for (const cause of PAUSE_CAUSES) closed.set({ lane, cause }, Number(cause === counted.cause));
    if (quota.limit !== null) {
      limit.set({ lane }, quota.limit);
      const left = quota.limit - quota.used.send - quota.used.poll - quota.inFlight;
      permits.set({ lane }, Math.max(0, left));
    }
    if (quota.learned !== null) learned.set({ lane }, quota.learned);
    used.set({ lane, kind: 'send' }, quota.used.send);
    used.set({ lane, kind: 'poll' }, quota.used.poll);
    inFlight.set({ lane }, quota.inFlight);
    throttled.inc({ lane }, status.throttled);
    awaiting.set({ lane }, status.awaitingReports);
    late.set({ lane }, counted.pollOverdueMs / 1_000);
    unknown.set({ lane }, status.unknownOutcomes);
    const { notifications } = counted;
    for (const one of SUBSCRIPTION_STATES) {
      subscription.set({ lane, state: one }, Number(one === notifications.subscription));
    }
    if (notifications.lastReceivedMsAgo !== null)
      heard.set({ lane }, notifications.lastReceivedMsAgo / 1_000);
    early.set({ lane }, notifications.unmatched);
    sendable.set({ lane }, status.campaigns.running);
    for (const [one, count] of Object.entries(counted.campaigns)) campaigns.set({ lane, state: one }, count);
    for (const [one, count] of Object.entries(counted.recipients))
      recipients.set({ lane, state: one }, count);
    requests.set({ lane, kind: 'send' }, counted.requests.send);
    requests.set({ lane, kind: 'poll' }, counted.requests.poll);
  };

  const set = (counted: FleetSnapshot): void => {
    registry.resetMetrics();
    up.set(1);
    for (const lane of counted.lanes) setLane(lane);
    for (const [stage, depth] of Object.entries(counted.jobs)) {
      for (const [one, count] of Object.entries(depth)) jobs.set({ stage, state: one }, count);
    }
    for (const [role, count] of Object.entries(counted.workers)) workers.set({ role }, count);
    swept.set((counted.sweptAgoMs ?? Number.POSITIVE_INFINITY) / 1_000);
  };

  return {
    async text() {
      const counted = await within(COUNTED_WITHIN_MS, fleetSnapshot()).catch(() => null);
      if (counted === null) {
        up.set(0);
        return registry.getSingleMetricAsString(UP);
      }
      // Set and printed without a pause, so that two who ask at once do not disturb each other.
      set(counted);
      return registry.metrics();
    },
  };
}
