import { z } from 'zod';
import type { ErrorCode, ErrorItem } from '../errors/error-codes.js';
import { errorItem } from '../errors/error-item.js';
import { COMPLETION, count, currency, ETA, money, time, timeRange, unpriced } from './measures.js';
import { sendWindow } from './views.js';

/*
 * The public form of a preview: what a campaign would send, what is wrong with its list, and why it would be refused.
 */

/**
 * Why a row is invalid, for programs: a number in national format without a country, a number that is missing or invalid, a country that
 * does not exist, a column that is empty or unusable although the message uses it, a number or a
 * length that the limits of the API key or the lane do not allow, or anything else about the whole row.
 */
export const INVALID_CODES = [
  'noCountry',
  'noNumber',
  'invalidNumber',
  'invalidCountry',
  'noValue',
  'invalidValue',
  'notAllowed',
  'row',
] as const satisfies readonly ErrorCode[];
/** See {@link INVALID_CODES}. */
export type InvalidCode = (typeof INVALID_CODES)[number];

/** The codes for which every row has the same reason, so that listing a few rows is enough. */
export const UNIFORM_CODES: readonly InvalidCode[] = ['noCountry', 'noNumber', 'noValue'];

/** What the codes mean. */
export const INVALID_CODE =
  '`noCountry`: the number is in national format, and no country is known; `noNumber`, `invalidNumber`; `invalidCountry`: the number is in national format, and the country of its row is unknown; `noValue`, `invalidValue`: a column that the message uses is empty or unusable; `notAllowed`: a limit of the API key or the lane refuses the number or the length of the message; `row`: the whole row';
/** See {@link INVALID_CODES}. */
export const invalidCode = z.enum(INVALID_CODES);

/** An invalid row of a list. */
export interface InvalidRow extends ErrorItem {
  readonly code: InvalidCode;
  readonly line: number;
  /** Its values, in the order of the columns. */
  readonly row: readonly string[];
  /** Its row in a spreadsheet, if that is not its line. */
  readonly rowNumber?: number | undefined;
}

/** A row of a list with the number of an earlier row. */
export const repeatedRow = z
  .object({
    line: z.int().describe('In a CSV: the line of the file. In an array: the position, from 1.'),
    firstLine: z.int().describe('The line of the row whose number it repeats'),
    to: z.string().describe('E.164'),
    text: z.enum(['same', 'different']).describe('Its text, compared with that of the row that it repeats'),
  })
  .readonly();
/** See {@link repeatedRow}. */
export type RepeatedRow = z.output<typeof repeatedRow>;

/** The numbers of a list by country. */
export const numbersByCountry = z
  .array(
    z
      .object({
        country: z
          .string()
          .nullable()
          .describe(
            'ISO 3166; of those that share a calling code, the one whose range contains the number; null: a number of no country',
          ),
        callingCode: z.string().describe('Without its plus'),
        numberCount: count,
      })
      .readonly(),
  )
  .readonly();
/** The numbers of a country. */
export type NumbersOfCountry = z.output<typeof numbersByCountry>[number];

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

/** Invalid rows with the same code. */
export const invalidGroup = z
  .object({
    code: invalidCode.describe(INVALID_CODE),
    column: z.string().nullable().describe('Null if the whole rows are invalid'),
    count,
    lines: z.array(z.int()).readonly().describe('The lines of the first three'),
    country: z
      .string()
      .nullable()
      .describe(
        'For `noCountry`: the country (ISO 3166) in which most of these numbers are valid, if one is likely',
      ),
    countryColumn: z
      .string()
      .nullable()
      .describe('For `noCountry`: a column that contains countries and is not used, if there is one'),
  })
  .readonly();
/** See {@link invalidGroup}. */
export type InvalidGroup = z.output<typeof invalidGroup>;

/** Why a campaign would be refused. */
export const refusal = z
  .object({
    code: z
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
      .array(z.object({ line: z.int(), to: z.string().describe('E.164') }).readonly())
      .readonly()
      .describe('The first 20 recipients whose number has no price'),
  })
  .readonly()
  .meta({ id: 'PlannedCost' });
/** See {@link plannedCost}. */
export type PlannedCost = z.output<typeof plannedCost>;

/** The message of one recipient. */
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
/** See {@link sample}. */
export type Sample = z.output<typeof sample>;

/** An invalid row of a list, for a page that marks its cell. */
export const listProblem = z
  .object({
    code: invalidCode.describe(INVALID_CODE),
    line: z.int().describe('In a CSV: the line of the file. In an array: the position, from 1.'),
    row: z.int().describe('In a CSV: the row of a spreadsheet, in which a field may have several lines'),
    column: z.string().nullable().describe('Null if the whole row is invalid'),
    value: z.string().nullable().describe('The beginning of what the column has; null without a column'),
    values: z
      .array(z.string())
      .readonly()
      .nullable()
      .describe('Of the row, in the order of the columns; null after a million characters of such values'),
    message: z.string().describe('What is wrong with it, in a sentence'),
  })
  .readonly();

/** Who of a list gets its text from an earlier campaign. */
export const sentBefore = z
  .object({
    unchecked: z.string().nullable().describe('Why it was not checked; null if it was'),
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
/** See {@link sentBefore}. */
export type SentBefore = z.output<typeof sentBefore>;

/** What sending a message to a list would mean, computed before anything is sent. */
export const preview = z
  .object({
    message: z.string().describe('The text, with its placeholders'),
    sender: z.string(),
    senderName: z.string().nullable(),
    lane: z.string(),
    sendAt: time.nullable().describe('Null: as soon as the campaign is created'),
    zone: z
      .string()
      .nullable()
      .describe("The time zone of the campaign's local times: its own, or else that of its lane's window"),
    window: sendWindow
      .nullable()
      .describe('When messages may be sent, as of the start; null: whenever the lane may'),
    laneZone: z.string().nullable().describe('The time zone of `laneWindow`; null without one'),
    laneWindow: sendWindow
      .nullable()
      .describe('When the lane may send, as of the start; null: at any time. Both windows apply'),
    validFor: z
      .string()
      .nullable()
      .describe('Messages not sent this long after the start lapse, such as `90m`; null: never'),
    refusal: refusal.nullable().describe('Why the campaign would be refused; null if it would not'),
    columns: z.array(z.string()).readonly(),
    toColumn: z.string(),
    countryColumn: z
      .string()
      .nullable()
      .describe('The column with the country of each row; null if none is used'),
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
    sentBefore: sentBefore
      .nullable()
      .describe(
        'Who gets this text already from a campaign of the last 24 hours; null if it was not asked for',
      ),
    digest: z
      .string()
      .nullable()
      .describe(
        'Of the recipients, the text, and the settings in which repeated requests must agree. Creating the campaign with it as `expect` is refused if anything has changed. Null for a part of a list',
      ),
    warnings: z.array(z.string()).readonly(),
  })
  .readonly()
  .meta({ id: 'Preview' });
/** See {@link preview}. */
export type Preview = z.output<typeof preview>;
