import { z } from 'zod';
import { perName } from './per-name.js';
import { RECIPIENT_STATES } from './recipient.js';

/*
 * What is shown of campaigns and lanes: one description for the library's types, the command line's `--json`, and what
 * the HTTP API answers and says of itself, where each `id` is the name that clients made of its document give the type.
 */

const time = z.string().describe('ISO 8601, UTC');
const count = z.int().min(0);
/** Of permits; what is deducted from a quota fades and need not be whole. */
const amount = z.number();

/** `cancelled` stays so while reports of what was sent before still come in. */
export const CAMPAIGN_STATES = [
  'importing',
  'scheduled',
  'running',
  'paused',
  'cancelled',
  'completed',
] as const;
/** See {@link CAMPAIGN_STATES}. */
export type CampaignState = (typeof CAMPAIGN_STATES)[number];

const inState = perName(RECIPIENT_STATES, () => count);

/** How many recipients there are and how many of them are in each state: the states add up to the total. */
export const recipientCounts = z.object({ total: count, ...inState }).readonly();
/** See {@link recipientCounts}. */
export type RecipientCounts = z.output<typeof recipientCounts>;

const block = z.object({ reason: z.string(), until: time.nullable() }).readonly().nullable();

/** How a campaign stands. Times are ISO 8601; counts are of recipients or of requests as named. */
export const campaignStatus = z
  .object({
    id: z.string(),
    name: z.string(),
    lane: z.string(),
    state: z.enum(CAMPAIGN_STATES),
    createdAt: time,
    launchAt: time.nullable().describe('When sending began or will begin; null while importing'),
    endedAt: time.nullable().describe('When nothing was open any more; null before'),
    recipients: recipientCounts,
    requests: z
      .object({ send: count, poll: count, throttled: count })
      .readonly()
      .describe('Put on the wire for this campaign so far; `throttled` are those of them answered with 429'),
    quota: z
      .object({ used: amount, limit: amount.nullable(), nextPermitAt: time.nullable() })
      .readonly()
      .describe(
        'Of the lane: requests counted in the window that ends now; null as limit while an `auto` lane has not learned it',
      ),
    blockedBy: block.describe(
      'Why nothing of it is sent now although something is planned; null while it is sent',
    ),
    waitingFor: z
      .enum(['start', 'permits', 'operator', 'resolve', 'reports', 'lane', 'workers'])
      .nullable()
      .describe('What the campaign needs to go on or to complete'),
    eta: time
      .nullable()
      .describe('When the last recipient will be sent to, as far as the quota tells; null if nobody can say'),
    contradictions: count.describe('Reports that contradicted a final one; counted, never applied'),
    unknownOutcomes: z
      .array(
        z
          .object({
            request: z.string().describe('Our reference, as in `resolve --request`'),
            recipients: count,
            since: time,
            reason: z.string(),
          })
          .readonly(),
      )
      .readonly()
      .describe(
        'Requests that may or may not have been accepted; settle them with `resolve`. At most the first 100',
      ),
  })
  .readonly()
  .meta({ id: 'CampaignStatus' });
/** See {@link campaignStatus}. */
export type CampaignStatus = z.output<typeof campaignStatus>;

const reported = {
  recipient: z.string().describe('E.164'),
  status: z
    .enum(RECIPIENT_STATES)
    .describe(
      "The recipient's state. `deliveredToNetwork`, `deliveredToTerminal`, and `deliveryImpossible` are the service's delivery statuses (`DeliveredToNetwork`, …)",
    ),
  reason: z.string(),
  requestId: z
    .string()
    .describe("The service's id of the request, or our reference where nobody knows whether there is one"),
  sentAt: z.string().describe('ISO 8601, or empty'),
  updatedAt: z.string().describe('ISO 8601, or empty'),
};

/** One recipient of a report. */
export const reportRow = z.object(reported).readonly();
/** See {@link reportRow}. */
export type ReportRow = z.output<typeof reportRow>;

