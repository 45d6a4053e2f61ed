import { z } from 'zod';
import { type ReturnedFields, returnedFields } from '../fields/field-schemas.js';
import { REPORTED_STATUSES, type ReportedStatus } from '../states/reported-status.js';
import { INVALID_CODE, type InvalidCode, invalidCode } from './list-views.js';
import { CAMPAIGN_COST, type CampaignCost, campaignCost, textOrNull, time } from './measures.js';
import type { CampaignStatus } from './views.js';

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
    column: textOrNull.describe(
      'The column at fault of an invalid row; null if the whole row is, and for a duplicate',
    ),
    code: invalidCode.nullable().describe(`Why a row is invalid: ${INVALID_CODE}. Null for a duplicate`),
  })
  .readonly()
  .meta({ id: 'LeftOutRow' });

/** What a report, the results, and a search say about a recipient. */
export interface ReportedRecipient {
  /** E.164; null for a number that was forgotten, and for a row without one. Of an invalid row, what the list has instead, shortened. */
  readonly to: string | null;
  /** Its state. Rows of the list that were left out are `duplicate` or `invalid`. */
  readonly status: ReportedStatus;
  readonly reason: string | null;
  /** The service's id of the request, or our reference if the outcome of the request is unknown. */
  readonly requestId: string | null;
  /** That of the recipient in your list. */
  readonly reference: string | null;
  readonly sentAt: string | null;
  readonly updatedAt: string | null;
  /** The service's own word for the delivery status, such as `InvalidDestAddress`, where it says more than `status`. */
  readonly serviceStatus: string | null;
  /** The code that the service gave with `serviceStatus`, such as `11`. */
  readonly serviceCode: string | null;
  /** Where a row that was left out is in the list; null for recipients. */
  readonly leftOut: {
    /** In a CSV: the line of the file. In an array: the position, from 1. */
    readonly line: number;
    /** The line whose number a duplicate repeats; null for an invalid row, and for a number that gets the text from an earlier campaign. */
    readonly firstLine: number | null;
    /** The column at fault of an invalid row; null if the whole row is, and for a duplicate. */
    readonly column: string | null;
    /** Why a row is invalid; null for a duplicate. */
    readonly code: InvalidCode | null;
  } | null;
}

/** See {@link ReportedRecipient}. */
const reported = {
  to: textOrNull.describe(
    'E.164; null for a number that was forgotten, and for a row without a number. Of an invalid row without a valid number, what the list has in its place, at most 64 characters',
  ),
  status: z
    .enum(REPORTED_STATUSES)
    .describe(
      "The recipient's state. `deliveredToNetwork`, `deliveredToTerminal`, and `deliveryImpossible` are the service's delivery statuses (`DeliveredToNetwork`, …). `duplicate`: a row of the list that was left out, because its number is that of an earlier row. `invalid`: a row that was left out because it is invalid and `skipInvalid` was set",
    ),
  reason: textOrNull,
  requestId: textOrNull.describe(
    "The service's id of the request, or our reference if the outcome of the request is unknown",
  ),
  reference: textOrNull.describe('The `reference` of the recipient in your list'),
  sentAt: time.nullable(),
  updatedAt: time.nullable(),
  serviceStatus: textOrNull.describe(
    "The service's own word for the delivery status, such as `InvalidDestAddress`, where it says more than `status`: another word, one that Volley does not know, or one with a code that explains it. Null for a plain `DeliveredToNetwork` or `DeliveredToTerminal`, and if the service has not reported any",
  ),
  serviceCode: textOrNull.describe('The code that the service gave with `serviceStatus`, such as `11`'),
  leftOut: leftOut
    .nullable()
    .describe('Where a row that was left out (`duplicate`, `invalid`) is in the list; null for recipients'),
};

/** One recipient of a report. */
export interface ReportRow extends ReportedRecipient {
  /** That of the campaign with whose text the last request was sent; null without one. */
  readonly revision: number | null;
  /** Those of the columns that the text uses, by their names; null unless you ask for them. */
  readonly values: Readonly<Record<string, string>> | null;
}

