import { CsvError, Parser } from 'csv-parse';
import { ListError } from './list-error.js';
import type { Row } from './row.js';

const ROWS_IN_A_BATCH = 1000;

/** A longer row is taken for a quote that was never closed, before it fills the memory. */
const LONGEST_ROW_BYTES = 1_000_000;

/**
 * Collects csv-parse's records into batches, each record with the line where it begins. The parser itself tells only
 * where a record ends, by its `info` option, and that takes two and a half times as long: 8.5 s of processor time for
 * a million rows, where this takes 3.4.
 */
export class CsvRecords extends Parser {
  #batch: Row[] = [];
  #records = 0;
  #linesInFields = 0;
  readonly #firstLine: number;

  constructor(delimiter: string, firstLine: number) {
    super({
      delimiter,
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      max_record_size: LONGEST_ROW_BYTES,
    });
    this.#firstLine = firstLine;
  }

  /** Line where the record after those collected so far begins. */
  get line(): number {
    return this.#firstLine + this.#records + this.info.empty_lines + this.#linesInFields;
  }

  override push(record: readonly string[] | null): boolean {
    if (record === null) {
      if (this.#batch.length > 0) super.push(this.#batch);
      return super.push(null);
    }
    this.#batch.push({ line: this.line, fields: record, fault: null });
    this.#records += 1;
    for (const field of record) this.#linesInFields += lineBreaks(field);
    if (this.#batch.length < ROWS_IN_A_BATCH) return true;
    const full = this.#batch;
    this.#batch = [];
    return super.push(full);
  }
}

/** Batches of rows that have any content, the header among them. Throws a {@link ListError} for a quote never closed. */
export async function* recordsOf(parser: CsvRecords): AsyncGenerator<readonly Row[]> {
  const batches: AsyncIterable<readonly Row[]> = parser;
  try {
    for await (const batch of batches) {
      const rows = batch.filter(hasContent);
      if (rows.length > 0) yield rows;
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const advice = 'close it, or write it twice if it belongs to the text';
    throw new ListError(`Line ${parser.line}: a quote is opened in this row and never closed; ${advice}.`);
  }
}

/** Spreadsheets leave rows of nothing but delimiters behind. */
function hasContent(row: Row): boolean {
  return row.fields.some((field) => field.trim() !== '');
}

function lineBreaks(field: string): number {
  return field.includes('\n') || field.includes('\r') ? field.split(/\r\n|\n|\r/).length - 1 : 0;
}
