import { z } from 'zod';
import type { ErrorItem } from '../errors/error-codes.js';
import { errorItem } from '../errors/error-item.js';
import {
  differentTexts,
  type InvalidGroup,
  invalidGroup,
  type ListProblem,
  listProblem,
  type NumbersOfCountry,
  numbersByCountry,
  type RepeatedRow,
  repeats,
} from './list-views.js';
import {
  COMPLETION,
  count,
  currency,
  ETA,
  money,
  type TimeRange,
  textOrNull,
  time,
  timeRange,
  unpriced,
} from './measures.js';
import { type SendWindow, sendWindow } from './views.js';
import { ZONES, type ZoneStatus, zoneStatus } from './zone-views.js';

/*
 * The public form of a preview: what a campaign would send, what is wrong with its list, and why it would be refused.
 */

/** Why a campaign would be refused. */
export interface Refusal {
  readonly code: 'noRows' | 'invalidRows' | 'differentTexts' | 'noPrice' | 'overBudget' | 'repeated';
  /** For `repeated`: the campaign of the last 24 hours with the same list, text, and sender. */
  readonly campaign: string | null;
}

/** See {@link Refusal}. */
export const refusal = z
  .object({
    code: z
      .enum(['noRows', 'invalidRows', 'differentTexts', 'noPrice', 'overBudget', 'repeated'])
      .describe(
        '`noRows`: the list has no rows; `invalidRows`: rows are invalid and not skipped, or all of them are; `differentTexts`: numbers have different texts, and `duplicates` is `refuse`; `noPrice`: there is a `maxCost`, and numbers have no price; `overBudget`: it costs more than `maxCost`; `repeated`: a campaign of the last 24 hours has the same list, text, and sender',
      ),
    campaign: textOrNull.describe('For `repeated`: that campaign'),
  })
  .readonly();
/** What a list costs. Suppressed numbers and duplicates cost nothing. */
export interface PlannedCost {
  /** The segments of each message, times the price of its number. */
  readonly total: string;
  readonly currency: string;
  /** The lowest and the highest price of a segment; null if no message has a price. */
  readonly segmentPrice: { readonly min: string; readonly max: string } | null;
  /** As requested; null without a limit. */
  readonly maxCost: string | null;
  /** Recipients whose number has no price. The amounts do not include them. */
  readonly unpriced: number;
  /** The first 20 of them. */
  readonly unpricedRows: readonly { readonly line: number; readonly to: string }[];
}

/** See {@link PlannedCost}. */
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
      .array(z.object({ line: z.int(), to: z.string().describe('E.164') }).readonly())
      .readonly()
      .describe('The first 20 recipients whose number has no price'),
  })
  .readonly()
  .meta({ id: 'PlannedCost' });
/** The message of one recipient. */
export interface Sample {
  readonly line: number;
  /** E.164. */
  readonly to: string;
  readonly text: string;
  /** Of its row, in the order of the columns. */
  readonly values: readonly string[];
  readonly encoding: 'GSM-7' | 'UCS-2';
  readonly segments: number;
  /** Null if no prices are configured, or its number has no price. */
  readonly cost: string | null;
}

/** See {@link Sample}. */
export const sample = z
  .object({
    line: z.int().describe('In a CSV: the line of the file. In an array: the position, from 1.'),
    to: z.string().describe('E.164'),
    text: z.string(),
    values: z.array(z.string()).readonly().describe('Of its row, in the order of the columns'),
    encoding: z.enum(['GSM-7', 'UCS-2']),
    segments: count,
    cost: money.nullable().describe('Null if no prices are configured, or its number has no price'),
  })
  .readonly();
/** Who of a list gets its text from an earlier campaign. */
export interface SentBefore {
  /** Why it was not checked; null if it was. */
  readonly unchecked: string | null;
  /** How many recipients get it already. Suppressed ones do not count, unless they are left out. */
  readonly recipientCount: number;
  /** Whether they are left out, as duplicates are; otherwise they get the text again. */
  readonly isLeftOut: boolean;
  /** The campaigns that send it to them, newest first. A recipient of several counts for the newest. */
  readonly campaigns: readonly {
    readonly id: string;
    readonly name: string;
    readonly createdAt: string;
    readonly recipientCount: number;
    /** Rows of its own list that were left out because they were invalid. */
    readonly invalid: number;
  }[];
  /** The first 20 of these recipients. */
  readonly rows: readonly { readonly line: number; readonly to: string; readonly campaign: string }[];
}

