import { MOST_MEMBERS } from './validation.js';

/** A recipient as JSON has it: what is null or missing has no value. */
export type JsonRow = Readonly<Record<string, string | number | null | undefined>>;

/** The same with its number as a text, which is empty where there is none. */
type Recipient = JsonRow & { readonly to: string };

/**
 * The recipients of a JSON body in the library's words. The library takes the members of the first one as the columns;
 * here a row may lack what it has no value for, the first like any other, so the first is given what others have.
 */
export function* rowsOfJson(recipients: readonly JsonRow[]): Generator<Recipient> {
  const columns = columnsOf(recipients);
  for (const [at, row] of recipients.entries()) {
    yield { ...(at === 0 ? columns : {}), ...row, to: String(row['to'] ?? '') };
  }
}

function columnsOf(recipients: readonly JsonRow[]): Record<string, ''> {
  const names = new Set<string>();
  for (const row of recipients) {
    for (const name of Object.keys(row)) names.add(name);
    // Of a million rows with members of their own each, a list would have a million columns.
    if (names.size > MOST_MEMBERS) break;
  }
  return Object.fromEntries([...names].slice(0, MOST_MEMBERS).map((name) => [name, '' as const]));
}
