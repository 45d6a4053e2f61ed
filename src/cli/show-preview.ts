import type { InvalidRow, Preview } from '../campaign/views.js';
import { formatDuration } from '../duration.js';
import type { Paint } from './paint.js';
import { counted, grouped, oneLine, padded } from './text.js';

/** What a list and a text come to, for people. */
export function renderPreview(preview: Preview, paint: Paint): string[] {
  const { segments, requests } = preview;
  const label = (text: string): string => paint('dim', padded(text, 12));
  const left = [
    [preview.duplicates, 'duplicate', 'duplicates'],
    [preview.invalid, 'invalid row', 'invalid rows'],
    [preview.suppressed, 'suppressed', 'suppressed'],
  ] as const;
  const leftOut = left.filter(([count]) => count > 0).map(([count, one, many]) => counted(count, one, many));
  const each = segments.min === segments.max ? `${segments.min}` : `${segments.min} to ${segments.max}`;
  const forcing = preview.ucs2Characters.map((character) => oneLine(character)).join(', ');
  return [
    `${label('recipients')}${paint('bold', grouped(preview.recipients))} of ${counted(preview.rows, 'row')}, numbers in column ${JSON.stringify(oneLine(preview.numberColumn))}`,
    ...(leftOut.length === 0 ? [] : [`${label('left out')}${leftOut.join(', ')}`]),
    `${label('text')}${preview.encoding}, ${each} ${segments.max === 1 ? 'segment' : 'segments'} a message, ${grouped(segments.total)} in all`,
    ...(forcing === '' ? [] : [`${label('')}UCS-2 because of ${forcing}`]),
    `${label('requests')}${grouped(requests.total)}: ${grouped(requests.send)} to send, about ${grouped(requests.poll)} to follow up`,
    `${label('time')}${timeWords(preview)}`,
    ...preview.samples.flatMap(({ recipient, text }, at) => [
      `${label(at === 0 ? 'samples' : '')}${paint('dim', recipient)}  ${oneLine(text)}`,
    ]),
    ...preview.warnings.map((warning) => `${paint('yellow', padded('warning', 12))}${oneLine(warning)}`),
  ];
}

function timeWords({ sentAfterMs, finishedAfterMs }: Preview): string {
  if (sentAfterMs === null || finishedAfterMs === null)
    return "not known: the lane's quota has not been learned yet";
  const spelled = (ms: number): string => (ms === 0 ? 'at once' : `in about ${formatDuration(ms)}`);
  return `sent ${spelled(sentAfterMs)}, followed up ${spelled(finishedAfterMs)}, as far as the quota tells`;
}

/** The bad rows, first as many as there are, and how many more. */
export function renderInvalid(problems: readonly InvalidRow[], count: number): string[] {
  const lines = problems.map(({ line, column, reason }) => {
    const where = column === null ? '' : `, column ${JSON.stringify(oneLine(column))}`;
    return `  line ${line}${where}: ${oneLine(reason)}`;
  });
  return count > problems.length ? [...lines, `  … and ${grouped(count - problems.length)} more`] : lines;
}
