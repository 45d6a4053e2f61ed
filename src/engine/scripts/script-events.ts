import { z } from 'zod';

const campaign = z.string();
/** Of an outbox: the id of its message. */
const message = z.string().optional();
const kind = z.enum(['send', 'poll']);
const reason = z.string();
const requestId = z.string();
const integer = z.number();

/** An event that a script returns, or `replayFailed`, of a call to one. */
const scriptEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('launched'), campaign, at: integer }),
  z.object({
    type: z.literal('ended'),
    campaign,
    state: z.string(),
    recipientCount: integer,
    tookMs: integer,
  }),
  z.object({ type: z.literal('refusals'), campaign }),
  z.object({ type: z.literal('refused'), campaign, message, recipientCount: integer, reason }),
  z.object({ type: z.literal('rejected'), campaign, message, ordinal: integer, reason }),
  z.object({ type: z.literal('split'), campaign, first: integer, recipientCount: integer }),
  z.object({
    type: z.literal('unknown'),
    campaign,
    message,
    number: integer,
    recipientCount: integer,
    reason,
    overdue: z.boolean(),
    ageMs: integer,
  }),
  z.object({ type: z.literal('unfollowable'), campaign, message, number: integer, recipientCount: integer }),
  z.object({
    type: z.literal('contradicted'),
    campaign,
    message,
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
    type: z.literal('backingOff'),
    cause: z.enum(['throttled', 'unreachable']),
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
    lossName: z.string(),
    sign: z.enum(['runId', 'sequence']),
    mayHaveLost: z.union([z.literal(0), z.literal(1)]),
    graceMs: integer,
  }),
  z.object({ type: z.literal('rolledBack'), missing: integer }),
  z.object({ type: z.literal('awaiting'), lossName: z.string() }),
  z.object({ type: z.literal('unbounded') }),
  z.object({ type: z.literal('workersLost'), processes: z.string() }),
  z.object({ type: z.literal('replayFailed'), reason }),
]);
/** See {@link scriptEvent}. */
export type ScriptEvent = z.output<typeof scriptEvent>;

const NONE: readonly ScriptEvent[] = [];
const list = z.array(scriptEvent);

/** Parses the events of a script's reply, a JSON array. */
export function scriptEvents(json: string): readonly ScriptEvent[] {
  return json === '[]' ? NONE : list.parse(JSON.parse(json));
}
