import type { LocalConfig } from '../../base/config/index.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import type { ListKind } from '../../campaign/errors/error-item.js';
import { InputError } from '../../campaign/errors/errors.js';
import type { LaneOutlook } from '../../campaign/estimate/lane-outlook.js';
import { COMPARED_MEMBERS, storedFieldsOf } from '../../campaign/fields/field-sets.js';
import type { ResultsOf } from '../../campaign/fields/results-of.js';
import { LimitError, refusedText } from '../../campaign/limits/check-limits.js';
import type { PriceList } from '../../campaign/limits/price.js';
import { compileTemplate, likelyPlaceholders, type Template } from '../../campaign/text/template.js';
import type { InvalidRow, Preview, RepeatedRow } from '../../campaign/views/preview-views.js';
import type { Lane } from '../../engine/lane/lane.js';
import type { LeftOutRow } from '../../engine/recipients/left-out.js';
import type { StoredRecipient } from '../../engine/recipients/slices.js';
import type { Suppression } from '../../engine/suppression/suppression.js';
import type { CampaignInput, CheckedCampaign, CsvStream } from './campaign-input.js';
import { readCsv } from './csv/read-csv.js';
import { previewBuilder } from './preview.js';
import { rowsOfObjects } from './read-objects.js';
import { rowsOfResults } from './read-results-of.js';
import {
  type CheckedRow,
  type CheckedRows,
  checkRows,
  type Duplicates,
  invalidRowOf,
} from './rows/check-rows.js';
import { campaignDigest, contentDigest } from './rows/content-digest.js';
import { mapRows, type Row, type Rows } from './rows/rows.js';
import { unusedMembers, unusedTimes } from './rows/unused-members.js';
import type { SentComparison } from './sent-before.js';

/** A list with known columns and the message compiled for them. It can be read once. */
export interface OpenList {
  readonly list: CheckedRows;
  readonly template: Template;
  readonly duplicates: Duplicates;
  readonly prices: PriceList | undefined;
}

/** Where lists come from. */
export interface ListDeps {
  readonly config: LocalConfig;
  /** Where the results of a campaign are; undefined: Redis is not known. */
  readonly redis?: Redis | undefined;
  readonly keys?: Keys | undefined;
}

/** Opens the list. Throws an InputError for an unusable list, and for a message that does not fit its columns. */
export async function openList(deps: ListDeps, campaign: Omit<CheckedCampaign, 'lane'>): Promise<OpenList> {
  const { recipients, toResultsOf } = campaign;
  const { config } = deps;
  const rows =
    toResultsOf === undefined
      ? await rowsOf(recipients, campaign.signal)
      : await resultsOf(deps, toResultsOf);
  const compiled = compileTemplate(campaign.message, rows.columns);
  if (!compiled.ok) {
    rows.close();
    const reason = [compiled.reason, ...(rows.lacksBecause === undefined ? [] : [rows.lacksBecause])];
    throw new InputError(reason.join(' '), { field: 'message' });
  }
  const { template } = compiled;
  const { limits } = campaign;
  const long = template.placeholders.length > 0 ? null : refusedText(limits, () => template.text);
  if (long !== null) {
    rows.close();
    throw new LimitError(`each recipient ${long.reason}`, { ...long, field: 'message' });
  }
  // A campaign has a number twice only if its producer chose to keep both texts.
  const usual = toResultsOf === undefined ? (isCsv(recipients) ? 'first' : 'refuse') : 'keep';
  const duplicates = campaign.duplicates ?? usual;
  // A name in other braces has a warning of its own.
  const meant = likelyPlaceholders(template.text, rows.columns).map((likely) => likely.meant);
  const used = [...template.placeholders, ...meant, campaign.toColumn, campaign.countryColumn].filter(
    (name) => name !== undefined,
  );
  const isObjects = toResultsOf === undefined && !isCsv(recipients);
  const members = isObjects ? unusedMembers(rows.columns, used) : undefined;
  const list = await checkRows(members === undefined ? rows : seenBy(members, rows), {
    // Objects have their number in `to`; in a file the column has to be found.
    toColumn: campaign.toColumn ?? (isCsv(recipients) ? undefined : (rows.numberColumn ?? 'to')),
    countryColumn: campaign.countryColumn,
    findsCountries: isCsv(recipients) && campaign.findsCountries !== false,
    defaultCountry: campaign.country,
    numberKinds: config.numberKinds,
    template,
    duplicates,
    limits,
  });
  const unused = (): string[] => members?.warnings() ?? unusedTimes(rows.columns, used);
  const warnings = (): string[] => [...list.warnings(), ...unused()];
  return { list: { ...list, warnings }, template, duplicates, prices: config.prices };
}

