import { SaxesParser } from 'saxes';
import { type Archive, NOT_READABLE } from './archive.js';
import { WorkbookError } from './limits.js';

/*
 * The parts of a workbook beside its sheets (ECMA-376, part 1, section 18): which sheets there are, the texts that cells share, and the
 * formats of cells. Names are read without their prefixes, because programs choose different ones.
 */

/** What happens in an XML document. Names have no prefixes; attributes keep theirs. */
interface Events {
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  close?(name: string): void;
  text?(text: string): void;
}

const withoutPrefix = (name: string): string => name.slice(name.indexOf(':') + 1);

/** Reads a part of a workbook. Throws a {@link WorkbookError} if it is not XML. */
export async function readPart(archive: Archive, part: string, events: Events): Promise<void> {
  const parser = new SaxesParser({ xmlns: false });
  parser.on('error', (error) => {
    throw new WorkbookError(NOT_READABLE, { cause: error });
  });
  parser.on('opentag', ({ name, attributes }) => events.open?.(withoutPrefix(name), attributes));
  parser.on('closetag', ({ name }) => events.close?.(withoutPrefix(name)));
  parser.on('text', (text) => events.text?.(text));
  parser.on('cdata', (text) => events.text?.(text));
  for await (const chunk of archive.read(part)) parser.write(chunk);
  parser.close();
}

/** A sheet of a workbook. */
interface SheetPart {
  readonly name: string;
  readonly part: string;
  readonly isHidden: boolean;
}

/** What the rows of a sheet need. */
export interface Workbook {
  readonly sheets: readonly SheetPart[];
  /** Whether its dates count from 1904. */
  readonly is1904: boolean;
  /** The texts that cells share. */
  readonly strings: readonly string[];
  /** The number format of each cell style. */
  readonly formats: readonly string[];
}

/** Reads what there is in a workbook. Throws a {@link WorkbookError} if it is none, or is one in another format. */
export async function readWorkbookParts(archive: Archive): Promise<Workbook> {
  const [[book] = []] = [await targetsOf(archive, '', 'officeDocument')];
  const part = book?.part ?? 'xl/workbook.xml';
  if (part.endsWith('.bin'))
    throw new WorkbookError(
      'This file is a binary Excel workbook (.xlsb). In Excel, save it as an Excel workbook (.xlsx).',
    );
  const targets = await targetsOf(archive, part);
  const found: { name: string; id: string; isHidden: boolean }[] = [];
  let is1904 = false;
  await readPart(archive, part, {
    open(name, attributes) {
      if (name === 'workbookPr') is1904 = /^(?:1|true)$/.test(attributes['date1904'] ?? '');
      if (name !== 'sheet') return;
      const id = Object.entries(attributes).find(([key]) => key.endsWith(':id'))?.[1] ?? '';
      const isHidden = /hidden/i.test(attributes['state'] ?? '');
      found.push({ name: attributes['name'] ?? '', id, isHidden });
    },
  });
  // A sheet may also be a chart.
  const sheets = found.flatMap(({ name, id, isHidden }) => {
    const target = targets.find((each) => each.id === id && each.type === 'worksheet');
    return target === undefined ? [] : [{ name, isHidden, part: target.part }];
  });
  const partOf = (type: string) => targets.find((each) => each.type === type)?.part;
  return {
    sheets,
    is1904,
    strings: await stringsIn(archive, partOf('sharedStrings')),
    formats: await formatsIn(archive, partOf('styles')),
  };
}

/** What a part refers to; of one type, or all. */
async function targetsOf(archive: Archive, part: string, only?: string) {
  const [, folder = '', file = ''] = /^(.*\/)?([^/]*)$/.exec(part) ?? [];
  const relations = `${folder}_rels/${file}.rels`;
  const targets: { id: string; type: string; part: string }[] = [];
  if (!archive.has(relations)) return targets;
  await readPart(archive, relations, {
    open(name, { Id: id = '', Type: type = '', Target: target = '' }) {
      const kind = type.slice(type.lastIndexOf('/') + 1);
      if (name !== 'Relationship' || (only !== undefined && kind !== only)) return;
      const path = new URL(target, `file:///${folder}`).pathname.slice(1);
      targets.push({ id, type: kind, part: decodeURIComponent(path) });
    },
  });
  return targets;
}

/** Collects the text of `t` elements, without phonetic hints. */
export function textCollector() {
  let [text, isText, isHint] = ['', false, false];
  return {
    open(name: string): void {
      if (name === 't') isText = !isHint;
      else if (name === 'rPh') isHint = true;
    },
    close(name: string): void {
      if (name === 't') isText = false;
      else if (name === 'rPh') isHint = false;
    },
    add(more: string): void {
      if (isText) text += more;
    },
    /** The text so far, which is forgotten. */
    take(): string {
      const taken = withoutEscapes(text);
      text = '';
      return taken;
    },
  };
}

/** How workbooks write characters that XML cannot have, and an underscore before such a code. */
const ESCAPED = /_x([\dA-Fa-f]{4})_/g;
const unescaped = (_: string, code: string): string => String.fromCharCode(Number.parseInt(code, 16));
/** A text as a person sees it. */
export const withoutEscapes = (text: string): string =>
  text.includes('_x') ? text.replace(ESCAPED, unescaped) : text;

async function stringsIn(archive: Archive, part: string | undefined): Promise<string[]> {
  const strings: string[] = [];
  if (part === undefined) return strings;
  const collector = textCollector();
  await readPart(archive, part, {
    open: collector.open,
    text: collector.add,
    close(name) {
      collector.close(name);
      if (name === 'si') strings.push(collector.take());
    },
  });
  return strings;
}

/** Formats that files name by a number alone (section 18.8.30), with a date for those of other languages. */
const BUILT_IN: readonly (readonly [ids: readonly number[], format: string])[] = [
  [[1], '0'],
  [[2], '0.00'],
  [[3, 37, 38], '#,##0'],
  [[4, 39, 40, 43, 44], '#,##0.00'],
  [[5, 6, 41, 42], '#,##0'],
  [[7, 8], '#,##0.00'],
  [[9], '0%'],
  [[10], '0.00%'],
  [[11], '0.00E+00'],
  [[12], '# ?/?'],
  [[13], '# ??/??'],
  [[14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58], 'yyyy-mm-dd'],
  [[18, 19, 20, 21, 32, 33, 34, 35, 55, 56], 'hh:mm:ss'],
  [[22], 'yyyy-mm-dd hh:mm'],
  [[45, 47], 'mm:ss'],
  [[46], '[h]:mm:ss'],
  [[48], '##0.0E+0'],
  [[49], '@'],
];

async function formatsIn(archive: Archive, part: string | undefined): Promise<string[]> {
  const codes = new Map(BUILT_IN.flatMap(([ids, format]) => ids.map((id) => [id, format])));
  const formats: string[] = [];
  if (part === undefined) return formats;
  let isUsed = false;
  await readPart(archive, part, {
    open(name, { numFmtId = '0', formatCode = '' }) {
      if (name === 'cellXfs') isUsed = true;
      if (name === 'numFmt') codes.set(Number(numFmtId), formatCode);
      if (name === 'xf' && isUsed) formats.push(codes.get(Number(numFmtId)) ?? 'General');
    },
    close(name) {
      if (name === 'cellXfs') isUsed = false;
    },
  });
  return formats;
}