/** See {@link SentBefore}. */
export const sentBefore = z
  .object({
    unchecked: textOrNull.describe('Why it was not checked; null if it was'),
    recipientCount: count.describe(
      'How many recipients get it already. Suppressed ones do not count, unless they are left out.',
    ),
    isLeftOut: z
      .boolean()
      .describe('Whether they are left out, as duplicates are; otherwise they get the text again'),
    campaigns: z
      .array(
        z
          .object({
            id: z.string(),
            name: z.string(),
            createdAt: time,
            recipientCount: count.describe('How many recipients of the list get the text from it'),
            invalid: count.describe('Rows of its own list that were left out because they were invalid'),
          })
          .readonly(),
      )
      .readonly()
      .describe(
        'The campaigns that send it to them, newest first. A recipient of several counts for the newest.',
      ),
    rows: z
      .array(z.object({ line: z.int(), to: z.string(), campaign: z.string() }).readonly())
      .readonly()
      .describe('The first 20 of these recipients'),
  })
  .readonly();
/** What sending a message to a list would mean, computed before anything is sent. */
export interface Preview {
  /** The text, with its placeholders. */
  readonly message: string;
  readonly sender: string;
  readonly senderName: string | null;
  readonly lane: string;
  /** Null: as soon as the campaign is created. */
  readonly sendAt: string | null;
  /** The time zone of the campaign's local times: its own, or else that of its lane's window. */
  readonly zone: string | null;
  /** As of the start; null: it may send whenever its lane may. */
  readonly window: SendWindow | null;
  /** With a window in each recipient's own zone, or times of recipients: these, first those that can start first. Otherwise null. */
  readonly zones: readonly ZoneStatus[] | null;
  /** The time zone of `laneWindow`; null without one. */
  readonly laneZone: string | null;
  /** As of the start; null: the lane may send at any time. Both windows apply. */
  readonly laneWindow: SendWindow | null;
  /** Messages not sent this long after the start lapse, such as `90m`; null: never. */
  readonly validFor: string | null;
  /** Why the campaign would be refused; null if it would not. */
  readonly refusal: Refusal | null;
  /** Of an Excel workbook: the sheet with the list; otherwise null. */
  readonly sheet: string | null;
  /** Its sheets that are not hidden, and the one with the list; empty for other lists. */
  readonly sheets: readonly string[];
  readonly columns: readonly string[];
  readonly toColumn: string;
  /** The column with the country of each row; null if none is used. */
  readonly countryColumn: string | null;
  /** The valid numbers by country, suppressed ones included and each once; the commonest country first. */
  readonly countries: readonly NumbersOfCountry[];
  /** The sum of `recipientCount`, `duplicates`, `suppressed`, and `invalid`. */
  readonly rows: number;
  /** Recipients who get a message. */
  readonly recipientCount: number;
  /** Rows that are left out because their number is that of an earlier row. */
  readonly duplicates: number;
  /** Rows with the number of an earlier row and a different text. With `duplicates: keep` they are recipients. */
  readonly differentTexts: number;
  /** Rows with the number of an earlier row: the first 20 with the same text, and the first 20 with a different text. */
  readonly repeats: readonly RepeatedRow[];
  /** Recipients who get no message because their number is suppressed. */
  readonly suppressed: number;
  /** False if there was no Redis, so that the suppression lists were not checked. */
  readonly isSuppressionChecked: boolean;
  /** Recipients whose number is known to be no mobile number. With `NUMBER_KINDS=mobile`, such rows are invalid instead. */
  readonly notMobile: number;
  readonly invalid: number;
  /** All invalid rows, by their code and column. */
  readonly invalidGroups: readonly InvalidGroup[];
  /** The first 20 invalid rows; of those with the same reason, the first three. */
  readonly errors: readonly ErrorItem[];
  /** The first invalid rows, as many as `problems` of the input asks for. */
  readonly problems: readonly ListProblem[];
  /** How many messages are GSM-7, and how many are UCS-2, which fits fewer characters into a segment. */
  readonly encodings: { readonly gsm7: number; readonly ucs2: number };
  /** Characters that force UCS-2, by code point, such as `U+2019 ’`. */
  readonly ucs2Characters: readonly string[];
  /** Of a message (`min` and `max`), and of all messages together. */
  readonly segments: { readonly min: number; readonly max: number; readonly total: number };
  /** Null if no prices are configured. */
  readonly cost: PlannedCost | null;
  /** Without those of messages that will lapse. */
  readonly requests: { readonly send: number; readonly poll: number; readonly total: number };
  /** When the last message will be sent; null if there is none. */
  readonly eta: TimeRange | null;
  /** When the last recipient will have a final status. */
  readonly completion: TimeRange | null;
  /** The messages of the first three recipients. */
  readonly samples: readonly Sample[];
  /** The message with the most segments; null if there is none. */
  readonly longest: Sample | null;
  /** The message that costs the most; null if no message has a price. */
  readonly dearest: Sample | null;
  /** Who gets this text already from a campaign of the last 24 hours; null if it was not asked for. */
  readonly sentBefore: SentBefore | null;
  /** Creating the campaign with it as `expect` is refused if anything has changed. Null for a part of a list. */
  readonly digest: string | null;
  readonly warnings: readonly string[];
}