/** The same rows, whose members are checked as they are read. */
function seenBy(members: ReturnType<typeof unusedMembers>, rows: Rows): Rows {
  const see = (row: Row): Row => {
    members.see(row);
    return row;
  };
  return { ...rows, batches: mapRows([], rows.batches, see, rows.close) };
}

/** The rows of a file, or of objects. */
export function rowsOf(recipients: CampaignInput['recipients'] = [], signal?: AbortSignal): Promise<Rows> {
  if (!isCsv(recipients)) return rowsOfObjects(recipients);
  return readCsv(typeof recipients === 'string' ? recipients : recipients.csv, signal);
}

function resultsOf({ redis, keys }: ListDeps, wanted: ResultsOf): Promise<Rows> {
  if (redis !== undefined && keys !== undefined) return rowsOfResults({ redis, keys }, wanted);
  throw new InputError('the results of a campaign are in Redis, which is not there', {
    field: 'toResultsOf',
  });
}

/** Whether the rows of a list have lines, as those of a file do; those of an array have positions. */
export function isCsv(recipients: CampaignInput['recipients']): recipients is string | CsvStream {
  return typeof recipients === 'string' || (typeof recipients === 'object' && 'csv' in recipients);
}

/** What the list of a campaign is. */
export function listKind({
  recipients,
  toResultsOf,
}: Pick<CampaignInput, 'recipients' | 'toResultsOf'>): ListKind {
  if (toResultsOf !== undefined) return 'results';
  return isCsv(recipients) ? 'csv' : 'array';
}

/** How old the state of the lane may be when the time of a campaign is estimated. */
const CURRENT_MS = 1_000;

/** How to read a list. */
export interface ReadOptions {
  readonly campaign: Omit<CheckedCampaign, 'lane'>;
  /** The current time, ms since the epoch. */
  readonly now: number;
  /** `outlook`: null if it is not known. */
  readonly lane: Pick<Lane, 'id' | 'name' | 'rules' | 'monotonic'> & {
    outlook(): Promise<LaneOutlook | null>;
  };
  /** Null: it is not known which numbers are suppressed. */
  readonly suppression: Pick<Suppression, 'count' | 'areSuppressed'> | null;
  /** Called with the recipients of each batch, and for each of them whether it is suppressed, and what its message costs, in micros. */
  onRecipients?(
    recipients: readonly StoredRecipient[],
    suppressed: readonly boolean[],
    costs: readonly number[],
  ): Promise<void>;
  /** Called with the rows of each batch that are left out, because they are invalid or have the number of an earlier row. */
  onLeftOut?(rows: readonly LeftOutRow[]): Promise<void>;
  onInvalid?: CampaignInput['onInvalid'];
  /** Compares the recipients with earlier campaigns; undefined: nothing is compared. */
  readonly comparison?: SentComparison | undefined;
  /**
   * Called when all rows have been read, with `content` of {@link ListSummary}, and with their counts. It may still be unknown which numbers
   * of the last batch are suppressed, and its recipients have not been passed to `onRecipients`.
   */
  onRead?(content: string | null, counts: ReturnType<CheckedRows['counts']>): void;
}

/** The result of reading a list. */
export interface ListSummary {
  readonly preview: Preview;
  /**
   * Digest of the recipients as far as the message uses them, of the message, and of the sender: equal content is sent alike. Null if all are left
   * out because they get the text already: that can be repeated.
   */
  readonly content: string | null;
  /**
   * The same with the references, and with those who get the text already: a request with the idempotency key of another is the same only if
   * they are equal.
   */
  readonly fingerprint: string;
}

