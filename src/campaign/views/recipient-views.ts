import { z } from 'zod';
import { returnedFields } from '../fields/field-schemas.js';
import { REPORTED_STATUSES } from '../states/reported-status.js';
import { CAMPAIGN_COST, campaignCost, time } from './measures.js';
import { INVALID_CODE, invalidCode } from './preview-views.js';

/*
 * The public form of recipients: in reports, in the results feed, and found by number.
 */

const leftOut = z
  .object({
    line: z.int().describe('In a CSV: the line of the file. In an array: the position, from 1'),
    firstLine: z
      .int()
      .nullable()
      .describe(
        'The line whose number a duplicate repeats; null for an invalid row, and for a number that gets the text from an earlier campaign',
      ),
    column: z
      .string()
      .nullable()
      .describe('The column at fault of an invalid row; null if the whole row is, and for a duplicate'),
    code: invalidCode.nullable().describe(`Why a row is invalid: ${INVALID_CODE}. Null for a duplicate`),
  })
  .readonly()
  .meta({ id: 'LeftOutRow' });

const reported = {
  to: z
    .string()
    .nullable()
    .describe(
      'E.164; null for a number that was forgotten, and for a row without a number. Of an invalid row without a valid number, what the list has in its place, at most 64 characters',
    ),
  status: z
    .enum(REPORTED_STATUSES)
    .describe(
      "The recipient's state. `deliveredToNetwork`, `deliveredToTerminal`, and `deliveryImpossible` are the service's delivery statuses (`DeliveredToNetwork`, …). `duplicate`: a row of the list that was left out, because its number is that of an earlier row. `invalid`: a row that was left out because it is invalid and `skipInvalid` was set",
    ),
  reason: z.string().nullable(),
  requestId: z
    .string()
    .nullable()
    .describe("The service's id of the request, or our reference if the outcome of the request is unknown"),
  reference: z.string().nullable().describe('The `reference` of the recipient in your list'),
  sentAt: time.nullable(),
  updatedAt: time.nullable(),
  serviceStatus: z
    .string()
    .nullable()
    .describe(
      "The service's own word for the delivery status, such as `InvalidDestAddress`, where it says more than `status`: another word, one that Volley does not know, or one with a code that explains it. Null for a plain `DeliveredToNetwork` or `DeliveredToTerminal`, and if the service has not reported any",
    ),
  serviceCode: z
    .string()
    .nullable()
    .describe('The code that the service gave with `serviceStatus`, such as `11`'),
  leftOut: leftOut
    .nullable()
    .describe('Where a row that was left out (`duplicate`, `invalid`) is in the list; null for recipients'),
};

/** One recipient of a report. */
export const reportRow = z
  .object({
    ...reported,
    values: z
      .record(z.string(), z.string())
      .nullable()
      .describe(
        'The values of the columns that the text uses, by their names; empty ones for a row that was left out. Null unless you ask for them',
      ),
  })
  .readonly()
  .meta({ id: 'ReportRow' });
/** See {@link reportRow}. */
export type ReportRow = z.output<typeof reportRow>;

/** What a report, the results, and a search say about a recipient. */
export type ReportedRecipient = Omit<ReportRow, 'values'>;

/** A page of the recipients of a campaign. */
export const recipientPage = z
  .object({
    campaign: z.string(),
    ...returnedFields,
    recipients: z.array(reportRow).readonly(),
    cost: campaignCost.nullable().describe(CAMPAIGN_COST),
    nextCursor: z.string().nullable().describe('The `cursor` of the next page; null on the last one'),
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
      .nullable()
      .describe(
        'Id of the campaign. A message of an outbox has that of its wave; null if it was cancelled or lapsed before it was planned',
      ),
    lane: z.string(),
    outbox: z
      .string()
      .nullable()
      .describe('Name of the outbox, which is unique on its lane; null for a campaign'),
    message: z.string().nullable().describe('Your id of the message in its outbox'),
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
            ...returnedFields,
          })
          .readonly(),
      )
      .readonly()
      .describe('The campaigns of these results, by id'),
    nextCursor: z
      .string()
      .describe('The `cursor` of the next page, now or later. Store it when you have processed this page'),
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
    outbox: z.string().nullable().describe('Name of the outbox whose message it was; null if it was none'),
    message: z.string().nullable().describe('Your id of the message in its outbox'),
    ...returnedFields,
  })
  .readonly()
  .meta({ id: 'FoundRecipient' });
/** See {@link foundRecipient}. */
export type FoundRecipient = z.output<typeof foundRecipient>;