/** See {@link ReportRow}. */
export const reportRow = z
  .object({
    ...reported,
    revision: z
      .int()
      .min(0)
      .nullable()
      .describe('That of the campaign with whose text the last request was sent; null without one'),
    values: z
      .record(z.string(), z.string())
      .nullable()
      .describe(
        'The values of the columns that the text uses, by their names; empty ones for a row that was left out. Null unless you ask for them',
      ),
  })
  .readonly()
  .meta({ id: 'ReportRow' });
/** A page of the recipients of a campaign. */
export interface RecipientPage extends ReturnedFields {
  readonly campaign: string;
  readonly recipients: readonly ReportRow[];
  /** Null if no prices were configured when the campaign was created. */
  readonly cost: CampaignCost | null;
  /** The `cursor` of the next page; null on the last one. */
  readonly nextCursor: string | null;
}

/** See {@link RecipientPage}. */
export const recipientPage = z
  .object({
    campaign: z.string(),
    ...returnedFields,
    recipients: z.array(reportRow).readonly(),
    cost: campaignCost.nullable().describe(CAMPAIGN_COST),
    nextCursor: textOrNull.describe('The `cursor` of the next page; null on the last one'),
  })
  .readonly()
  .meta({ id: 'RecipientPage' });
/** A recipient that has become settled or unknown, or a message of an outbox that has. */
export interface RecipientResult extends ReportedRecipient {
  /** Id of the campaign; null for a message of an outbox. */
  readonly campaign: string | null;
  readonly lane: string;
  /** Name of the outbox, which is unique on its lane; null for a campaign. */
  readonly outbox: string | null;
  /** Your id of the message in its outbox. */
  readonly message: string | null;
}

/** See {@link RecipientResult}. */
export const recipientResult = z
  .object({
    campaign: textOrNull.describe('Id of the campaign; null for a message of an outbox'),
    lane: z.string(),
    outbox: textOrNull.describe('Name of the outbox, which is unique on its lane; null for a campaign'),
    message: textOrNull.describe('Your id of the message in its outbox'),
    ...reported,
  })
  .readonly()
  .meta({ id: 'RecipientResult' });
/** A page of the results feed. */
export interface ResultPage {
  readonly results: readonly RecipientResult[];
  /** The campaigns of these results, by id. */
  readonly campaigns: Readonly<
    Record<string, ReturnedFields & Pick<CampaignStatus, 'name' | 'lane' | 'idempotencyKey'>>
  >;
  /** The `cursor` of the next page, now or later. Store it when you have processed this page. */
  readonly nextCursor: string;
  /** Whether the next page may have results already. */
  readonly hasMore: boolean;
}

/** See {@link ResultPage}. */
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
            idempotencyKey: textOrNull,
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
/** A recipient found by number. */
export interface FoundRecipient extends ReportedRecipient, ReturnedFields {
  /** Id of the campaign; null for a message of an outbox. */
  readonly campaign: string | null;
  /** Of the campaign; null for a message of an outbox. */
  readonly name: string | null;
  /** Name of the outbox; null for a campaign. */
  readonly outbox: string | null;
  /** Your id of the message in its outbox. */
  readonly message: string | null;
  readonly text: string | null;
}

/** See {@link FoundRecipient}. */
export const foundRecipient = z
  .object({
    ...reported,
    campaign: textOrNull.describe('Id of the campaign; null for a message of an outbox'),
    name: textOrNull.describe('Name of the campaign; null for a message of an outbox'),
    outbox: textOrNull.describe('Name of the outbox; null for a campaign'),
    message: textOrNull.describe('Your id of the message in its outbox'),
    text: textOrNull.describe('What it got, or will get; null if it was left out, and for an outbox'),
    ...returnedFields,
  })
  .readonly()
  .meta({ id: 'FoundRecipient' });
