import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { secondsOf } from '../../base/duration.js';
import type { EventOf, Events, EventType, VolleyEvent } from '../../base/events/events.js';

/** Buckets in seconds, from a local service to a request that takes the whole `REQUEST_TIMEOUT_MS`. */
const BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** A lane as its metrics name it. */
export interface MeasuredLane {
  readonly name: string;
  /** The child organisation that its account acts for, if it does. */
  readonly targetAccountId?: string | undefined;
}

/** See {@link countEvents}. */
interface EventCounters {
  /** Begins the series of lanes that are new. */
  beginLanes(): void;
  /** Stops counting. */
  stop(): void;
}

/**
 * Counts the events of this process in `registry`. Every label is the name of a lane or one of a closed set, so that the
 * number of series is limited.
 */
export function countEvents(
  registry: Registry,
  events: Events,
  lanes: () => readonly MeasuredLane[],
): EventCounters {
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers: [registry] });
  const ofLane = (name: string, help: string) => counter(name, help, 'lane');

  const sends = counter('volley_sends_total', 'Send requests by outcome.', 'lane', 'outcome');
  const polls = counter(
    'volley_polls_total',
    'Requests for a delivery status (polls) by outcome.',
    'lane',
    'outcome',
  );
  const duration = new Histogram({
    name: 'volley_request_duration_seconds',
    help: 'Time from the start of a request to the service to its outcome.',
    labelNames: ['kind'],
    buckets: BUCKETS,
    registers: [registry],
  });
  /** Events that are counted one by one, for each lane. */
  const occurrences = {
    'request.unknown': ofLane('volley_unknown_outcomes_total', 'Requests whose outcome became unknown.'),
    'claim.overdue': ofLane(
      'volley_claims_overdue_total',
      'Requests that a worker claimed without reporting an outcome in time.',
    ),
    'recipient.contradicted': ofLane(
      'volley_contradictions_total',
      'Reports that contradicted a final report and were not applied.',
    ),
    'lane.held': ofLane(
      'volley_lane_holds_total',
      'Times that an operator held a lane through this process.',
    ),
    'lane.backingOff': ofLane(
      'volley_lane_backoffs_total',
      'Times that a lane began to back off after a response to this process.',
    ),
    'campaign.completed': ofLane(
      'volley_campaigns_completed_total',
      'Campaigns whose last recipient got its final state from this process.',
    ),
    'request.confirmed': ofLane(
      'volley_unknown_outcomes_confirmed_total',
      'Unknown outcomes that a notification and a delivery status confirmed as accepted.',
    ),
    'inbound.received': ofLane('volley_inbound_messages_total', 'Replies that this process stored.'),
    'redis.dataLoss': ofLane(
      'volley_redis_data_loss_total',
      'Times that Redis may have lost its last writes.',
    ),
  } as const satisfies Partial<Record<EventType, Counter<'lane'>>>;
  const turns = counter('volley_turns_total', 'Turns that ended without an error.', 'kind');
  const turnsFailed = counter('volley_turns_failed_total', 'Turns that failed and were retried.', 'kind');
  const imported = ofLane('volley_campaigns_imported_total', 'Campaigns that this process imported.');
  const importedRecipients = ofLane(
    'volley_recipients_imported_total',
    'Recipients of the campaigns that this process imported.',
  );
  const tokens = counter(
    'volley_token_requests_total',
    'Logins and token refreshes by result. `target_account` is empty for all but resellers.',
    'lane',
    'target_account',
    'result',
  );
  const reports = ofLane(
    'volley_notification_reports_total',
    'Reports from notifications that this process applied.',
  );
  const refused = counter(
    'volley_notifications_refused_total',
    'Notifications that this process rejected, by reason.',
    'lane',
    'reason',
  );
  const reportsFailed = ofLane(
    'volley_notification_reports_failed_total',
    'Reports from notifications that could not be applied; Volley asks for the delivery status instead.',
  );
  const scheduled = counter(
    'volley_schedule_occurrences_total',
    'Occurrences of schedules that this process handled, by outcome.',
    'lane',
    'outcome',
  );
  const redisUp = new Gauge({
    name: 'volley_redis_up',
    help: '1 while this process is connected to Redis, otherwise 0.',
    registers: [registry],
  });
  const redisLost = counter('volley_redis_disconnects_total', 'Lost or failed connections to Redis.');
  const redisRestored = counter('volley_redis_reconnects_total', 'Restored connections to Redis.');
  const redisDown = counter(
    'volley_redis_down_seconds_total',
    'Time without a connection to Redis, counted when the connection is restored.',
  );
  const sweepsFailed = counter('volley_sweeps_failed_total', 'Sweeps that failed and were retried.');

  redisUp.set(1);
  // Alerts watch for an increase. A series that starts with its first event would show none, so each starts at 0.
  const byLane = [...Object.values(occurrences), ...[imported, importedRecipients, reports, reportsFailed]];
  const begun = new Set<string>();
  const beginLanes = (): void => {
    for (const { name: lane, targetAccountId = '' } of lanes()) {
      if (begun.has(lane)) continue;
      begun.add(lane);
      for (const each of byLane) each.inc({ lane }, 0);
      for (const result of ['refused', 'unanswered']) {
        tokens.inc({ lane, target_account: targetAccountId, result }, 0);
      }
      for (const reason of ['token', 'unreadable', 'overload']) refused.inc({ lane, reason }, 0);
      for (const outcome of ['created', 'skipped', 'missed', 'failed']) scheduled.inc({ lane, outcome }, 0);
    }
  };
  beginLanes();
  for (const kind of ['send', 'poll']) {
    for (const each of [turns, turnsFailed]) each.inc({ kind }, 0);
    duration.zero({ kind });
  }

  const isOccurrence = (event: VolleyEvent): event is EventOf<keyof typeof occurrences> =>
    event.type in occurrences;
  const count = (event: VolleyEvent): void => {
    if (isOccurrence(event)) {
      occurrences[event.type].inc({ lane: event.lane });
      return;
    }
    switch (event.type) {
      case 'schedule.ran':
        scheduled.inc({ lane: event.lane, outcome: 'created' });
        break;
      case 'schedule.skipped':
        scheduled.inc({ lane: event.lane, outcome: 'skipped' });
        break;
      case 'schedule.missed':
        scheduled.inc({ lane: event.lane, outcome: 'missed' }, event.occurrences);
        break;
      case 'schedule.failed':
        scheduled.inc({ lane: event.lane, outcome: 'failed' });
        break;
      case 'request.ended': {
        const { lane, kind, outcome } = event;
        (kind === 'send' ? sends : polls).inc({ lane, outcome });
        duration.observe({ kind }, secondsOf(event.took));
        break;
      }
      case 'turn.ended':
        turns.inc({ kind: event.kind });
        break;
      case 'turn.failed':
        turnsFailed.inc({ kind: event.kind });
        break;
      case 'campaign.imported':
        imported.inc({ lane: event.lane });
        importedRecipients.inc({ lane: event.lane }, event.recipientCount);
        break;
      case 'token.loggedIn':
      case 'token.refreshed':
      case 'token.refused':
      case 'token.unanswered':
        tokens.inc({
          lane: event.account,
          target_account: event.targetAccount ?? '',
          result: event.type.replace('token.', ''),
        });
        break;
      case 'notifications.settled':
        reports.inc({ lane: event.lane }, event.reports);
        break;
      case 'notifications.refused':
        refused.inc({ lane: event.lane, reason: event.reason }, event.notifications);
        break;
      case 'notifications.failed':
        reportsFailed.inc({ lane: event.lane }, event.reports);
        break;
      case 'redis.lost':
        redisUp.set(0);
        redisLost.inc();
        break;
      case 'redis.restored':
        redisUp.set(1);
        redisDown.inc(secondsOf(event.down));
        redisRestored.inc();
        break;
      case 'sweep.failed':
        sweepsFailed.inc();
        break;
      default:
      // Other events are only logged.
    }
  };
  return { beginLanes, stop: events.onAny(count) };
}
