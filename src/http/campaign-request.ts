import { z } from 'zod';
import { readMoment } from '../campaign/moment.js';
import { type InvalidRow, invalidRow } from '../campaign/views.js';
import { DURATION_FORM, parseDuration } from '../duration.js';
import type { CampaignInput } from '../import/campaign-input.js';
import { MOST_MEMBERS } from './validation.js';

/** A campaign as it is asked for over HTTP: the words of the command line and the library. */

const filled = z.string().trim().min(1).max(200);

/** Whose national spelling is meant, in letters of either case. */
export const country = z
  .string()
  .regex(/^[A-Za-z]{2}$/, 'must be two letters of ISO 3166, such as GB')
  .optional()
  .describe('Country whose national spelling numbers may be in; default: DEFAULT_COUNTRY');

const order = {
  message: z
    .string()
    .min(1)
    .max(20_000)
    .describe('The text, with placeholders such as `{{name}}` that are columns of the list'),
  sender: filled
    .optional()
    .describe('A number of up to 15 digits, or a text of up to 11 letters; default: SENDER_ADDRESS'),
  senderName: filled.optional().describe('A name for the sending application; default: SENDER_NAME'),
  lane: filled.optional().describe('Default: the first lane, or the only one of the key'),
  name: filled.optional().describe('For people; default: the time'),
  country,
  at: z
    .string()
    .refine((text) => readMoment(text).kind === 'moment', {
      error: 'must be an ISO 8601 time with its zone, such as 2030-05-01T09:00+01:00',
    })
    .optional()
    .describe('When sending begins, ISO 8601 with its zone; default: now'),
  priority: z.enum(['high', 'normal']).optional(),
  validFor: z
    .string()
    .refine((text) => (parseDuration(text) ?? 0) > 0, `must be longer than nothing, and ${DURATION_FORM}`)
    .optional()
    .describe('After this long from its beginning what was not sent lapses, such as `24h`'),
  skipInvalid: z.boolean().optional().describe('Leave bad rows out; without it one of them refuses the list'),
  again: z.boolean().optional().describe('Allow what equals a campaign of the last 24 hours'),
};

const MOST_LETTERS = 5_000;
const value = z.union(
  [z.string().max(MOST_LETTERS), z.number(), z.null()],
  `must be a number, or a text of up to ${MOST_LETTERS} letters`,
);
/** Only what is no row is refused here. A row whose number or value is missing is a bad row, in JSON as in a CSV. */
const recipient = z
  .object({ to: value.optional().describe('The number, in any spelling; a row without one is a bad row') })
  .catchall(value.describe('A value for the placeholder of that name; null is none'))
  .meta({
    description:
      'A number, and a value for each placeholder of the text: `{ "to": "+447700900123", "name": "Ada" }`',
    maxProperties: MOST_MEMBERS,
  });

/** A campaign whole: `POST /v1/campaigns` with `application/json`. */
export const campaignRequest = z
  .strictObject({ recipients: z.array(recipient).min(1, 'must hold a recipient at least'), ...order })
  .meta({ id: 'CampaignRequest' });

/** A campaign whose list follows as a CSV: the part `campaign` of `multipart/form-data`. */
export const campaignOrder = z
  .strictObject({
    ...order,
    toColumn: filled.optional().describe('The column of the numbers; default: found by its name and values'),
  })
  .meta({ id: 'CampaignOrder' });

/** See {@link campaignOrder}. */
export type CampaignOrder = z.output<typeof campaignOrder>;

/** A bad row, without the row itself: whoever asks has it. */
export const badRow = z.object({
  line: invalidRow.unwrap().shape.line,
  column: invalidRow.unwrap().shape.column,
  reason: invalidRow.unwrap().shape.reason,
});

/** See {@link badRow}. */
export function badRows(rows: readonly InvalidRow[]): z.output<typeof badRow>[] {
  return rows.map(({ line, column, reason }) => ({ line, column, reason }));
}

/** The order in the library's words. */
export function inputOf(
  { at, validFor, country, ...rest }: CampaignOrder,
  recipients: CampaignInput['recipients'],
): CampaignInput {
  return {
    ...rest,
    recipients,
    country: country?.toUpperCase(),
    at: at === undefined ? undefined : momentOf(at),
    validForMs: validFor === undefined ? undefined : parseDuration(validFor),
  };
}

function momentOf(text: string): number | undefined {
  const read = readMoment(text);
  return read.kind === 'moment' ? read.at : undefined;
}
