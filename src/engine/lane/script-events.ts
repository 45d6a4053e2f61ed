import { z } from 'zod';
import type { VolleyEvent } from '../../base/events/events.js';
import { requestReference } from '../../campaign/campaign.js';

const campaign = z.string();
const kind = z.enum(['send', 'poll']);
const reason = z.string();
const requestId = z.string();
const integer = z.number();

/** An event that a script returns. */
const scriptEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('launched'), campaign, at: integer }),
  z.object({ type: z.literal('ended'), campaign, state: z.string(), recipients: integer, tookMs: integer }),
  z.object({ type: z.literal('refusals'), campaign }),
  z.object({ type: z.literal('refused'), campaign, recipients: integer, reason }),
  z.object({ type: z.literal('rejected'), campaign, ordinal: integer, reason }),
  z.object({ type: z.literal('split'), campaign, first: integer, recipients: integer }),
  z.object({ type: z.literal('maximum'), maximum: integer }),
  z.object({
    type: z.literal('unknown'),
    campaign,
    number: integer,
    recipients: integer,
    reason,
    overdue: z.boolean(),
    ageMs: integer,
  }),
  z.object({ type: z.literal('unfollowable'), campaign, number: integer, recipients: integer }),
  z.object({
    type: z.literal('contradicted'),
    campaign,
    ordinal: integer,
    kept: z.string(),
    ignored: z.string(),
  }),
  z.object({ type: z.literal('throttled'), kind, retryAfterMs: integer, reason }),
  z.object({ type: z.literal('unauthorised'), kind, reason }),
  z.object({ type: z.literal('requestStopped'), kind, reason }),
  z.object({ type: z.literal('notSent'), kind, reason }),
  z.object({ type: z.literal('unanswered'), requestId, reason }),
  z.object({ type: z.literal('missing'), requestId, reason }),
  z.object({
    type: z.literal('paused'),
    kind: z.enum(['throttled', 'unreachable']),
    reason,
    until: integer,
    epoch: integer,
  }),
  z.object({ type: z.literal('reopened'), epoch: integer }),
  z.object({ type: z.literal('stopped'), reason }),
  z.object({ type: z.literal('learned'), quota: integer, from: integer }),
  z.object({ type: z.literal('deducted'), requests: integer }),
  z.object({
    type: z.literal('dataLoss'),
    loss: z.string(),
    sign: z.enum(['runId', 'sequence']),
    mayHaveLost: z.union([z.literal(0), z.literal(1)]),
    graceMs: integer,
  }),
  z.object({ type: z.literal('awaiting'), loss: z.string() }),
  z.object({ type: z.literal('unbounded') }),
  z.object({ type: z.literal('workersLost'), processes: z.string() }),
]);
/** See {@link scriptEvent}. */
export type ScriptEvent = z.output<typeof scriptEvent>;

const NONE: readonly ScriptEvent[] = [];
const list = z.array(scriptEvent);

/** Parses the events of a script's reply, a JSON array. */
export function scriptEvents(json: string): readonly ScriptEvent[] {
  return json === '[]' ? NONE : list.parse(JSON.parse(json));
}

/** The events of the catalogue for an event of a script. Pure. */
export function toEvents(lane: string, scriptEvent: ScriptEvent): VolleyEvent[] {
  switch (scriptEvent.type) {
    case 'launched': {
      const { campaign, at } = scriptEvent;
      return [{ type: 'campaign.launched', lane, campaign, at }];
    }
    case 'ended': {
      const { campaign, state, recipients, tookMs } = scriptEvent;
      if (state !== 'completed') return [];
      return [{ type: 'campaign.completed', lane, campaign, recipients, tookMs: Math.max(0, tookMs) }];
    }
    case 'refusals': {
      const { campaign } = scriptEvent;
      return [{ type: 'campaign.paused', lane, campaign, by: 'refusals', actor: null, inFlight: 0 }];
    }
    case 'refused':
      return [{ ...scriptEvent, type: 'request.refused', lane }];
    case 'rejected': {
      const { campaign, ordinal, reason } = scriptEvent;
      return [{ type: 'recipient.rejected', lane, campaign, position: ordinal + 1, reason }];
    }
    case 'split': {
      const { campaign, first, recipients } = scriptEvent;
      return [{ type: 'batch.split', lane, campaign, batch: `${campaign}:${first}`, recipients, into: 2 }];
    }
    case 'maximum':
      return [{ type: 'batch.maximumLearned', lane, maximum: scriptEvent.maximum }];
    case 'unknown': {
      const { campaign, number, recipients, reason, overdue, ageMs } = scriptEvent;
      const request = requestReference(campaign, number);
      const unknown: VolleyEvent = { type: 'request.unknown', lane, campaign, request, recipients, reason };
      if (!overdue) return [unknown];
      return [{ type: 'claim.overdue', lane, campaign, request, recipients, ageMs }, unknown];
    }
    case 'unfollowable': {
      const { campaign, number, recipients } = scriptEvent;
      const request = requestReference(campaign, number);
      return [{ type: 'request.unfollowable', lane, campaign, request, recipients }];
    }
    case 'contradicted': {
      const { campaign, ordinal, kept, ignored } = scriptEvent;
      return [{ type: 'recipient.contradicted', lane, campaign, position: ordinal + 1, kept, ignored }];
    }
    case 'throttled': {
      const { kind, retryAfterMs, reason } = scriptEvent;
      return [{ type: 'request.throttled', lane, kind, retryAfterMs: retryAfterMs || null, reason }];
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
    case 'paused': {
      const { kind, reason, until, epoch } = scriptEvent;
      return [{ type: 'lane.paused', lane, reason: kind, cause: reason, until, epoch, actor: null }];
    }
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
      const { sign, mayHaveLost, graceMs } = scriptEvent;
      // Redis was restarted, but it writes before it replies, and no worker knows of a claim that is gone.
      if (mayHaveLost === 0) return [{ type: 'redis.restarted', lane, graceMs }];
      return [{ type: 'redis.dataLoss', lane, sign, graceMs }];
    }
    case 'awaiting':
      return [];
    case 'unbounded':
      return [{ type: 'redis.unbounded', lane }];
    case 'workersLost':
      return [{ ...scriptEvent, type: 'workers.lost', lane }];
    default:
      return scriptEvent satisfies never;
  }
}
