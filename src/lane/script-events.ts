import { z } from 'zod';

const campaign = z.string();
const many = z.number();

/** What a script says has happened; the pipeline makes the events of the catalogue out of it. */
const scriptEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('launched'), campaign, at: many }),
  z.object({ type: z.literal('ended'), campaign, state: z.string(), recipients: many, tookMs: many }),
  z.object({ type: z.literal('refusals'), campaign }),
  z.object({ type: z.literal('refused'), campaign, recipients: many, reason: z.string() }),
  z.object({ type: z.literal('split'), campaign, first: many, recipients: many }),
  z.object({ type: z.literal('maximum'), maximum: many }),
  z.object({
    type: z.literal('unknown'),
    campaign,
    n: many,
    recipients: many,
    reason: z.string(),
    overdue: z.boolean(),
    ageMs: many,
  }),
  z.object({
    type: z.literal('contradicted'),
    campaign,
    ordinal: many,
    kept: z.string(),
    ignored: z.string(),
  }),
  z.object({ type: z.literal('throttled'), kind: z.enum(['send', 'poll']), retryAfter: many }),
  z.object({ type: z.literal('paused'), reason: z.string(), until: many, epoch: many }),
  z.object({ type: z.literal('reopened'), epoch: many }),
  z.object({ type: z.literal('stopped'), reason: z.string() }),
  z.object({ type: z.literal('learned'), quota: many, from: many }),
  z.object({ type: z.literal('deducted'), requests: many }),
  z.object({
    type: z.literal('forgot'),
    sign: z.enum(['runId', 'sequence']),
    doubt: z.union([z.literal(0), z.literal(1)]),
    graceMs: many,
  }),
  z.object({ type: z.literal('missing'), processes: z.string() }),
]);
/** See {@link scriptEvent}. */
export type ScriptEvent = z.output<typeof scriptEvent>;

const NONE: readonly ScriptEvent[] = [];
const list = z.array(scriptEvent);

/** Reads the events of a script's reply, a JSON array. */
export function scriptEvents(json: string): readonly ScriptEvent[] {
  return json === '[]' ? NONE : list.parse(JSON.parse(json));
}
