import { z } from 'zod';
import { type ReturnedFields, returnedFields, shownWindowHours } from '../fields/field-schemas.js';
import { type Actor, actor } from '../states/actor.js';
import { BLOCK_CODES, BLOCKS, type BlockCode } from '../states/block-codes.js';
import { CAMPAIGN_STATES, type CampaignState } from '../states/campaign.js';
import { perName, RECIPIENT_STATES, type RecipientState } from '../states/recipient.js';
import { type EarlierContent, earlierContent } from './change-views.js';
import {
  CAMPAIGN_COST,
  type CampaignCost,
  COMPLETION,
  campaignCost,
  count,
  ETA,
  KEPT_FOR_POLLS,
  permitCount,
  type TimeRange,
  textOrNull,
  time,
  timeRange,
} from './measures.js';
import { ZONES, type ZoneStatus, zoneStatus } from './zone-views.js';

/*
 * The public form of campaigns and lanes. The library's types, `--json` on the command line, HTTP responses, and the
 * OpenAPI document are all defined here and in the files beside this one: an interface for each, which a program reads, and its schema, which
 * has what the OpenAPI document says. Each `id` is a type name in that document. The compiler compares them: test/campaign/views/answers.test.ts.
 */

const inState = perName(RECIPIENT_STATES, () => count);

/** The number of recipients in total and in each state. The states add up to the total. */
export interface RecipientCounts extends Readonly<Record<RecipientState, number>> {
  readonly total: number;
}

/** See {@link RecipientCounts}. */
export const recipientCounts = z.object({ total: count, ...inState }).readonly();
/** That sending or polling on a lane fails again and again. */
export interface TurnFailure {
  /** What fails: sending, or asking for delivery statuses (polling). */
  readonly kind: 'send' | 'poll';
  readonly since: string;
  readonly error: string;
}

/** See {@link TurnFailure}. */
const turnFailure = z
  .object({
    kind: z
      .enum(['send', 'poll'])
      .describe('What fails: sending, or asking for the delivery status (polling)'),
    since: time,
    error: z.string().describe('The last error; the log of the workers has more'),
  })
  .readonly()
  .meta({ id: 'TurnFailure' });
const turnFailures = z
  .array(turnFailure)
  .readonly()
  .describe(
    'What fails on the lane because of an error in its stored data, in Redis, or in Volley. Workers try it again every second; empty if nothing fails',
  );

/** Why a campaign or a lane starts no requests. */
export interface Block {
  readonly code: BlockCode;
  /** The same in words, with details. */
  readonly reason: string;
  /** When it was paused, held, or stopped; null if that is not known. */
  readonly since: string | null;
  /** When it ends by itself; null if that is not known, or it does not. */
  readonly until: string | null;
  readonly state:
    | 'paused'
    | 'backingOff'
    | 'recovering'
    | 'held'
    | 'stopped'
    | 'noToken'
    | 'failing'
    | 'scheduled'
    | 'waiting';
}

/** See {@link Block}. */
const block = z.object({
  code: z
    .enum(BLOCK_CODES)
    .describe(BLOCK_CODES.map((code) => `\`${code}\`: ${BLOCKS[code].means}`).join('; ')),
  reason: z.string().describe('The same in words, with details'),
  since: time.nullable().describe('When it was paused, held, or stopped; null if that is not known'),
  until: time.nullable().describe('When it ends by itself; null if that is not known, or it does not'),
  state: z
    .enum([
      'paused',
      'backingOff',
      'recovering',
      'held',
      'stopped',
      'noToken',
      'failing',
      'scheduled',
      'waiting',
    ])
    .describe(
      '`paused`: the campaign, until an operator resumes it; `backingOff`: the lane, for a while after a 429 or failures of the service; `recovering`: the lane, for seconds after Redis may have lost data; `held`: the lane, by an operator; `stopped`: the lane, until an operator fixes the cause and resumes it; `noToken`: the lane, until the account service gives it an access token, next tried at `until` (null: now); `failing`: sending on the lane, or asking for delivery statuses, fails again and again (`turnFailures`); `scheduled`: the campaign starts later; `waiting`: for room in the quota, for a window to open, or for the lane to be configured',
    ),
});

