import { z } from 'zod';
import { actor } from './actor.js';
import { CAMPAIGN_STATES } from './campaign.js';
import { metadata } from './metadata.js';
import { perName, RECIPIENT_STATES, REPORTED_STATUSES } from './recipient.js';

/*
 * The public form of campaigns and lanes. The library's types, `--json` on the command line, HTTP responses, and the
 * OpenAPI document are all defined here. Each `id` is a type name in the OpenAPI document.
 */

const time = z.string().describe('ISO 8601, UTC');
const count = z.int().min(0);
/** A number of permits. It need not be whole, because deductions from a quota fade over time. */
const amount = z.number();

const inState = perName(RECIPIENT_STATES, () => count);

/** The number of recipients in total and in each state. The states add up to the total. */
const recipientCounts = z.object({ total: count, ...inState }).readonly();
/** See {@link recipientCounts}. */
export type RecipientCounts = z.output<typeof recipientCounts>;

/** Why a lane starts no requests, and until when. */
const pause = z.object({ reason: z.string(), until: time.nullable() });

/** That sending or polling on a lane fails again and again. */
const turnFailure = z
  .object({
    kind: z.enum(['send', 'poll']).describe('What fails: sending, or polling the delivery status'),
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

/** Why a campaign does not continue, and until when. */
const block = pause.extend({
  state: z
    .enum(['paused', 'recovering', 'held', 'stopped', 'noToken', 'failing', 'scheduled', 'waiting'])
    .describe(
      '`paused`: a campaign, until an operator resumes it, or a lane, which resumes by itself; `recovering`: the lane, for seconds after Redis may have lost data; `held`: the lane, by an operator; `stopped`: the lane, until an operator fixes the cause and resumes it; `noToken`: the lane, until the account service gives it an access token, next tried at `until` (null: now); `failing`: sending or polling on the lane fails again and again (`turnFailures`); `scheduled`: the campaign starts later; `waiting`: for permits, for a window to open, or for the lane to be configured',
    ),
});

/** When messages may be sent. */
export const sendWindow = z
  .object({
    window: z.string().describe('Days and hours: `Mon-Sat 09:00-20:00`'),
    zone: z.string().describe('The time zone of the hours'),
    except: z.array(z.string()).readonly().describe('Dates on which it is closed'),
    opensAt: time.nullable().describe('When it opens; null while it is open'),
    closesAt: time.nullable().describe('When it closes; null while it is closed'),
  })
  .readonly();
/** See {@link sendWindow}. */
export type SendWindow = z.output<typeof sendWindow>;

/** The earliest and the latest time of something, if no operator intervenes and the service responds. */
const timeRange = z
  .object({
    earliest: time,
    latest: time.nullable().describe('Null if nothing bounds it; `reason` says why'),
    reason: z.string().nullable().describe('Why `latest` is null'),
  })
  .readonly();
/** See {@link timeRange}. */
export type TimeRange = z.output<typeof timeRange>;

const ETA =
  'Between when the last message will be sent; computed from the permits that return, polls, other campaigns, and pauses';
const COMPLETION =
  'Between when the last recipient will have a final status; at the latest after the follow-up deadline';

const money = z.string().describe('An exact amount of the currency, such as `47.04`');
const currency = z.string().describe('ISO 4217, such as `EUR`');
const unpriced = count.describe('Recipients whose number has no price; the amounts do not include them');

/** What a campaign costs, and has cost so far. */
const campaignCost = z
  .object({
    total: money.describe('What the campaign costs if all messages are accepted; fixed when it is created'),
    accepted: money
      .nullable()
      .describe(
        'What the messages cost that the service has accepted so far. Null in lists where messages cost different amounts, and if it is not stored',
      ),
    currency,
    unpriced,
  })
  .readonly()
  .meta({ id: 'CampaignCost' });
/** See {@link campaignCost}. */
export type CampaignCost = z.output<typeof campaignCost>;

const CAMPAIGN_COST = 'Null if no prices were configured when the campaign was created';

/** The status of a campaign. */
export const campaignStatus = z
  .object({
    id: z.string(),
    name: z.string(),
    lane: z.string(),
    state: z.enum(CAMPAIGN_STATES),
    createdAt: time,
    createdBy: actor.nullable().describe('Null for a campaign that an older version created'),
    idempotencyKey: z
      .string()
      .nullable()
      .describe('Null if the campaign has none, or an older version created it'),
    launchAt: time.nullable().describe('When sending began or will begin; null while importing'),
    metadata: metadata.describe('Your own data, as you passed it when you created the campaign'),
    window: sendWindow.nullable().describe('When the campaign may send; null: whenever its lane may'),
    endedAt: time.nullable().describe('When the last recipient was settled; null before'),
    recipients: recipientCounts,
    rate: amount
      .nullable()
      .describe(
        'Messages per hour since `launchAt`, without the time in which the campaign was paused, or its lane held or stopped, or after it had sent everything; null if it has sent nothing yet, was cancelled, or has one recipient',
      ),
    requests: z
      .object({ send: count, poll: count, throttled: count })
      .readonly()
      .describe('Requests sent for this campaign so far; the service returned 429 for `throttled` of them'),
    quota: z
      .object({ used: amount, limit: amount.nullable(), nextPermitAt: time.nullable() })
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
      .array(
        z
          .object({
            request: z.string().describe('Our reference, with which `resolve` settles this request alone'),
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
    .enum(REPORTED_STATUSES)
    .describe(
      "The recipient's state. `deliveredToNetwork`, `deliveredToTerminal`, and `deliveryImpossible` are the service's delivery statuses (`DeliveredToNetwork`, …). `duplicate`: a row of the list that was left out, because its number is that of an earlier row; `reason` names both lines",
    ),
  reason: z.string(),
  requestId: z
    .string()
    .describe("The service's id of the request, or our reference if the outcome of the request is unknown"),
  reference: z.string().describe('The `reference` of the recipient in your list, or empty'),
  sentAt: z.string().describe('ISO 8601, or empty'),
  updatedAt: z.string().describe('ISO 8601, or empty'),
  serviceStatus: z
    .string()
    .describe(
      "The service's own word for the delivery status, such as `InvalidDestAddress`, where it says more than `status`: another word, one that Volley does not know, or one with a code that explains it. Empty for a plain `DeliveredToNetwork` or `DeliveredToTerminal`, and if the service has not reported any",
    ),
  serviceCode: z
    .string()
    .describe('The code that the service gave with `serviceStatus`, such as `11`, or empty'),
};

/** One recipient of a report. */
export const reportRow = z.object(reported).readonly().meta({ id: 'ReportRow' });
/** See {@link reportRow}. */
export type ReportRow = z.output<typeof reportRow>;

const ownMetadata = metadata.describe(
  'Your own data about the campaign, as you passed it when you created it',
);

/** A page of the recipients of a campaign. */
export const recipientPage = z
  .object({
    campaign: z.string(),
    metadata: ownMetadata,
    recipients: z.array(reportRow).readonly(),
    cost: campaignCost.nullable().describe(CAMPAIGN_COST),
    next: z.int().nullable().describe('The `from` of the next page; null on the last one'),
  })
  .readonly()
  .meta({ id: 'RecipientPage' });
/** See {@link recipientPage}. */
export type RecipientPage = z.output<typeof recipientPage>;

/** A recipient that has become settled or unknown, or a message of an outbox that has. */
export const recipientResult = z
  .object({
    campaign: z
      .string()
      .describe(
        'Id of the campaign. A message of an outbox has that of its wave, or an empty one if it was cancelled or lapsed before it was planned',
      ),
    lane: z.string(),
    outbox: z.string().describe('Name of the outbox, which is unique on its lane, or empty'),
    message: z.string().describe('Your id of the message in its outbox, or empty'),
    ...reported,
  })
  .readonly()
  .meta({ id: 'RecipientResult' });
/** See {@link recipientResult}. */
export type RecipientResult = z.output<typeof recipientResult>;

/** A page of the results feed. */
export const resultPage = z
  .object({
    results: z.array(recipientResult).readonly(),
    campaigns: z
      .record(
        z.string(),
        z
          .object({
            name: z.string(),
            lane: z.string(),
            idempotencyKey: z.string().nullable(),
            metadata: ownMetadata,
          })
          .readonly(),
      )
      .readonly()
      .describe('The campaigns of these results, by id'),
    next: z
      .string()
      .describe('The `after` of the next page, now or later. Store it when you have processed this page'),
    hasMore: z.boolean().describe('Whether the next page may have results already'),
  })
  .readonly()
  .meta({ id: 'ResultPage' });
/** See {@link resultPage}. */
export type ResultPage = z.output<typeof resultPage>;

/** A recipient found by number. */
export const foundRecipient = z
  .object({
    ...reported,
    campaign: z.string(),
    name: z.string().describe('Name of the campaign'),
    metadata: ownMetadata,
  })
  .readonly()
  .meta({ id: 'FoundRecipient' });
/** See {@link foundRecipient}. */
export type FoundRecipient = z.output<typeof foundRecipient>;

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
      .enum(['open', 'waiting', 'paused', 'probing', 'recovering', 'noToken', 'stopped', 'held'])
      .describe(
        '`waiting`: until its window opens; `paused`: resumes by itself; `probing`: one request tests the service; `recovering`: for seconds after Redis may have lost data, while workers report again what they sent; `noToken`: until the account service gives an access token, next tried at `until` of `pause`; `stopped`: until you fix the cause and resume it; `held`: by an operator, until one resumes it',
      ),
    quota: z
      .object({
        configured: z.union([count, z.literal('auto')]).describe('As configured'),
        learned: amount
          .nullable()
          .describe('The quota that `auto` has learned; null before, and if the quota is configured'),
        limit: amount.nullable().describe('The current limit after deductions; null while unknown'),
        used: z.object({ send: amount, poll: amount }).readonly(),
        inFlight: count,
        nextPermitAt: time.nullable(),
        permitsToCome: z
          .array(z.object({ at: time, permits: amount }).readonly())
          .readonly()
          .describe('Permits that become free within the next hour (or window), in up to 12 steps'),
      })
      .readonly(),
    pause: pause.readonly().nullable(),
    turnFailures,
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
    maxRecipients: count.describe('Recipients per request, as configured or as learned from refusals'),
  })
  .readonly()
  .meta({ id: 'LaneStatus' });
/** See {@link laneStatus}. */
export type LaneStatus = z.output<typeof laneStatus>;

/**
 * Why a row is invalid, for programs: a number in national format without a country, a number that is missing or invalid, a
 * column that is empty or unusable although the message uses it, or anything else about the whole row.
 */
export const INVALID_CAUSES = [
  'noCountry',
  'noNumber',
  'invalidNumber',
  'noValue',
  'invalidValue',
  'row',
] as const;
/** See {@link INVALID_CAUSES}. */
export type InvalidCause = (typeof INVALID_CAUSES)[number];

/** The causes for which every row has the same reason, so that listing a few rows is enough. */
export const UNIFORM_CAUSES: readonly InvalidCause[] = ['noCountry', 'noNumber', 'noValue'];

const cause = z
  .enum(INVALID_CAUSES)
  .describe(
    '`noCountry`: the number is in national format, and no country is known; `noNumber`, `invalidNumber`; `noValue`, `invalidValue`: a column that the message uses is empty or unusable; `row`: the whole row',
  );

/** An invalid row of a list. */
export const invalidRow = z
  .object({
    line: z.int(),
    column: z.string().nullable().describe('Null if the whole row is invalid'),
    cause,
    reason: z.string(),
    row: z.array(z.string()).readonly(),
  })
  .readonly();
/** See {@link invalidRow}. */
export type InvalidRow = z.output<typeof invalidRow>;

/** A row of a list with the number of an earlier row. */
export const repeatedRow = z
  .object({
    line: z.int().describe('In a CSV: the line of the file. In an array: the position, from 1.'),
    firstLine: z.int().describe('The line of the row whose number it repeats'),
    recipient: z.string().describe('E.164'),
    text: z.enum(['same', 'different']).describe('Its text, compared with that of the row that it repeats'),
  })
  .readonly();
/** See {@link repeatedRow}. */
export type RepeatedRow = z.output<typeof repeatedRow>;

/** How many rows have the number of an earlier row and a different text. */
export const differentTexts = count.describe(
  'Rows with the number of an earlier row and a different text. With `duplicates: keep` they are recipients; otherwise they count as duplicates.',
);

/** Which rows have the number of an earlier row. */
export const repeats = z
  .array(repeatedRow)
  .readonly()
  .describe(
    'Rows with the number of an earlier row, by line: the first 20 with the same text, and the first 20 with a different text',
  );

/** Invalid rows with the same cause. */
export const invalidGroup = z
  .object({
    cause,
    column: z.string().nullable().describe('Null if the whole rows are invalid'),
    count,
    lines: z.array(z.int()).readonly().describe('The lines of the first three'),
    country: z
      .string()
      .nullable()
      .describe(
        'For `noCountry`: the country (ISO 3166) in which most of these numbers are valid, if one is likely',
      ),
  })
  .readonly();
/** See {@link invalidGroup}. */
export type InvalidGroup = z.output<typeof invalidGroup>;

/** Why a campaign would be refused. */
export const refusal = z
  .object({
    kind: z
      .enum(['noRows', 'invalidRows', 'differentTexts', 'noPrice', 'overBudget', 'repeated'])
      .describe(
        '`noRows`: the list has no rows; `invalidRows`: rows are invalid and not skipped, or all of them are; `differentTexts`: numbers have different texts, and `duplicates` is `refuse`; `noPrice`: there is a `maxCost`, and numbers have no price; `overBudget`: it costs more than `maxCost`; `repeated`: a campaign of the last 24 hours has the same list, text, and sender',
      ),
    campaign: z.string().nullable().describe('For `repeated`: that campaign'),
  })
  .readonly();
/** See {@link refusal}. */
export type Refusal = z.output<typeof refusal>;

/** What a list costs. Suppressed numbers and duplicates cost nothing. */
export const plannedCost = z
  .object({
    total: money.describe('The segments of each message, times the price of its number'),
    currency,
    segmentPrice: z
      .object({ min: money, max: money })
      .readonly()
      .nullable()
      .describe('The lowest and the highest price of a segment; null if no message has a price'),
    maxCost: money.nullable().describe('The limit, as requested; null if there is none'),
    unpriced,
    unpricedRows: z
      .array(z.object({ line: z.int(), recipient: z.string().describe('E.164') }).readonly())
      .readonly()
      .describe('The first 20 recipients whose number has no price'),
  })
  .readonly()
  .meta({ id: 'PlannedCost' });
/** See {@link plannedCost}. */
export type PlannedCost = z.output<typeof plannedCost>;

/** What sending a message to a list would mean, computed before anything is sent. */
export const preview = z
  .object({
    message: z.string().describe('The text, with its placeholders'),
    sender: z.string(),
    senderName: z.string().nullable(),
    lane: z.string(),
    startsAt: time.nullable().describe('Null: as soon as the campaign is created'),
    window: sendWindow
      .nullable()
      .describe('When messages may be sent, as of the start; null: whenever the lane may'),
    laneWindow: sendWindow
      .nullable()
      .describe('When the lane may send, as of the start; null: at any time. Both windows apply'),
    validForMs: count.nullable().describe('Messages not sent this long after the start lapse; null: never'),
    refusal: refusal.nullable().describe('Why the campaign would be refused; null if it would not'),
    columns: z.array(z.string()).readonly(),
    numberColumn: z.string(),
    rows: count.describe('The sum of `recipients`, `duplicates`, `suppressed`, and `invalid`'),
    recipients: count.describe('Recipients who get a message'),
    duplicates: count.describe('Rows that are left out because their number is that of an earlier row'),
    differentTexts,
    repeats,
    suppressed: count.describe('Recipients who get no message because their number is suppressed'),
    isSuppressionChecked: z
      .boolean()
      .describe('False if there was no Redis, whose list of suppressed numbers was not checked then'),
    notMobile: count.describe(
      'Recipients whose number is known to be a landline, premium rate, shared cost, or voicemail number. With `NUMBER_KINDS=mobile`, such rows are invalid instead',
    ),
    invalid: count,
    invalidGroups: z.array(invalidGroup).readonly().describe('All invalid rows, by their cause and column'),
    problems: z
      .array(invalidRow)
      .readonly()
      .describe(
        'The first 20 invalid rows; of those with the same reason (`noCountry`, `noNumber`, `noValue`), the first three',
      ),
    encodings: z
      .object({ gsm7: count, ucs2: count })
      .readonly()
      .describe(
        'How many messages are GSM-7, and how many are UCS-2, which fits fewer characters into a segment',
      ),
    ucs2Characters: z
      .array(z.string())
      .readonly()
      .describe('Characters that force UCS-2, by code point, such as `U+2019 ’`'),
    segments: z
      .object({ min: count, max: count, total: count })
      .readonly()
      .describe('Segments per message (`min` and `max`) and of all messages together (`total`)'),
    cost: plannedCost.nullable().describe('What the messages cost; null if no prices are configured'),
    requests: z
      .object({ send: count, poll: count, total: count })
      .readonly()
      .describe('Requests of the campaign, without those of messages that will lapse'),
    eta: timeRange.nullable().describe(`${ETA}; null if there is no message to send`),
    completion: timeRange.nullable().describe(COMPLETION),
    samples: z.array(z.object({ recipient: z.string(), text: z.string() }).readonly()).readonly(),
    warnings: z.array(z.string()).readonly(),
  })
  .readonly()
  .meta({ id: 'Preview' });
/** See {@link preview}. */
export type Preview = z.output<typeof preview>;