/** Reads a list once, batch by batch: memory does not grow with it, except for what detects duplicates. */
export async function readList(
  { list, template, duplicates, prices }: OpenList,
  options: ReadOptions,
): Promise<ListSummary> {
  const { campaign, lane, suppression, comparison } = options;
  const { sender, senderName = '', signal } = campaign;
  const preview = previewBuilder(template, { ...options, prices });
  const used = template.placeholders.map((name) => list.columns.indexOf(name));
  const digest = contentDigest(JSON.stringify([sender, senderName, template.text]), used);
  // Lapsing depends on when the messages are sent, and is a warning.
  const isEstimated =
    campaign.partial !== true && (campaign.estimate === true || campaign.validFor !== undefined);
  // Read at the same time: most lists are short.
  const early = { outlook: isEstimated ? lane.outlook() : null, at: lane.monotonic() };
  early.outlook?.catch(() => {});
  const counts = (): ReturnType<CheckedRows['counts']> => {
    const read = list.counts();
    const leftOut = comparison?.leftOut() ?? 0;
    return { ...read, recipientCount: read.recipientCount - leftOut, duplicates: read.duplicates + leftOut };
  };
  const content = (): string | null =>
    comparison?.leftOut() && counts().recipientCount === 0 ? null : digest.content();
  // A number that is suppressed while the list is read is left out later, when its batch is claimed.
  // Most lists have a single batch, whose check costs no more than asking whether any number is suppressed.
  let counted: Promise<number> | undefined;
  let isFirst = true;
  let bytes = 0;
  for await (const { batch, isLast } of withLast(list.batches)) {
    signal?.throwIfAborted();
    if (list.bytes() > bytes) {
      bytes = list.bytes();
      await campaign.onMemory?.(bytes);
    }
    const rows = comparison === undefined ? batch : batch.map(comparison.sift);
    const valid = rows.filter((row) => row.kind === 'recipient');
    if (!isFirst) counted ??= suppression?.count(lane.id);
    const isChecked = isFirst || ((await counted) ?? 0) > 0;
    isFirst = false;
    const checking = isChecked
      ? suppression?.areSuppressed(
          lane.id,
          valid.map(({ number }) => number),
        )
      : undefined;
    // If a callback throws before it is awaited.
    checking?.catch(() => {});
    digest.add(
      batch.filter((row) => row.kind === 'recipient'),
      valid,
    );
    if (isLast) options.onRead?.(content(), counts());
    const suppressed = (await checking) ?? [];
    const costs = valid.map((row, at) => {
      const isSuppressed = suppressed[at] === true;
      if (!isSuppressed) comparison?.see(row);
      return preview.addRecipient(row, isSuppressed);
    });
    const recipients = valid.map(({ number, values, reference }) => ({
      number,
      values: used.map((position) => values[position] ?? ''),
      reference,
    }));
    await options.onRecipients?.(recipients, suppressed, costs);
    const leftOut: LeftOutRow[] = [];
    for (const row of rows) {
      if (row.kind === 'invalid') {
        const { kind, line, number, reference, code } = row;
        const inFull = (): InvalidRow => invalidRowOf(row, listKind(campaign));
        preview.addInvalid(row, list.columns, inFull);
        options.onInvalid?.(inFull(), list.columns);
        if (options.onLeftOut !== undefined)
          leftOut.push({ kind, line, number, reference, code, column: positionOf(row.column, list.columns) });
        continue;
      }
      if (typeof row.firstLine === 'number') preview.addRepeated(repeatOf(row, row.firstLine));
      if (row.kind === 'duplicate') leftOut.push(row);
    }
    if (leftOut.length > 0) await options.onLeftOut?.(leftOut);
  }
  const isCurrent = lane.monotonic() - early.at < CURRENT_MS;
  const outlook = isEstimated ? await (isCurrent ? early.outlook : lane.outlook()) : null;
  const fingerprint = digest.fingerprint();
  return {
    preview: {
      ...preview.build({ ...list, counts }, duplicates, outlook, suppression !== null),
      sentBefore: comparison?.result() ?? null,
      digest: campaign.partial === true ? null : campaignDigest(fingerprint, settingsOf(campaign, lane)),
    },
    content: content(),
    fingerprint,
  };
}

/** The settings in which a campaign must agree with its preview: those in which repeated requests must. */
function settingsOf(campaign: ReadOptions['campaign'], { name }: Pick<Lane, 'name'>): unknown[] {
  const stored = storedFieldsOf({ ...campaign, lane: name, name: '' });
  return COMPARED_MEMBERS.map(({ member }) => stored[member] ?? null);
}

/** Where the column at fault is. Objects may have a reference without a column for it. */
function positionOf(column: string | null, columns: readonly string[]): number | 'reference' | null {
  const position = column === null ? null : columns.indexOf(column);
  return position === -1 ? 'reference' : position;
}

/** The batches of a list, and whether each is the last one. */
async function* withLast<Batch>(
  batches: AsyncIterable<Batch>,
): AsyncGenerator<{ readonly batch: Batch; readonly isLast: boolean }> {
  let held: Batch | undefined;
  for await (const batch of batches) {
    if (held !== undefined) yield { batch: held, isLast: false };
    held = batch;
  }
  if (held !== undefined) yield { batch: held, isLast: true };
}

function repeatOf(row: CheckedRow & { kind: 'recipient' | 'duplicate' }, firstLine: number): RepeatedRow {
  const isSameText = row.kind === 'duplicate' && row.isSameText;
  return { line: row.line, firstLine, to: row.number, text: isSameText ? 'same' : 'different' };
}