/** A request that may or may not have been accepted, and what is known about it. */
export interface UnknownRequest {
  /** Our reference, with which `resolve` settles this request alone. */
  readonly request: string;
  readonly recipientCount: number;
  /** When a worker took it to send it; null if Redis has lost that. */
  readonly claimedAt: string | null;
  /** When its outcome became unknown. */
  readonly since: string;
  /** No clear response arrived (`reported`), its worker died or lost Redis (`silent`), or Redis lost data (`restored`). */
  readonly code: 'reported' | 'silent' | 'restored';
  /** What was seen, in words. */
  readonly reason: string;
  /** Whether a report matches it, so that a poll will tell. */
  readonly isPolled: boolean;
  /** From when its worker can no longer send it, so that `resend` is possible. */
  readonly resendFrom: string;
}

/** See {@link UnknownRequest}. */
export const unknownRequest = z
  .object({
    request: z.string().describe('Our reference, with which `resolve` settles this request alone'),
    recipientCount: count,
    claimedAt: time.nullable().describe('When a worker took it to send it; null if Redis has lost that'),
    since: time.describe('When its outcome became unknown'),
    code: z
      .enum(['reported', 'silent', 'restored'])
      .describe(
        '`reported`: its worker reported that no clear response arrived, and sends it no more; `silent`: its worker died, or lost Redis, before it reported anything; `restored`: Redis lost data, and the request may have been sent before',
      ),
    reason: z.string().describe('What was seen, in words'),
    isPolled: z.boolean().describe('Whether a report matches it, so that a poll will tell'),
    resendFrom: time.describe(
      'From when its worker can no longer send it, so that `resend` is possible. Whether the service has accepted it is unknown all the same',
    ),
  })
  .readonly()
  .meta({ id: 'UnknownRequest' });
/** When messages may be sent. The zone is beside it. */
export interface SendWindow {
  /** Days and hours: `Mon-Sat 09:00-20:00`. */
  readonly hours: string;
  /** Dates on which it is closed. */
  readonly except: readonly string[];
  /** `recipient`: the hours are those of each recipient's own time zone. */
  readonly zone: 'recipient' | null;
  /** Null while it is open. */
  readonly opensAt: string | null;
  /** Null while it is closed. */
  readonly closesAt: string | null;
}

/** See {@link SendWindow}. */
export const sendWindow = z
  .object({
    ...shownWindowHours.shape,
    opensAt: time.nullable().describe('When it opens; null while it is open'),
    closesAt: time.nullable().describe('When it closes; null while it is closed'),
  })
  .readonly();
/** What a lane may send next. */
export interface NextPermits {
  /** How much of the limit no message may take, because requests for delivery statuses (polls) are due. */
  readonly keptForPolls: number;
  /** When the quota has room for a message; null while it has room now, and if that is not known. */
  readonly nextPermitAt: string | null;
  /** For how many messages it has room then. */
  readonly nextPermits: number;
}

/** See {@link NextPermits}. */
const nextPermits = {
  keptForPolls: permitCount.describe(KEPT_FOR_POLLS),
  nextPermitAt: time
    .nullable()
    .describe('When the quota has room for a message; null while it has room now, and if that is not known'),
  nextPermits: count.describe('For how many messages it has room then'),
};

/** The status of a campaign. */
export interface CampaignStatus extends ReturnedFields {
  readonly id: string;
  readonly name: string;
  readonly lane: string;
  readonly sender: string;
  /** The text, with its placeholders. */
  readonly message: string;
  /** How often the campaign was changed. */
  readonly revision: number;
  /** The contents that requests have, or may have, besides the current one: the oldest first. */
  readonly earlier: readonly EarlierContent[];
  readonly state: CampaignState;
  readonly createdAt: string;
  /** Null if the stored campaign was damaged. */
  readonly createdBy: Actor | null;
  readonly idempotencyKey: string | null;
  /** When sending began or will begin; null while importing. */
  readonly sendAt: string | null;
  /** The time zone of its local times: its own, or else that of its lane's window. */
  readonly zone: string | null;
  /** Null: it may send whenever its lane may. */
  readonly window: SendWindow | null;
  /** With a window in each recipient's own zone, or times of recipients: these, first those that can start first. Otherwise null. */
  readonly zones: readonly ZoneStatus[] | null;
  /** When the last recipient got its final state; null before. */
  readonly endedAt: string | null;
  readonly counts: RecipientCounts;
  /** Rows of the list that were left out because their number is that of an earlier row. `counts` does not include them. */
  readonly duplicates: number;
  /** Rows of the list that were left out because they are invalid. `counts` does not include them. */
  readonly invalid: number;
  /** Accepted messages per hour, without the time in which nothing could be sent; null below 100 accepted messages. */
  readonly rate: number | null;
  /** Requests so far. The service returned 429 for `throttled` of them. */
  readonly requests: { readonly send: number; readonly poll: number; readonly throttled: number };
  /** That of its lane: requests in the current window, and the limit (null while an `auto` lane has not learned it). */
  readonly quota: NextPermits & {
    readonly used: number;
    readonly limit: number | null;
    /** The length of the rolling window, such as `1h`. */
    readonly span: string;
  };
  /** Why planned recipients are not sent to now, or, once everything is sent, why delivery statuses are not polled; null if nothing prevents it. */
  readonly blockedBy: Block | null;
  /** What it needs to continue or to complete; null if nothing. */
  readonly waitingFor:
    | 'start'
    | 'window'
    | 'permits'
    | 'operator'
    | 'resolve'
    | 'reports'
    | 'lane'
    | 'workers'
    | null;
  /** What fails on the lane because of an error in its stored data, in Redis, or in Volley. Workers try it again every second. */
  readonly turnFailures: readonly TurnFailure[];
  /** Null if no prices were configured when it was created. */
  readonly cost: CampaignCost | null;
  /** When the last message will be sent; null if none is left. */
  readonly eta: TimeRange | null;
  /** When the last recipient will have a final status; null if the campaign has ended. */
  readonly completion: TimeRange | null;
  /** Reports that contradicted a final report; counted, never applied. */
  readonly contradictions: number;
  /** Requests that may or may not have been accepted; decide about them with `resolve`. At most the first 100. */
  readonly unknownOutcomes: readonly UnknownRequest[];
}

