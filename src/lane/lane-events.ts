import { requestReference } from '../campaign/campaign-id.js';
import type { Events, VolleyEvent } from '../events/events.js';
import type { ScriptEvent } from './script-events.js';

/** Tells of what the scripts say has happened on a lane. */
export function teller(events: Events, lane: string) {
  return (list: readonly ScriptEvent[]): void => {
    for (const event of list) for (const told of toEvents(lane, event)) events.emit(told);
  };
}

/** What a script says, in the words of the catalogue. Pure. */
export function toEvents(lane: string, event: ScriptEvent): VolleyEvent[] {
  switch (event.type) {
    case 'launched':
      return [{ type: 'campaign.launched', lane, campaign: event.campaign, at: event.at }];
    case 'ended':
      if (event.state !== 'completed') return [];
      return [
        {
          type: 'campaign.completed',
          lane,
          campaign: event.campaign,
          recipients: event.recipients,
          tookMs: Math.max(0, event.tookMs),
        },
      ];
    case 'refusals':
      return [
        {
          type: 'campaign.paused',
          lane,
          campaign: event.campaign,
          by: 'refusals',
          inFlight: 0,
        },
      ];
    case 'refused':
      return [{ ...event, type: 'request.refused', lane }];
    case 'split':
      return [
        {
          type: 'batch.split',
          lane,
          campaign: event.campaign,
          batch: `${event.campaign}:${event.first}`,
          recipients: event.recipients,
          into: 2,
        },
      ];
    case 'maximum':
      return [{ type: 'batch.maximumLearned', lane, maximum: event.maximum }];
    case 'unknown': {
      const { campaign, recipients, reason } = event;
      const request = requestReference(campaign, event.n);
      const told: VolleyEvent = { type: 'request.unknown', lane, campaign, request, recipients, reason };
      if (!event.overdue) return [told];
      return [{ type: 'claim.overdue', lane, campaign, request, recipients, ageMs: event.ageMs }, told];
    }
    case 'contradicted':
      return [
        {
          type: 'recipient.contradicted',
          lane,
          campaign: event.campaign,
          position: event.ordinal + 1,
          kept: event.kept,
          ignored: event.ignored,
        },
      ];
    case 'throttled':
      return [
        {
          type: 'request.throttled',
          lane,
          kind: event.kind,
          retryAfterMs: event.retryAfter || null,
        },
      ];
    case 'paused':
      return [{ ...event, type: 'lane.paused', lane }];
    case 'reopened':
      return [{ ...event, type: 'lane.reopened', lane }];
    case 'stopped':
      return [{ ...event, type: 'lane.stopped', lane }];
    case 'learned':
      return [
        {
          type: 'quota.learned',
          lane,
          quota: event.quota,
          from: event.from === 0 ? null : event.from,
        },
      ];
    case 'deducted':
      return [{ type: 'quota.deducted', lane, requests: Math.round(event.requests) }];
    case 'forgot': {
      const { sign, doubt, graceMs } = event;
      // Set to lose nothing, and nobody remembers more than it does: somebody restarted it.
      return doubt === 0
        ? [{ type: 'redis.restarted', lane, graceMs }]
        : [{ type: 'redis.dataLoss', lane, sign, graceMs }];
    }
    case 'missing':
      return [{ ...event, type: 'workers.lost', lane }];
    default:
      return event satisfies never;
  }
}
