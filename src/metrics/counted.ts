import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Events, VolleyEvent } from '../events/events.js';

/** From a local service to one that takes all of `REQUEST_TIMEOUT_MS`. */
const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * Counts what this process tells of itself, into `registry`. Labels are names of lanes and words of closed sets, so
 * that their number is known beforehand. Returns what ends the counting.
 */
export function countEvents(registry: Registry, events: Events, lanes: readonly string[]): () => void {
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers: [registry] });

  const sends = counter('volley_sends_total', 'Send requests by how they ended.', 'lane', 'outcome');
  const polls = counter(
    'volley_polls_total',
    'Questions after delivery by how they ended.',
    'lane',
    'outcome',
  );
  const duration = new Histogram({
    name: 'volley_request_duration_seconds',
    help: 'From the start of a request to the service to its outcome.',
    labelNames: ['kind'],
    buckets: SECONDS,
    registers: [registry],
  });
  const unknown = counter('volley_batches_unknown_total', 'Batches whose outcome became unknown.', 'lane');
  const overdue = counter('volley_claims_overdue_total', 'Claims that their owner never settled.', 'lane');
  const contradictions = counter(
    'volley_contradictions_total',
    'Reports that contradicted a final one; they were not applied.',
    'lane',
  );
  const pauses = counter('volley_lane_pauses_total', 'Pauses of a lane that began here.', 'lane');
  const turns = counter('volley_turns_total', 'Turns of lanes that ended well.', 'kind');
  const turnsFailed = counter('volley_turns_failed_total', 'Turns of lanes that broke off.', 'kind');
  const imported = counter('volley_campaigns_imported_total', 'Campaigns imported here.', 'lane');
  const importedRecipients = counter(
    'volley_recipients_imported_total',
    'Recipients of the campaigns imported here.',
    'lane',
  );
  const completed = counter(
    'volley_campaigns_completed_total',
    'Campaigns whose last recipient was settled here.',
    'lane',
  );
  const tokens = counter('volley_tokens_total', 'Logins and refreshes by how they ended.', 'lane', 'result');
  const notified = counter(
    'volley_notified_reports_total',
    'Reports that notifications brought, settled here.',
    'lane',
  );
  const refused = counter(
    'volley_notifications_refused_total',
    'Notifications that were not taken here, by why.',
    'lane',
    'reason',
  );
  const unsettled = counter(
    'volley_notifications_failed_total',
    'Reports that notifications brought and that could not be settled; polls make up for them.',
    'lane',
  );
  const found = counter(
    'volley_batches_found_total',
    'Unknown batches that turned out to be accepted, by a notification and a poll.',
    'lane',
  );
  const forgot = counter(
    'volley_redis_forgot_total',
    'Times that Redis may have lost its last writes.',
    'lane',
  );
  const redisUp = new Gauge({
    name: 'volley_redis_up',
    help: '1 while this process has its connection to Redis.',
    registers: [registry],
  });
  const redisLost = counter(
    'volley_redis_lost_total',
    'Connections to Redis lost, or not had to begin with.',
  );
  const redisRestored = counter('volley_redis_restored_total', 'Connections to Redis restored.');
  const redisDown = counter('volley_redis_down_seconds_total', 'Time without Redis, as it came back.');
  const sweepsFailed = counter('volley_sweeps_failed_total', 'Sweeps that failed, and were tried again.');

  redisUp.set(1);
  // Alerts look for what grows: a series that begins with its first event has not grown.
  const byLane = [
    ...[unknown, overdue, contradictions, pauses, forgot, imported, importedRecipients, completed],
    ...[notified, unsettled, found],
  ];
  for (const lane of lanes) {
    for (const one of byLane) one.inc({ lane }, 0);
    for (const result of ['refused', 'unanswered']) tokens.inc({ lane, result }, 0);
    for (const reason of ['token', 'unreadable', 'overload']) refused.inc({ lane, reason }, 0);
  }
  for (const kind of ['send', 'poll']) {
    for (const one of [turns, turnsFailed]) one.inc({ kind }, 0);
    duration.zero({ kind });
  }

  const count = (event: VolleyEvent): void => {
    switch (event.type) {
      case 'request.ended': {
        const { lane, kind, outcome } = event;
        (kind === 'send' ? sends : polls).inc({ lane, outcome });
        duration.observe({ kind }, event.tookMs / 1_000);
        break;
      }
      case 'request.unknown':
        unknown.inc({ lane: event.lane });
        break;
      case 'claim.overdue':
        overdue.inc({ lane: event.lane });
        break;
      case 'recipient.contradicted':
        contradictions.inc({ lane: event.lane });
        break;
      case 'lane.paused':
        pauses.inc({ lane: event.lane });
        break;
      case 'turn.ended':
        turns.inc({ kind: event.kind });
        break;
      case 'turn.failed':
        turnsFailed.inc({ kind: event.kind });
        break;
      case 'campaign.imported':
        imported.inc({ lane: event.lane });
        importedRecipients.inc({ lane: event.lane }, event.recipients);
        break;
      case 'campaign.completed':
        completed.inc({ lane: event.lane });
        break;
      case 'token.loggedIn':
        tokens.inc({ lane: event.account, result: 'loggedIn' });
        break;
      case 'token.refreshed':
        tokens.inc({ lane: event.account, result: 'refreshed' });
        break;
      case 'token.refused':
        tokens.inc({ lane: event.account, result: 'refused' });
        break;
      case 'token.unanswered':
        tokens.inc({ lane: event.account, result: 'unanswered' });
        break;
      case 'notifications.settled':
        notified.inc({ lane: event.lane }, event.reports);
        break;
      case 'notifications.refused':
        refused.inc({ lane: event.lane, reason: event.reason }, event.notifications);
        break;
      case 'notifications.failed':
        unsettled.inc({ lane: event.lane }, event.reports);
        break;
      case 'request.confirmed':
        found.inc({ lane: event.lane });
        break;
      case 'redis.dataLoss':
        forgot.inc({ lane: event.lane });
        break;
      case 'redis.lost':
        redisUp.set(0);
        redisLost.inc();
        break;
      case 'redis.restored':
        redisUp.set(1);
        redisDown.inc(event.downMs / 1_000);
        redisRestored.inc();
        break;
      case 'sweep.failed':
        sweepsFailed.inc();
        break;
      default:
      // The log has the rest.
    }
  };
  return events.onAny(count);
}
