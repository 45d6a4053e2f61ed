import type { CsvRecord } from '../../../campaign/lists/csv-records.js';
import { fieldReader, numberColumnOf } from '../../../campaign/lists/own-files.js';
import type { SheetChoice } from '../excel/limits.js';
import { refuseTitle } from './number-column.js';
import { inRowBatches, ListError, MAX_FIELD_LENGTH, mapRows, type Row, type Rows, tooLong } from './rows.js';

/** As many as a spreadsheet can have. */
const MAX_COLUMNS = 16_384;

/** A record of a file. */
export interface FileRecord extends CsvRecord {
  /** Why a field cannot be used, by its position. */
  readonly unusable?: Row['unusable'];
}

/** How records are read as rows. */
interface UnderHeader {
  /** Of the file. Without a line of the header, the first record may be a title, which is refused. */
  readonly choice: SheetChoice | undefined;
  /** Whether records lack the fields at their end that are empty, as those of a sheet do. */
  readonly arePadded?: boolean;
  close(): void;
}

/**
 * The rows below the first record, which is the header. Column names are trimmed; fields are not. Delimiters behind the last column mean nothing,
 * and columns of the same name get their positions as a part of it. Throws a {@link ListError} for a header that names no columns.
 */
export async function rowsUnderHeader(
  portions: AsyncIterable<readonly FileRecord[]>,
  { choice, arePadded = false, close }: UnderHeader,
): Promise<Rows> {
  const batches = inRowBatches(portions);
  const first = await batches.next();
  const [header, ...records] = first.done === true ? [] : first.value;
  if (header === undefined)
    throw new ListError('The file is empty. It needs a header line and at least one row.');
  const names = columnNames(header, choice?.headerLine === undefined ? records : [], choice !== undefined);
  const readField = fieldReader(names);
  const columns = readField === undefined ? names : names.map(readField);
  const width = header.fields.length;
  const rowOf = (record: FileRecord): Row =>
    rowOfRecord(arePadded ? padded(record, columns.length) : record, columns, width, readField);
  return {
    columns,
    numberColumn: numberColumnOf(columns),
    batches: mapRows(records, batches, rowOf, close),
    close,
  };
}

function padded(record: FileRecord, width: number): FileRecord {
  const { fields } = record;
  if (fields.length >= width) return record;
  return { ...record, fields: [...fields, ...Array.from({ length: width - fields.length }, () => '')] };
}

/** `width`: how many columns the header has, including those without a name. */
function rowOfRecord(
  { line, row, fields: raw, fault, lines, unusable }: FileRecord,
  columns: readonly string[],
  width: number,
  readField: ((field: string) => string) | undefined,
): Row {
  const fields = readField === undefined ? raw : raw.map(readField);
  const named = fields.length > columns.length ? withoutBlankEnd(fields, columns.length) : fields;
  const problem = fault?.text(fieldName(fault.at, columns)) ?? faultOf(named, columns, width);
  return {
    line,
    row,
    fields: named,
    fault: problem === null ? null : `${problem}${spannedLines(line, lines)}`,
    ...(lines && { lines }),
    ...(unusable && { unusable }),
  };
}

/** Which lines a row consists of, if there are several: others may be among them by mistake. */
function spannedLines(line: number, lines: CsvRecord['lines']): string {
  return lines === undefined ? '' : `; because of its quotes, it ends on line ${line + lines.length - 1}`;
}

/** What is wrong with a row as a whole; null if nothing is. */
function faultOf(fields: readonly string[], columns: readonly string[], width: number): string | null {
  const count = fields.length;
  if (count !== columns.length) {
    if (count <= width && count > columns.length)
      return `has a value in ${fieldName(count - 1, columns)}, but that column has no name; name it in the header, or delete it`;
    const advice = count > columns.length ? '; put a field that contains the delimiter in quotes' : '';
    return `has ${count} ${count === 1 ? 'field' : 'fields'}, but the header has ${columns.length}${advice}`;
  }
  for (let at = 0; at < count; at++) {
    const field = fields[at] ?? '';
    if (field.length > MAX_FIELD_LENGTH)
      return `has a field in ${fieldName(at, columns)} that ${tooLong(field)}`;
  }
  return null;
}

/** Without the blank fields behind the last column: programs write a delimiter at the end of each row. */
function withoutBlankEnd(fields: readonly string[], count: number): readonly string[] {
  let end = fields.length;
  while (end > count && fields[end - 1]?.trim() === '') end -= 1;
  return fields.slice(0, end);
}

const fieldName = (at: number, columns: readonly string[]): string =>
  columns[at] === undefined ? `field ${at + 1}` : `column ${JSON.stringify(columns[at])}`;

/** The names of the columns in a header. `records`: those below it, which may show that it is another line. */
function columnNames(
  { line, fields, fault }: FileRecord,
  records: readonly FileRecord[],
  takesHeaderLine: boolean,
): readonly string[] {
  if (fault !== undefined)
    throw new ListError(`Line ${line}, the header, ${fault.text(`field ${fault.at + 1}`)}.`);
  const all = fields.map((name) => name.trim());
  if (all.length > MAX_COLUMNS) {
    throw new ListError(
      `Line ${line}: the header has ${all.length} columns; the maximum is ${MAX_COLUMNS}. Check the delimiter.`,
    );
  }
  const long = all.findIndex((name) => name.length > MAX_FIELD_LENGTH);
  if (long !== -1)
    throw new ListError(
      `Line ${line}: the name of column ${long + 1} ${tooLong(all[long] ?? '')}. Check the delimiter.`,
    );
  const names = withoutBlankEnd(all, 1);
  refuseTitle(line, names, records, takesHeaderLine);
  const nameless = names.indexOf('');
  if (nameless !== -1) {
    throw new ListError(
      `Line ${line}, the header: column ${nameless + 1} has no name. Name it or delete the column.`,
    );
  }
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const unique = names.map((name, at) => ((counts.get(name) ?? 0) > 1 ? `${name} (column ${at + 1})` : name));
  const taken = new Set<string>();
  const repeated = unique.find((name) => taken.size === taken.add(name).size);
  if (repeated !== undefined)
    throw new ListError(
      `Line ${line}: two columns are named ${JSON.stringify(repeated)}. Rename one of them.`,
    );
  return unique;
}
