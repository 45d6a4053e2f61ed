import { z } from 'zod';
import { returnedFields, windowHours } from '../fields/field-schemas.js';
import { actor } from '../states/actor.js';
import { BLOCK_CODES, BLOCKS } from '../states/block-codes.js';
import { CAMPAIGN_STATES } from '../states/campaign.js';
import { perName, RECIPIENT_STATES } from '../states/recipient.js';
import {
  CAMPAIGN_COST,
  COMPLETION,
  campaignCost,
  count,
  ETA,
  KEPT_FOR_POLLS,
  permitCount,
  time,
  timeRange,
} from './measures.js';

/*
 * The public form of campaigns and lanes. The library's types, `--json` on the command line, HTTP responses, and the
 * OpenAPI document are all defined here, in preview-views.ts, in recipient-views.ts, and in outbox-views.ts. Each `id` is a type name
 * in the OpenAPI document.
 */

const inState = perName(RECIPIENT_STATES, () => count);

/** The number of recipients in total and in each state. The states add up to the total. */
export const recipientCounts = z.object({ total: count, ...inState }).readonly();
/** See {@link recipientCounts}. */
export type RecipientCounts = z.output<typeof recipientCounts>;

/** That sending or polling on a lane fails again and again. */
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
/** See {@link turnFailure}. */
export type TurnFailure = z.output<typeof turnFailure>;

const turnFailures = z
  .array(turnFailure)
  .readonly()
  .describe(
    'What fails on the lane because of an error in its stored data, in Redis, or in Volley. Workers try it again every second; empty if nothing fails',
  );

/** Why a campaign or a lane starts no requests. */
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
/** See {@link unknownRequest}. */
export type UnknownRequest = z.output<typeof unknownRequest>;

/** When messages may be sent. The zone is beside it. */
export const sendWindow = z
  .object({
    ...windowHours.shape,
    opensAt: time.nullable().describe('When it opens; null while it is open'),
    closesAt: time.nullable().describe('When it closes; null while it is closed'),
  })
  .readonly();
/** See {@link sendWindow}. */
export type SendWindow = z.output<typeof sendWindow>;

/** What a lane may send next. */
const nextPermits = {
  keptForPolls: permitCount.describe(KEPT_FOR_POLLS),
  nextPermitAt: time
    .nullable()
    .describe('When the quota has room for a message; null while it has room now, and if that is not known'),
  nextPermits: count.describe('For how many messages it has room then'),
};

/** The status of a campaign. */
export const campaignStatus = z
  .object({
    id: z.string(),
    name: z.string(),
    lane: z.string(),
    sender: z.string(),
    message: z.string().describe('The text, with its placeholders'),
    state: z.enum(CAMPAIGN_STATES),
    createdAt: time,
    createdBy: actor.nullable().describe('Null if the stored campaign was damaged'),
    idempotencyKey: z.string().nullable().describe('Null if the campaign has none'),
    sendAt: time.nullable().describe('When sending began or will begin; null while importing'),
    ...returnedFields,
    zone: z
      .string()
      .nullable()
      .describe("The time zone of the campaign's local times: its own, or else that of its lane's window"),
    window: sendWindow.nullable().describe('When the campaign may send; null: whenever its lane may'),
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
      .object({ used: permitCount, limit: permitCount.nullable(), ...nextPermits })
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
        'What the campaign needs to continue or to complete; `window`: that its window, or that of its lane, opens; null if nothing',
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
/** See {@link campaignStatus}. */
export type CampaignStatus = z.output<typeof campaignStatus>;

/** The status of a lane. */
export const laneStatus = z
  .object({
    name: z.string(),
    id: z.string().describe('Never changes: the first name of the lane'),
    targetAccount: z
      .string()
      .nullable()
      .describe("The child organisation that the lane's account acts for; null for all but resellers"),
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
    zone: z.string().nullable().describe('The time zone of `window`; null without one'),
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
/** See {@link laneStatus}. */
export type LaneStatus = z.output<typeof laneStatus>;
