import { exactDuration } from '../../base/duration.js';
import type { VolleyEvent } from '../../base/events/events.js';
import { requestReference } from '../../campaign/states/campaign.js';
import { outboxName } from '../recipients/outbox-messages.js';
import type { ScriptEvent } from './script-events.js';

/** Whose request an event is about: a campaign's, or that of a message of an outbox. */
export function sourceOf({ campaign, message }: { campaign: string; message?: string | undefined }) {
  const outbox = outboxName(campaign);
  return outbox === null
    ? { campaign, outbox: null, message: null }
    : { campaign: null, outbox, message: message ?? null };
}

/** The place of a recipient in its list. */
const positionOf = ({ campaign, ordinal }: { campaign: string; ordinal: number }): number | null =>
  outboxName(campaign) === null ? ordinal + 1 : null;

/** The events of the catalogue for an event of a script. Pure. */
export function toEvents(lane: string, scriptEvent: ScriptEvent): VolleyEvent[] {
  switch (scriptEvent.type) {
    case 'launched': {
      const { campaign, at } = scriptEvent;
      return [{ type: 'campaign.launched', lane, campaign, sendAt: at }];
    }
    case 'ended': {
      const { campaign, state, recipientCount, tookMs } = scriptEvent;
      if (state !== 'completed') return [];
      return [{ type: 'campaign.completed', lane, campaign, recipientCount, took: exactDuration(tookMs) }];
    }
    case 'refusals': {
      const { campaign } = scriptEvent;
      const outbox = outboxName(campaign);
      if (outbox !== null) return [{ type: 'outbox.paused', lane, outbox }];
      return [{ type: 'campaign.paused', lane, campaign, by: 'refusals', actor: null, inFlight: 0 }];
    }
    case 'refused': {
      const { recipientCount, reason } = scriptEvent;
      return [{ type: 'request.refused', lane, ...sourceOf(scriptEvent), recipientCount, reason }];
    }
    case 'rejected': {
      const [position, { reason }] = [positionOf(scriptEvent), scriptEvent];
      return [{ type: 'recipient.rejected', lane, ...sourceOf(scriptEvent), position, reason }];
    }
    case 'split': {
      const { campaign, first, recipientCount } = scriptEvent;
      return [
        { type: 'batch.split', lane, campaign, batch: `${campaign}:${first}`, recipientCount, into: 2 },
      ];
    }
    case 'unknown': {
      const { campaign, number, recipientCount, reason, overdue, ageMs } = scriptEvent;
      const request = requestReference(campaign, number);
      const batch = { lane, ...sourceOf(scriptEvent), request, recipientCount };
      const unknown: VolleyEvent = { type: 'request.unknown', ...batch, reason };
      return overdue ? [{ type: 'claim.overdue', ...batch, age: exactDuration(ageMs) }, unknown] : [unknown];
    }
    case 'unfollowable': {
      const { campaign, number, recipientCount } = scriptEvent;
      const request = requestReference(campaign, number);
      return [{ type: 'request.unfollowable', lane, ...sourceOf(scriptEvent), request, recipientCount }];
    }
    case 'contradicted': {
      const { kept, ignored } = scriptEvent;
      const position = positionOf(scriptEvent);
      return [{ type: 'recipient.contradicted', lane, ...sourceOf(scriptEvent), position, kept, ignored }];
    }
    case 'throttled': {
      const { kind, retryAfterMs, reason } = scriptEvent;
      const retryAfter = retryAfterMs === 0 ? null : exactDuration(retryAfterMs);
      return [{ type: 'request.throttled', lane, kind, retryAfter, reason }];
    }
    case 'unauthorised':
      return [{ ...scriptEvent, type: 'request.unauthorised', lane }];
    case 'requestStopped':
      return [{ ...scriptEvent, type: 'request.stopped', lane }];
    case 'notSent':
      return [{ ...scriptEvent, type: 'request.notSent', lane }];
    case 'unanswered':
      return [{ ...scriptEvent, type: 'request.unanswered', lane }];
    case 'missing':
      return [{ ...scriptEvent, type: 'request.missing', lane }];
    case 'backingOff':
      return [{ ...scriptEvent, type: 'lane.backingOff', lane }];
    case 'reopened':
      return [{ ...scriptEvent, type: 'lane.reopened', lane, actor: null }];
    case 'stopped':
      return [{ ...scriptEvent, type: 'lane.stopped', lane }];
    case 'learned': {
      const { quota, from } = scriptEvent;
      return [{ type: 'quota.learned', lane, quota, from: from === 0 ? null : from }];
    }
    case 'deducted':
      return [{ type: 'quota.deducted', lane, requests: Math.round(scriptEvent.requests) }];
    case 'dataLoss': {
      const { sign, mayHaveLost } = scriptEvent;
      const grace = exactDuration(scriptEvent.graceMs);
      // Redis was restarted, but it writes before it replies, and no worker knows of a claim that is gone.
      if (mayHaveLost === 0) return [{ type: 'redis.restarted', lane, grace }];
      return [{ type: 'redis.dataLoss', lane, sign, grace }];
    }
    case 'rolledBack':
      return [{ type: 'redis.rolledBack', lane, claim: String(scriptEvent.missing) }];
    case 'awaiting':
      return [];
    case 'unbounded':
      return [{ type: 'redis.unbounded', lane }];
    case 'workersLost':
      return [{ ...scriptEvent, type: 'workers.lost', lane }];
    case 'replayFailed':
      return [{ ...scriptEvent, type: 'redis.replayFailed', lane }];
    default:
      return scriptEvent satisfies never;
  }
}