/** A recipient found by number. */
export const foundRecipient = z
  .object({ ...reported, campaign: z.string(), name: z.string().describe('Of the campaign') })
  .readonly()
  .meta({ id: 'FoundRecipient' });
/** See {@link foundRecipient}. */
export type FoundRecipient = z.output<typeof foundRecipient>;

/** How a lane stands. */
export const laneStatus = z
  .object({
    name: z.string(),
    state: z
      .enum(['open', 'paused', 'probing', 'stopped', 'held'])
      .describe('`paused` for a time, `stopped` until an operator mends it, `held` by an operator'),
    quota: z
      .object({
        configured: z.union([count, z.literal('auto')]).describe('As configured'),
        learned: amount
          .nullable()
          .describe('What `auto` has learned; null before, and where the quota is given'),
        limit: amount.nullable().describe('In force now, deductions included; null while unknown'),
        used: z.object({ send: amount, poll: amount }).readonly(),
        inFlight: count,
        nextPermitAt: time.nullable(),
        permitsToCome: z
          .array(z.object({ at: time, permits: amount }).readonly())
          .readonly()
          .describe('Permits that come back within the next hour (or window), in up to 12 steps'),
      })
      .readonly(),
    pause: block,
    throttled: count.describe('429 answers so far'),
    campaigns: z.object({ running: count, scheduled: count }).readonly(),
    awaitingReports: count,
    unknownOutcomes: count.describe('Requests that may or may not have been accepted'),
    maxRecipients: count.describe('Recipients per request, as configured or as learned from refusals'),
  })
  .readonly()
  .meta({ id: 'LaneStatus' });
/** See {@link laneStatus}. */
export type LaneStatus = z.output<typeof laneStatus>;

/** A row that cannot be sent to. */
export const invalidRow = z
  .object({
    line: z.int(),
    column: z.string().nullable().describe("Null if the fault is the row's as a whole"),
    reason: z.string(),
    row: z.array(z.string()).readonly(),
  })
  .readonly();
/** See {@link invalidRow}. */
export type InvalidRow = z.output<typeof invalidRow>;

/** What a list and a text come to, before anything is sent. */
export const preview = z
  .object({
    columns: z.array(z.string()).readonly(),
    numberColumn: z.string(),
    rows: count,
    recipients: count,
    duplicates: count,
    suppressed: count,
    invalid: count,
    problems: z.array(invalidRow).readonly().describe('The first 20 bad rows'),
    encoding: z.enum(['GSM-7', 'UCS-2']),
    ucs2Characters: z.array(z.string()).readonly().describe('Characters that force UCS-2, named'),
    segments: z
      .object({ min: count, max: count, total: count })
      .readonly()
      .describe('Segments per message (`min` and `max`) and of all messages together (`total`)'),
    requests: z.object({ send: count, poll: count, total: count }).readonly(),
    sentAfterMs: z
      .number()
      .nullable()
      .describe("Milliseconds under the lane's quota; null if the quota is not known"),
    finishedAfterMs: z.number().nullable(),
    samples: z.array(z.object({ recipient: z.string(), text: z.string() }).readonly()).readonly(),
    warnings: z.array(z.string()).readonly(),
  })
  .readonly()
  .meta({ id: 'Preview' });
/** See {@link preview}. */
export type Preview = z.output<typeof preview>;

/** What a key to the HTTP API may do. `read`: see; `send`: make campaigns; `operate`: pause, cancel, resolve and the like. */
export const API_SCOPES = ['read', 'send', 'operate'] as const;
/** See {@link API_SCOPES}. */
export type ApiScope = (typeof API_SCOPES)[number];

/** A key to the HTTP API, as far as it is ever shown again. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly ApiScope[];
  /** The only lanes it may see; null: all. */
  readonly lanes: readonly string[] | null;
  readonly createdAt: string;
  /** Told to the minute; null before the first use. */
  readonly lastUsedAt: string | null;
}
