import { createHash } from 'node:crypto';
import { InputError } from '../campaign/errors.js';
import { compileTemplate, type Template } from '../campaign/template.js';
import type { InvalidRow, Preview } from '../campaign/views.js';
import type { LocalConfig } from '../config/index.js';
import type { Lane } from '../lane/lane.js';
import type { StoredRecipient } from '../recipients/slices.js';
import type { Suppression } from '../recipients/suppression.js';
import type { CampaignInput, CsvStream } from './campaign-input.js';
import { type CheckedRows, checkRows } from './check-rows.js';
import { ListError } from './list-error.js';
import { createTally } from './preview.js';
import type { Rows } from './row.js';
import { rowsOfObjects } from './row-objects.js';
import { readCsv } from './rows.js';

/** A list that is open, its columns known and the text bound to them; it can be gone through once. */
export interface OpenList {
  readonly list: CheckedRows;
  readonly template: Template;
}

/** Opens the list. Throws an InputError for what is no list, and for a text that does not fit its columns. */
export async function openList(config: LocalConfig, input: CampaignInput): Promise<OpenList> {
  const { recipients } = input;
  return asInputErrors(async () => {
    const rows = await rowsOf(recipients);
    const compiled = compileTemplate(input.message, rows.columns);
    if (!compiled.ok) {
      rows.close();
      throw new InputError(compiled.reason, { field: 'message' });
    }
    const { template } = compiled;
    const list = await checkRows(rows, {
      // Objects say by `to` which is their number; of a file it is found out.
      toColumn: input.toColumn ?? (isCsv(recipients) ? undefined : 'to'),
      defaultCountry: input.country ?? config.defaultCountry,
      template,
    });
    return { list, template };
  });
}

function rowsOf(recipients: CampaignInput['recipients']): Promise<Rows> {
  if (!isCsv(recipients)) return rowsOfObjects(recipients);
  return readCsv(typeof recipients === 'string' ? recipients : recipients.csv);
}

function isCsv(recipients: CampaignInput['recipients']): recipients is string | CsvStream {
  return typeof recipients === 'string' || 'csv' in recipients;
}

/** What is done with the rows as they go by. */
export interface ListPass {
  readonly lane: Lane;
  readonly suppression: Suppression;
  readonly sender: string;
  /** Whether the sender is a text, not a number. */
  readonly isText: boolean;
  readonly senderName?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Recipients of a batch, and of each whether it is suppressed; false when no more are wanted. */
  take?(recipients: readonly StoredRecipient[], suppressed: readonly boolean[]): Promise<void>;
  onInvalid?: ((row: InvalidRow) => void) | undefined;
}

/** What a way through a list has found. */
export interface Passed {
  readonly preview: Preview;
  /** Digest of the good rows, as far as the text uses them, with text and sender; equal for what would send the same. */
  readonly content: string;
}

/** Goes through a list once, a batch at a time: memory does not grow with it, but for what knows its duplicates. */
export async function passList({ list, template }: OpenList, pass: ListPass): Promise<Passed> {
  const { lane, suppression, sender, isText, senderName = '', signal } = pass;
  const tally = createTally(template, isText);
  const places = template.placeholders.map((name) => list.columns.indexOf(name));
  const content = createHash('sha256').update(JSON.stringify([sender, senderName, template.text]));
  // Whoever is suppressed while the list is read is left out when a batch is claimed.
  const anySuppressed = (await suppression.count()) > 0;
  await asInputErrors(async () => {
    for await (const batch of list.batches) {
      signal?.throwIfAborted();
      const good = batch.filter((row) => row.kind === 'recipient');
      const suppressed = anySuppressed
        ? await suppression.areSuppressed(good.map(({ number }) => number))
        : good.map(() => false);
      const recipients: StoredRecipient[] = [];
      let text = '';
      for (const [at, { number, values }] of good.entries()) {
        tally.recipient(number, values, suppressed[at] === true);
        const used = places.map((place) => values[place] ?? '');
        text += number;
        for (const value of used) text += `,${value.length}:${value}`;
        recipients.push({ number, values: used });
      }
      content.update(text);
      await pass.take?.(recipients, suppressed);
      for (const row of batch) {
        if (row.kind !== 'invalid') continue;
        tally.invalid(row);
        pass.onInvalid?.(row);
      }
    }
  });
  return {
    preview: tally.preview(list, lane, await lane.look()),
    content: content.digest('base64url'),
  };
}

/** What is wrong with a list is wrong with what was given. */
async function asInputErrors<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ListError) {
      throw new InputError(error.message, { cause: error, field: 'recipients' });
    }
    // A country that nobody knows the numbers of.
    if (error instanceof RangeError) throw new InputError(error.message, { cause: error, field: 'country' });
    throw error;
  }
}