/** See {@link CampaignStatus}. */
export const campaignStatus = z
  .object({
    id: z.string(),
    name: z.string(),
    lane: z.string(),
    sender: z.string(),
    message: z.string().describe('The text, with its placeholders'),
    revision: count.describe('How often the campaign was changed'),
    earlier: z
      .array(earlierContent)
      .readonly()
      .describe('The contents that requests have, or may have, besides the current one: the oldest first'),
    state: z.enum(CAMPAIGN_STATES),
    createdAt: time,
    createdBy: actor.nullable().describe('Null if the stored campaign was damaged'),
    idempotencyKey: textOrNull.describe('Null if the campaign has none'),
    sendAt: time.nullable().describe('When sending began or will begin; null while importing'),
    ...returnedFields,
    zone: textOrNull.describe(
      "The time zone of the campaign's local times: its own, or else that of its lane's window",
    ),
    window: sendWindow.nullable().describe('When the campaign may send; null: whenever its lane may'),
    zones: z.array(zoneStatus).readonly().nullable().describe(ZONES),
    endedAt: time.nullable().describe('When the last recipient got its final state; null before'),
    counts: recipientCounts,
    duplicates: count.describe(
      'Rows of the list that were left out because their number is that of an earlier row. No count of recipients includes them',
    ),
    invalid: count.describe(
      'Rows of the list that were left out because they are invalid. No count of recipients includes them',
    ),
    rate: permitCount
      .nullable()
      .describe(
        'Accepted messages per hour since `sendAt`, without the time in which the campaign was paused, its window or that of its lane was closed, the lane was held or stopped, the service or the token was out of reach, or no worker ran, and after it had sent everything; null below 100 accepted messages',
      ),
    requests: z
      .object({ send: count, poll: count, throttled: count })
      .readonly()
      .describe('Requests sent for this campaign so far; the service returned 429 for `throttled` of them'),
    quota: z
      .object({
        used: permitCount,
        limit: permitCount.nullable(),
        span: z.string().describe('The length of the rolling window, such as `1h`'),
        ...nextPermits,
      })
      .readonly()
      .describe(
        'The quota of the lane: requests used in the current window, and the limit (null while an `auto` lane has not learned it)',
      ),
    blockedBy: block
      .readonly()
      .nullable()
      .describe(
        'Why planned recipients are not sent to now, or, once everything is sent, why delivery reports are not polled; null while neither is blocked',
      ),
    waitingFor: z
      .enum(['start', 'window', 'permits', 'operator', 'resolve', 'reports', 'lane', 'workers'])
      .nullable()
      .describe(
        'What the campaign needs to continue or to complete; `window`: that its window, or that of its lane, opens, or the time of a recipient comes; null if nothing',
      ),
    turnFailures,
    cost: campaignCost.nullable().describe(CAMPAIGN_COST),
    eta: timeRange.nullable().describe(`${ETA}; null if no message is left to send`),
    completion: timeRange.nullable().describe(`${COMPLETION}; null if the campaign has ended`),
    contradictions: count.describe('Reports that contradicted a final report; counted, never applied'),
    unknownOutcomes: z
      .array(unknownRequest)
      .readonly()
      .describe(
        'Requests that may or may not have been accepted; decide about them with `resolve`. At most the first 100',
      ),
  })
  .readonly()
  .meta({ id: 'CampaignStatus' });
