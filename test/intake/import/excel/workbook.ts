import { crc32, deflateRawSync } from 'node:zlib';

/*
 * Workbooks in the form in which Excel for Windows (16.0) saves them: the parts, their order, their names, and their namespaces are those of such
 * files, reduced to what cells depend on.
 */

const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';

/** A part of an archive. `declared`: the size that the archive says, if it lies. */
interface Part {
  readonly name: string;
  readonly text: string;
  readonly declared?: number;
}

/** A ZIP archive (APPNOTE 4.3) of these parts. */
function zipOf(parts: readonly Part[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, text, declared } of parts) {
    const bytes = Buffer.from(text);
    const packed = deflateRawSync(bytes);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(declared ?? bytes.length, 18);
    common.writeUInt16LE(name.length, 22);
    const file = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), packed]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\x01\x02'), Buffer.from([45, 0]), common, place, Buffer.from(name));
    files.push(file);
    offset += file.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(parts.length, 4);
  end.writeUInt16LE(parts.length, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...files, listed, Buffer.from('PK\x05\x06'), end]);
}

/** What a workbook has. A sheet is the XML of its rows, and of what follows them. */
interface WorkbookParts {
  readonly sheets: readonly {
    readonly name: string;
    readonly rows: string;
    readonly after?: string;
    readonly state?: string;
  }[];
  /** Shared texts: the XML of each `si`. */
  readonly strings?: readonly string[];
  /** Formats of the styles 1, 2, …; the style 0 is General. */
  readonly formats?: readonly string[];
  readonly is1904?: boolean;
  /** The size that the archive says of each sheet. */
  readonly declared?: number;
}

/** A workbook. */
export function workbookOf({
  sheets,
  strings = [],
  formats = [],
  is1904 = false,
  declared,
}: WorkbookParts): Buffer {
  const relation = (id: number, type: string, target: string): string =>
    `<Relationship Id="rId${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;
  const relations = (all: string): string =>
    `${DECLARATION}<Relationships xmlns="${PACKAGE}/relationships">${all}</Relationships>`;
  const numbered = formats.map(
    (code, at) => `<numFmt numFmtId="${164 + at}" formatCode="${code.replaceAll('"', '&quot;')}"/>`,
  );
  const styles = formats.map(
    (_, at) =>
      `<xf numFmtId="${164 + at}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`,
  );
  return zipOf([
    {
      name: '[Content_Types].xml',
      text: `${DECLARATION}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/></Types>`,
    },
    { name: '_rels/.rels', text: relations(relation(1, 'officeDocument', 'xl/workbook.xml')) },
    {
      name: 'xl/workbook.xml',
      text: `${DECLARATION}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><workbookPr${is1904 ? ' date1904="1"' : ''} defaultThemeVersion="166925"/><sheets>${sheets.map(({ name, state }, at) => `<sheet name="${name}" sheetId="${at + 1}"${state ? ` state="${state}"` : ''} r:id="rId${at + 1}"/>`).join('')}</sheets></workbook>`,
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      text: relations(
        `${sheets.map((_, at) => relation(at + 1, 'worksheet', `worksheets/sheet${at + 1}.xml`)).join('')}${relation(91, 'styles', 'styles.xml')}${relation(92, 'sharedStrings', 'sharedStrings.xml')}`,
      ),
    },
    ...sheets.map(({ rows, after = '' }, at) => ({
      name: `xl/worksheets/sheet${at + 1}.xml`,
      text: `${DECLARATION}<worksheet xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheetFormatPr defaultRowHeight="15"/><sheetData>${rows}</sheetData>${after}</worksheet>`,
      ...(declared !== undefined && { declared }),
    })),
    {
      name: 'xl/styles.xml',
      text: `${DECLARATION}<styleSheet xmlns="${MAIN}"><numFmts count="${formats.length}">${numbered.join('')}</numFmts><cellStyleXfs count="1"><xf numFmtId="9"/></cellStyleXfs><cellXfs count="${formats.length + 1}"><xf numFmtId="0"/>${styles.join('')}</cellXfs></styleSheet>`,
    },
    {
      name: 'xl/sharedStrings.xml',
      text: `${DECLARATION}<sst xmlns="${MAIN}">${strings.map((xml) => `<si>${xml}</si>`).join('')}</sst>`,
    },
  ]);
}

/** A row of texts. */
export function textRow(line: number, ...texts: readonly string[]): string {
  return `<row r="${line}">${texts.map((text) => `<c t="inlineStr"><is><t>${text}</t></is></c>`).join('')}</row>`;
}