/** See {@link Preview}. */
export const preview = z
  .object({
    message: z.string().describe('The text, with its placeholders'),
    sender: z.string(),
    senderName: textOrNull,
    lane: z.string(),
    sendAt: time.nullable().describe('Null: as soon as the campaign is created'),
    zone: textOrNull.describe(
      "The time zone of the campaign's local times: its own, or else that of its lane's window",
    ),
    window: sendWindow
      .nullable()
      .describe('When messages may be sent, as of the start; null: whenever the lane may'),
    zones: z.array(zoneStatus).readonly().nullable().describe(ZONES),
    laneZone: textOrNull.describe('The time zone of `laneWindow`; null without one'),
    laneWindow: sendWindow
      .nullable()
      .describe('When the lane may send, as of the start; null: at any time. Both windows apply'),
    validFor: textOrNull.describe(
      'Messages not sent this long after the start lapse, such as `90m`; null: never',
    ),
    refusal: refusal.nullable().describe('Why the campaign would be refused; null if it would not'),
    sheet: textOrNull.describe('Of an Excel workbook: the sheet with the list; otherwise null'),
    sheets: z
      .array(z.string())
      .readonly()
      .describe('Its sheets that are not hidden, and the one with the list; empty for other lists'),
    columns: z.array(z.string()).readonly(),
    toColumn: z.string(),
    countryColumn: textOrNull.describe('The column with the country of each row; null if none is used'),
    countries: numbersByCountry.describe(
      'The valid numbers by country, suppressed ones included and each once; the commonest country first',
    ),
    rows: count.describe('The sum of `recipientCount`, `duplicates`, `suppressed`, and `invalid`'),
    recipientCount: count.describe('Recipients who get a message'),
    duplicates: count.describe('Rows that are left out because their number is that of an earlier row'),
    differentTexts,
    repeats,
    suppressed: count.describe('Recipients who get no message because their number is suppressed'),
    isSuppressionChecked: z
      .boolean()
      .describe('False if there was no Redis, so that the suppression lists were not checked'),
    notMobile: count.describe(
      'Recipients whose number is known to be a landline, premium rate, shared cost, or voicemail number. With `NUMBER_KINDS=mobile`, such rows are invalid instead',
    ),
    invalid: count,
    invalidGroups: z.array(invalidGroup).readonly().describe('All invalid rows, by their code and column'),
    errors: z
      .array(errorItem)
      .readonly()
      .describe(
        'The first 20 invalid rows; of those with the same reason (`noCountry`, `noNumber`, `noValue`), the first three',
      ),
    problems: z
      .array(listProblem)
      .readonly()
      .describe('The first invalid rows, as many as `problems` of the request asks for'),
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
    samples: z.array(sample).readonly().describe('The messages of the first three recipients'),
    longest: sample.nullable().describe('The message with the most segments; null if there is no message'),
    dearest: sample.nullable().describe('The message that costs the most; null if no message has a price'),
    sentBefore: sentBefore
      .nullable()
      .describe(
        'Who gets this text already from a campaign of the last 24 hours; null if it was not asked for',
      ),
    digest: textOrNull.describe(
      'Of the recipients, the text, and the settings in which repeated requests must agree. Creating the campaign with it as `expect` is refused if anything has changed. Null for a part of a list',
    ),
    warnings: z.array(z.string()).readonly(),
  })
  .readonly()
  .meta({ id: 'Preview' });
