/*
 * Files that people mistake for a CSV file, by how they begin: what such a file is, and how to make a list of it.
 */

/** How much of a file shows its format. */
export const FORMAT_BYTES = 64;

const EXCEL = 'In Excel, save it as "CSV UTF-8"';
const AGAIN = 'Export the list again, as CSV';

/** The first characters of a file, each a byte, and what it is. Those of texts come in {@link TEXTS}: a message may begin like them. */
const BINARY: readonly (readonly [start: string, is: string, advice: string])[] = [
  ['\xd0\xcf\x11\xe0', 'an Excel workbook of an old version (.xls)', EXCEL],
  ['\x1f\x8b', 'compressed with gzip', 'Decompress it'],
  ['BZh', 'compressed with bzip2', 'Decompress it'],
  ['\xfd7zXZ\0', 'compressed with xz', 'Decompress it'],
  ['\x28\xb5\x2f\xfd', 'compressed with zstd', 'Decompress it'],
  ["7z\xbc\xaf'\x1c", 'a 7z archive', 'Unpack it, and use the CSV file in it'],
  ['Rar!\x1a', 'a RAR archive', 'Unpack it, and use the CSV file in it'],
  ['%PDF', 'a PDF', AGAIN],
  ['\x89PNG', 'an image', AGAIN],
  ['\xff\xd8\xff', 'an image', AGAIN],
  ['SQLite format 3\0', 'an SQLite database', AGAIN],
  ['PAR1', 'a Parquet file', AGAIN],
];

/** Files in ZIP archives, by the names at their beginning. */
const ZIPPED: readonly (readonly [name: RegExp, is: string, advice: string])[] = [
  [/vnd\.oasis/, 'an OpenDocument file (.ods)', 'In LibreOffice, save it as "Text CSV" in UTF-8'],
  [/Index\/|\.iwa|preview.*\.jpg/, 'a Numbers document', 'In Numbers, export it to CSV'],
  [/\[Content_Types\]|_rels\/|docProps\/|xl\//, 'an Excel workbook (.xlsx)', EXCEL],
  [/^/, 'a ZIP archive', 'Unpack it, and use the CSV file in it'],
];

const TEXTS: readonly (readonly [start: RegExp, is: string, advice: string])[] = [
  [
    /^(?:<!doctype|<html|<head|<body|<table|<\?xml|<workbook)/i,
    'a web page or XML',
    `If it opens in Excel, save it there as "CSV UTF-8". Otherwise, export the list again, as CSV`,
  ],
  [/^\{\\rtf/, 'a text document (RTF)', AGAIN],
  [/^BEGIN:VCARD/i, 'a file of contacts (vCard)', 'Export the contacts as CSV'],
  [/^[[{]\s*["{[]/, 'JSON', AGAIN],
];

/** Says what a file is that begins with these bytes, if it is no text, and what to do; undefined if it may be one. */
export function binaryFormat(head: Uint8Array): string | undefined {
  const start = String.fromCharCode(...head.subarray(0, FORMAT_BYTES));
  const found = start.startsWith('PK\x03\x04')
    ? ZIPPED.find(([name]) => name.test(start))
    : BINARY.find(([beginning]) => start.startsWith(beginning));
  return found && sentence(found[1], found[2]);
}

/** The same for a text in UTF-8 that is not CSV. */
export function textFormat(text: string): string | undefined {
  const start = text.slice(0, FORMAT_BYTES).trimStart();
  const found = TEXTS.find(([beginning]) => beginning.test(start));
  return found && sentence(found[1], found[2]);
}

const sentence = (is: string, advice: string): string => `This file is ${is}, not CSV. ${advice}.`;
