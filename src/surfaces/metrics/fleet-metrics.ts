import { Counter, Gauge, Registry } from 'prom-client';
import { within } from '../../base/clock.js';
import { secondsOf } from '../../base/duration.js';
import type { FleetSnapshot, LaneSnapshot } from '../../reporting/fleet-snapshot.js';

const UP = 'volley_fleet_up';

/** Less than the scrape timeout of Prometheus, 10 s by default. */
const SNAPSHOT_WITHIN_MS = 8_000;

/**
 * The state of lanes, campaigns, and workers, from a snapshot that each call of the returned function takes. It is the same in every process. If
 * Redis does not answer in time, the text has only `volley_fleet_up 0`. A state in which a lane is not, and a state without campaigns or
 * recipients, has no series: there would be five times as many of them as lanes have states.
 */
export function fleetMetrics(takeSnapshot: () => Promise<FleetSnapshot>): () => Promise<string> {
  const registry = new Registry();
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const ofLane = (name: string, help: string) => gauge(name, help, 'lane');

  const up = gauge(UP, '1 if Redis answered, otherwise 0.');
  const info = gauge(
    'volley_lane_info',
    'Always 1. The labels show the id of the lane, and the account that a reseller acts for.',
    'lane',
    'id',
    'target_account',
  );
  const state = gauge(
    'volley_lane_state',
    '1 for the current state of the lane; other states are absent.',
    'lane',
    'state',
  );
  const closedCause = gauge(
    'volley_lane_closed_cause',
    '1 for the cause that keeps the lane from sending; absent while it is open.',
    'lane',
    'cause',
  );
  const limit = ofLane(
    'volley_lane_quota_limit',
    'Requests that the quota currently allows per window; absent while unknown.',
  );
  const learned = ofLane(
    'volley_lane_quota_learned',
    'Requests per window that Volley has learned; absent if it has learned none.',
  );
  const used = gauge('volley_lane_quota_used', 'Requests in the current window.', 'lane', 'kind');
  const inFlight = ofLane('volley_lane_in_flight', 'Requests in flight, or about to be sent.');
  const permits = ofLane(
    'volley_lane_permits_available',
    'Requests that may be sent now; absent while the limit is unknown.',
  );
  const throttled = new Counter({
    name: 'volley_lane_throttled_total',
    help: 'Requests for which the service returned 429.',
    labelNames: ['lane'],
    registers: [registry],
  });
  const awaiting = ofLane('volley_lane_awaiting_reports', 'Requests that still await final reports.');
  const pollOverdue = ofLane('volley_lane_poll_overdue_seconds', 'How long the earliest poll is overdue.');
  const unknownOutcomes = ofLane('volley_lane_unknown_outcomes', 'Requests with an unknown outcome.');
  const failing = gauge(
    'volley_lane_failing_seconds',
    'How long all turns of the lane have failed; absent if they do not.',
    'lane',
    'kind',
  );
  const subscription = gauge(
    'volley_lane_subscription',
    '1 for the state of the subscription to notifications at the last check; other states are absent.',
    'lane',
    'state',
  );
  const lastNotification = ofLane(
    'volley_lane_last_notification_age_seconds',
    'Time since the last notification; absent before the first.',
  );
  const unmatched = ofLane(
    'volley_lane_unmatched_notifications',
    'Request ids in notifications that match no request yet; absent without a subscription.',
  );
  const running = ofLane('volley_lane_running_campaigns', 'Campaigns that have recipients to send to now.');
  const waiting = ofLane(
    'volley_lane_waiting_campaigns',
    'Running campaigns that wait until their window opens.',
  );
  const campaigns = gauge(
    'volley_campaigns',
    'Stored campaigns by state; a state without any is absent.',
    'lane',
    'state',
  );
  const recipients = gauge(
    'volley_recipients',
    'Recipients of the stored campaigns by state; a state without any is absent.',
    'lane',
    'state',
  );
  const requests = gauge(
    'volley_campaign_requests',
    'Requests sent for the stored campaigns, including repeated ones.',
    'lane',
    'kind',
  );
  const jobs = gauge('volley_jobs', 'Jobs in the queues. A lane with work has one job.', 'kind', 'state');
  const workers = gauge('volley_workers', 'Live worker processes.', 'role');
  const swept = gauge(
    'volley_last_sweep_age_seconds',
    'Time since the last sweep; +Inf if there was none within a day.',
  );

  const outboxWaiting = ofLane(
    'volley_outbox_waiting',
    'Messages of outboxes that wait; absent for a lane without outboxes.',
  );
  const outboxLapsed = ofLane(
    'volley_outbox_lapsed',
    'Lapsed messages of all outboxes. Falls if one is put again with a higher version.',
  );
  const outboxLate = ofLane(
    'volley_outbox_late_seconds',
    'How long the earliest due message of an outbox has waited; 0 if none is due. Paused outboxes do not count.',
  );
  const webhooks = gauge(
    'volley_webhooks',
    'Webhooks by state: enabled, disabled, or failing: enabled, and its last request failed.',
    'state',
  );
  const schedules = gauge(
    'volley_schedules',
    'Schedules by state: active, paused by an operator, or failing: paused after three failures in a row.',
    'state',
  );
  const scheduleLate = gauge(
    'volley_schedule_late_seconds',
    'How long the earliest due schedule has waited for a worker that can run it.',
  );

  const setLane = (snapshot: LaneSnapshot): void => {
    const { status } = snapshot;
    const { quota, name: lane } = status;
    info.set({ lane, id: status.id, target_account: status.targetAccount ?? '' }, 1);
    state.set({ lane, state: status.state }, 1);
    if (snapshot.cause !== null) closedCause.set({ lane, cause: snapshot.cause }, 1);
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
    pollOverdue.set({ lane }, secondsIn(snapshot.pollOverdue));
    unknownOutcomes.set({ lane }, status.unknownOutcomes);
    for (const kind of ['send', 'poll'] as const)
      setIfAny(failing, { lane, kind }, secondsIn(snapshot.failing[kind]));
    const { notifications, outboxes } = snapshot;
    if (notifications.subscription !== null) {
      subscription.set({ lane, state: notifications.subscription }, 1);
      unmatched.set({ lane }, notifications.unmatched);
    }
    if (notifications.sinceLast !== null) lastNotification.set({ lane }, secondsIn(notifications.sinceLast));
    if (outboxes !== null) {
      outboxWaiting.set({ lane }, outboxes.waiting);
      outboxLapsed.set({ lane }, outboxes.lapsed);
      outboxLate.set({ lane }, secondsIn(outboxes.late));
    }
    running.set({ lane }, status.campaigns.running);
    waiting.set({ lane }, status.campaigns.waiting);
    for (const [one, count] of Object.entries(snapshot.campaigns))
      setIfAny(campaigns, { lane, state: one }, count);
    for (const [one, count] of Object.entries(snapshot.counts))
      setIfAny(recipients, { lane, state: one }, count);
    requests.set({ lane, kind: 'send' }, snapshot.requests.send);
    requests.set({ lane, kind: 'poll' }, snapshot.requests.poll);
  };

  const set = (snapshot: FleetSnapshot): void => {
    registry.resetMetrics();
    up.set(1);
    for (const lane of snapshot.lanes) setLane(lane);
    for (const [kind, depth] of Object.entries(snapshot.jobs)) {
      for (const [one, count] of Object.entries(depth)) jobs.set({ kind, state: one }, count);
    }
    for (const [role, count] of Object.entries(snapshot.workers)) workers.set({ role }, count);
    for (const one of ['active', 'paused', 'failing'] as const)
      schedules.set({ state: one }, snapshot.schedules[one]);
    for (const one of ['enabled', 'disabled', 'failing'] as const)
      webhooks.set({ state: one }, snapshot.webhooks[one]);
    scheduleLate.set(secondsIn(snapshot.schedules.late));
    swept.set(snapshot.sinceSweep === null ? Number.POSITIVE_INFINITY : secondsIn(snapshot.sinceSweep));
  };

  return async () => {
    const snapshot = await within(SNAPSHOT_WITHIN_MS, takeSnapshot()).catch(() => null);
    if (snapshot === null) {
      up.set(0);
      return registry.getSingleMetricAsString(UP);
    }
    // Nothing may be awaited in between, so that concurrent calls do not mix their values.
    set(snapshot);
    return registry.metrics();
  };
}

/** Sets a value that is 0 for most labels, if it is not 0. */
function setIfAny<Label extends string>(
  gauge: Gauge<Label>,
  labels: Partial<Record<Label, string>>,
  value: number,
): void {
  if (value !== 0) gauge.set(labels, value);
}

/** Seconds of a duration; 0 if there is none. */
const secondsIn = (duration: string | null): number => (duration === null ? 0 : secondsOf(duration));
