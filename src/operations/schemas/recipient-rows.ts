import { setImmediate as nextTick } from 'node:timers/promises';
import { z } from 'zod';
import { MAX_FIELD_LENGTH } from '../../intake/import/rows/rows.js';
import { ANY_VALUES } from './schemas.js';

/*
 * Recipients and messages as objects of JSON: their schemas, and how the library takes a list of recipients.
 */

/** Members that an object of a request, and items that a short list may have. Each member of a row becomes a column. */
export const MAX_MEMBERS = 200;

const value = z.union(
  [z.string().max(MAX_FIELD_LENGTH), z.number(), z.null()],
  `Use a number, null, or a string of up to ${MAX_FIELD_LENGTH} characters`,
);
/** The schema rejects only what is not a row. A row without a number or a value is an invalid row, as in a CSV. */
export const recipient = z
  .object({
    to: value.optional().describe('The number, in any common spelling. A row without one is an invalid row.'),
    reference: value
      .optional()
      .describe(
        'Your own name for the message, such as the number of an order, of at most 128 bytes. The report and the results return it.',
      ),
  })
  .catchall(value)
  .meta({
    ...ANY_VALUES,
    description:
      'A number and the values for the placeholders: `{ "to": "+447700900123", "name": "Ada", "reference": "order-17" }`',
    maxProperties: MAX_MEMBERS,
    // Not in the schema itself: a recipient without a number is an invalid row, which can be left out like any other.
    required: ['to'],
  });

/** The members of a message that is put. All others are values of the text. */
export const messageMembers = z.object({
  to: z.string().min(1).max(100).describe('The number, in any common spelling'),
  sendAt: z
    .string()
    .max(40)
    .nullable()
    .optional()
    .describe('ISO 8601 with an offset, or a local time of `zone`, or else of the zone of the outbox'),
  version: z
    .int()
    .min(0)
    .nullable()
    .optional()
    .describe('A message with a lower version than the stored one has no effect'),
  reference: z.string().max(128).nullable().optional().describe('Returned with the status'),
  tag: z.string().max(64).nullable().optional().describe('By which you can cancel and list messages'),
  zone: z
    .string()
    .max(100)
    .nullable()
    .optional()
    .describe(
      'Its IANA time zone: of its local times, and of the window if that is in the zone of each recipient',
    ),
});

type JsonRow = Readonly<Record<string, string | number | null | undefined>>;

/** Members of rows that are read before other work of the process gets a turn. */
const MEMBERS_PER_TICK = 5_000;

/** The members of all rows, without values. */
export async function columnsOf(recipients: Iterable<JsonRow>): Promise<JsonRow> {
  const names = new Set<string>();
  let members = 0;
  for (const row of recipients) {
    const keys = Object.keys(row);
    for (const name of keys) names.add(name);
    members += 1 + keys.length;
    if (members >= MEMBERS_PER_TICK) {
      members = 0;
      await nextTick();
    }
    // A million rows with members of their own would otherwise result in a million columns.
    if (names.size > MAX_MEMBERS) break;
  }
  return Object.fromEntries([...names].slice(0, MAX_MEMBERS).map((name) => [name, '']));
}

/**
 * The recipients of a JSON body as the library takes them. The library takes the members of the first row as the columns,
 * but here any row may lack members without a value, so the first row is given the members of all.
 */
export function* rowsOf(
  recipients: Iterable<JsonRow>,
  columns: JsonRow,
): Generator<JsonRow & { readonly to: string }> {
  let first = columns;
  for (const row of recipients) {
    yield { ...first, ...row, to: String(row['to'] ?? '') };
    first = {};
  }
}

/** The same as a list, for what keeps it: at most this many and one more. */
export async function listOfRows(
  recipients: readonly JsonRow[],
  most: number,
): Promise<(JsonRow & { readonly to: string })[]> {
  const kept = recipients.slice(0, most + 1);
  return [...rowsOf(kept, await columnsOf(kept))];
}
