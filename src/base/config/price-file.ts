import { readFileSync } from 'node:fs';
import { type PriceList, parsePrice } from '../../campaign/limits/price.js';
import { CsvReader, type CsvRecord, dialectOf } from '../../campaign/lists/csv-records.js';
import type { ConfigOptions } from './environment.js';
import { textOfFile } from './file-problem.js';
import type { Reading } from './read-settings.js';

/** Problems of a price file that are reported: the others are usually alike. */
const MAX_PROBLEMS = 10;
/** Spreadsheets lose the plus of a number, and write spaces into it. */
const PREFIX = /^\+?([1-9]\d{0,14})$/;

/**
 * The prices of `PRICE_PER_SEGMENT` and `PRICE_FILE`; undefined if neither is set. Problems are added to `reading`.
 */
export function readPrices(
  { settings, problems }: Reading,
  { readFile = (path) => readFileSync(path, 'utf8') }: Pick<ConfigOptions, 'readFile'>,
): PriceList | undefined {
  const { PRICE_PER_SEGMENT: standard, PRICE_FILE: file } = settings;
  if (file === undefined)
    return standard && { currency: standard.currency, standard: standard.micros, prefixes: new Map() };
  const contents = textOfFile('PRICE_FILE', file, readFile, problems);
  if (contents === undefined) return undefined;
  const read = readPriceFile(contents, standard?.currency);
  const lines = read.problems.map((problem) => `PRICE_FILE ${file}${problem}`);
  problems.push(...lines.slice(0, MAX_PROBLEMS));
  if (lines.length > MAX_PROBLEMS)
    problems.push(`PRICE_FILE ${file}: ${lines.length - MAX_PROBLEMS} more lines are invalid`);
  const { currency, prefixes } = read;
  return lines.length > 0 || currency === undefined
    ? undefined
    : { currency, standard: standard?.micros, prefixes };
}

/** The rows of a price file. Each problem continues the name of the file. */
function readPriceFile(contents: string, expected: string | undefined) {
  const problems: string[] = [];
  const prefixes = new Map<string, number>();
  const lines = new Map<string, number>();
  let currency = expected;
  let currencyFrom = 'PRICE_PER_SEGMENT';
  const result = () => ({ problems, prefixes, currency });
  const [header, ...rows] = recordsOf(contents, problems);
  const columns = header?.fields.map((name) => name.trim().toLowerCase()) ?? [];
  const [prefixAt, priceAt, currencyAt] = ['prefix', 'price', 'currency'].map((name) =>
    columns.indexOf(name),
  );
  if (prefixAt === undefined || priceAt === undefined || prefixAt === -1 || priceAt === -1) {
    if (problems.length === 0)
      problems.push(', line 1: must be a header with the columns "prefix" and "price"');
    return result();
  }
  if (rows.length === 0 && problems.length === 0)
    problems.push(': has no rows below its header; add one such as +44,0.042 EUR');
  for (const { line, fields } of rows) {
    const report = (problem: string): void => void problems.push(`, line ${line}: ${problem}`);
    const written = fields[prefixAt]?.replace(/[\s().-]/g, '') ?? '';
    const prefix = PREFIX.exec(written)?.[1];
    if (prefix === undefined) {
      report(
        written === ''
          ? 'the prefix is empty; for all other numbers, set PRICE_PER_SEGMENT'
          : `the prefix must be the first digits of an international number, such as +44; it is ${shown(fields[prefixAt])}`,
      );
      continue;
    }
    const currencyOfRow = currencyAt === undefined || currencyAt === -1 ? '' : (fields[currencyAt] ?? '');
    const text = `${fields[priceAt] ?? ''} ${currencyOfRow}`;
    const price = parsePrice(text);
    if (typeof price === 'string') {
      report(`the price ${price}; it is ${shown(text)}`);
      continue;
    }
    if (currency === undefined) [currency, currencyFrom] = [price.currency, `line ${line}`];
    const earlier = lines.get(prefix);
    if (price.currency !== currency)
      report(
        `the price is in ${price.currency}, but that of ${currencyFrom} is in ${currency}; use one currency`,
      );
    else if (earlier !== undefined && prefixes.get(prefix) !== price.micros)
      report(`the prefix +${prefix} has another price in line ${earlier}`);
    else if (earlier === undefined) {
      prefixes.set(prefix, price.micros);
      lines.set(prefix, line);
    }
  }
  return result();
}

const shown = (text = ''): string => JSON.stringify(text.trim().slice(0, 40));

/** The records that are not empty, each with the line where it begins. */
function recordsOf(contents: string, problems: string[]): readonly CsvRecord[] {
  const dialect = dialectOf(contents);
  const records = new CsvReader(dialect).read(contents.slice(dialect.skipped.length), true);
  for (const { line, fault } of records)
    if (fault !== undefined) problems.push(`, line ${line} ${fault.text(`field ${fault.at + 1}`)}`);
  return records.filter(
    ({ fields, fault }) => fault === undefined && fields.some((field) => field.trim() !== ''),
  );
}
