/*
 * Files that people mistake for a CSV file, by how they begin: what such a file is, and how to make a list of it.
 */

/** How much of a file shows its format. */
export const FORMAT_BYTES = 64;
/** Bytes of a workbook at most, compressed as it is. */
export const MAX_WORKBOOK_BYTES = 20_000_000;

const EXCEL = 'In Excel, save it as "CSV UTF-8"';
/** What is wrong with a workbook that has more. */
export const WORKBOOK_TOO_LONG = `The limit for an Excel workbook is ${MAX_WORKBOOK_BYTES / 1_000_000} MB. ${EXCEL}, which may be longer.`;
const OLD = 'In Excel, save it without a password, as an Excel workbook (.xlsx)';
/** How a file with a password names what it contains, somewhere in it: it is of the same kind as an old workbook. */
const ENCRYPTED = [...'EncryptedPackage'].join('\0');
const AGAIN = 'Export the list again, as CSV';

/** The first characters of a file, each a byte, and what it is. Those of texts come in {@link TEXTS}: a message may begin like them. */
const BINARY: readonly (readonly [start: string, is: string, advice: string])[] = [
  ['\xd0\xcf\x11\xe0', 'an Excel workbook of an old version (.xls), or with a password', OLD],
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

/** The parts that a workbook may begin with. */
const WORKBOOK = /\[Content_Types\]|_rels\/|docProps\/|docMetadata\/|customXml\/|xl\//;
/** Files in ZIP archives, by the names at their beginning. */
const ZIPPED: readonly (readonly [name: RegExp, is: string, advice: string])[] = [
  [/vnd\.oasis/, 'an OpenDocument file (.ods)', 'In LibreOffice, save it as "Text CSV" in UTF-8'],
  [/Index\/|\.iwa|preview.*\.jpg/, 'a Numbers document', 'In Numbers, export it to CSV'],
  [WORKBOOK, 'an Excel workbook (.xlsx)', EXCEL],
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

const ZIP = 'PK\x03\x04';
const startOf = (head: Uint8Array, length = FORMAT_BYTES): string =>
  Array.from(head.subarray(0, length), (byte) => String.fromCharCode(byte)).join('');

/** Whether a file that begins with these bytes is an Excel workbook (.xlsx), which lists may be. */
export function isWorkbook(head: Uint8Array): boolean {
  const start = startOf(head);
  return start.startsWith(ZIP) && ZIPPED.find(([name]) => name.test(start))?.[0] === WORKBOOK;
}

/** Says what a file is that begins with these bytes, if it is no text, and what to do; undefined if it may be one. */
export function binaryFormat(head: Uint8Array): string | undefined {
  const start = startOf(head);
  const found = start.startsWith(ZIP)
    ? ZIPPED.find(([name]) => name.test(start))
    : BINARY.find(([beginning]) => start.startsWith(beginning));
  if (found === BINARY[0] && startOf(head, head.length).includes(ENCRYPTED))
    return sentence('an Excel workbook with a password', 'In Excel, remove the password, and save it again');
  return found && sentence(found[1], found[2]);
}

/** The same for a text in UTF-8 that is not CSV. */
export function textFormat(text: string): string | undefined {
  const start = text.slice(0, FORMAT_BYTES).trimStart();
  const found = TEXTS.find(([beginning]) => beginning.test(start));
  return found && sentence(found[1], found[2]);
}

const sentence = (is: string, advice: string): string => `This file is ${is}, not CSV. ${advice}.`;