/** The status of a lane. */
export interface LaneStatus {
  readonly name: string;
  /** Never changes: the first name of the lane. */
  readonly id: string;
  /** The child organisation that the lane's account acts for; null for all but resellers. */
  readonly targetAccount: string | null;
  readonly state:
    | 'open'
    | 'waiting'
    | 'backingOff'
    | 'probing'
    | 'recovering'
    | 'noToken'
    | 'stopped'
    | 'held';
  readonly quota: NextPermits & {
    /** As configured. */
    readonly configured: number | 'auto';
    /** What `auto` has learned; null before, and if the quota is configured. */
    readonly learned: number | null;
    /** The current limit after deductions; null while unknown. */
    readonly limit: number | null;
    /** The length of the rolling window, such as `1h`. */
    readonly span: string;
    readonly used: { readonly send: number; readonly poll: number };
    readonly inFlight: number;
    /** The room that returns within the next hour (or window), in up to 12 steps. */
    readonly permitsToCome: readonly { readonly at: string; readonly permits: number }[];
  };
  /** Why the lane starts no requests; null if nothing prevents it. */
  readonly blockedBy: Block | null;
  readonly turnFailures: readonly TurnFailure[];
  /** The time zone of `window`; null without one. */
  readonly zone: string | null;
  /** Null: the lane may send at any time. */
  readonly window: SendWindow | null;
  /** Requests for which the service returned 429 so far. */
  readonly throttled: number;
  /** Campaigns that still have messages to send, that wait until their window opens, and that start later. */
  readonly campaigns: { readonly running: number; readonly waiting: number; readonly scheduled: number };
  readonly awaitingReports: number;
  /** Requests that may or may not have been accepted. */
  readonly unknownOutcomes: number;
  /** Recipients per request, as configured. */
  readonly maxRecipients: number;
}

/** See {@link LaneStatus}. */
export const laneStatus = z
  .object({
    name: z.string(),
    id: z.string().describe('Never changes: the first name of the lane'),
    targetAccount: textOrNull.describe(
      "The child organisation that the lane's account acts for; null for all but resellers",
    ),
    state: z
      .enum(['open', 'waiting', 'backingOff', 'probing', 'recovering', 'noToken', 'stopped', 'held'])
      .describe(
        '`waiting`: until its window opens; `backingOff`: sends nothing for a while, because the service returned 429 or does not respond, then probes; `probing`: one request tests the service; `recovering`: for seconds after Redis may have lost data, while workers report again what they sent; `noToken`: until the account service gives an access token, next tried at `until` of `blockedBy`; `stopped`: until you fix the cause and resume it; `held`: by an operator, until one resumes it',
      ),
    quota: z
      .object({
        configured: z.union([count, z.literal('auto')]).describe('As configured'),
        learned: permitCount
          .nullable()
          .describe('The quota that `auto` has learned; null before, and if the quota is configured'),
        limit: permitCount.nullable().describe('The current limit after deductions; null while unknown'),
        span: z
          .string()
          .describe('The length of the rolling window in which so many are allowed, such as `1h`'),
        used: z.object({ send: permitCount, poll: permitCount }).readonly(),
        inFlight: count,
        ...nextPermits,
        permitsToCome: z
          .array(z.object({ at: time, permits: permitCount }).readonly())
          .readonly()
          .describe(
            'Room in the quota for so many requests (permits) that returns within the next hour (or window), in up to 12 steps',
          ),
      })
      .readonly(),
    blockedBy: block
      .readonly()
      .nullable()
      .describe('Why the lane starts no requests; null if nothing prevents it'),
    turnFailures,
    zone: textOrNull.describe('The time zone of `window`; null without one'),
    window: sendWindow.nullable().describe('When the lane may send; null: at any time'),
    throttled: count.describe('Requests for which the service returned 429 so far'),
    campaigns: z
      .object({
        running: count.describe('Running campaigns that still have messages to send'),
        waiting: count.describe('Running campaigns that wait until their window opens'),
        scheduled: count.describe('Campaigns that start later'),
      })
      .readonly(),
    awaitingReports: count,
    unknownOutcomes: count.describe('Requests that may or may not have been accepted'),
    maxRecipients: count.describe('Recipients per request, as configured'),
  })
  .readonly()
  .meta({ id: 'LaneStatus' });
