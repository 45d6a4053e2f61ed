/** Pure: a chart with a group of bars per figure, one bar per contestant. Each group has its own scale from zero. */
import { scaleLinear } from 'd3-scale';
import { line, picture, rectangle, tag, text } from './svg.js';

export interface Group {
  readonly title: string;
  /** A short explanation of the figure. */
  readonly note: string;
  /** One value per row of the chart; NaN if there is none. */
  readonly values: readonly number[];
  readonly digits: number;
  /** The quota on this scale. */
  readonly limit?: number;
}

export interface BarsChart {
  readonly heading: string;
  readonly rows: readonly { readonly title: string; readonly isOwn: boolean }[];
  readonly groups: readonly Group[];
}

const WIDTH = 860;
const COLUMNS = 3;
const NAMES = 150;
const GAP = 22;
const BAR = { height: 14, pitch: 22 };
const TOP = 44;
const HEAD = 46;

export function barsChart({ heading, rows, groups }: BarsChart): string {
  const lines = Math.ceil(groups.length / COLUMNS);
  const block = HEAD + rows.length * BAR.pitch + 18;
  const height = TOP + lines * block;
  const width = (WIDTH - NAMES - COLUMNS * GAP) / COLUMNS;
  const says = groups.map(
    (group) => `${group.title}: ${rows.map(({ title }, at) => `${title} ${shown(group, at)}`).join(', ')}`,
  );
  return picture(
    WIDTH,
    height,
    `${heading}. ${says.join('. ')}`,
    rectangle(0, 0, WIDTH, height, 'paper'),
    text(heading, 12, 22, 'heading'),
    ...Array.from({ length: lines }, (_, at) => names(TOP + at * block)),
    ...groups.map((group, at) => {
      const left = NAMES + GAP / 2 + (at % COLUMNS) * (width + GAP);
      return groupOf(group, left, TOP + Math.floor(at / COLUMNS) * block);
    }),
  );

  function names(top: number): string {
    const all = rows.map(({ title, isOwn }, at) =>
      text(title, NAMES - 6, HEAD + at * BAR.pitch + 11, isOwn ? 'own' : 'label', 'end'),
    );
    return tag('g', { transform: `translate(0 ${top})` }, ...all);
  }

  function groupOf(group: Group, left: number, top: number): string {
    const values = group.values.filter((value) => !Number.isNaN(value));
    const room = width - 52;
    const x = scaleLinear([0, Math.max(1, group.limit ?? 0, ...values)], [0, room]);
    const foot = HEAD + rows.length * BAR.pitch - 4;
    return tag(
      'g',
      { transform: `translate(${left} ${top})` },
      text(group.title, 0, 14, 'title'),
      text(group.note, 0, 30, 'dim'),
      ...rows.flatMap(({ isOwn }, at) => {
        const value = group.values[at] ?? Number.NaN;
        const y = HEAD + at * BAR.pitch;
        const length = Number.isNaN(value) ? 0 : x(value);
        return [
          rectangle(0, y, length, BAR.height, isOwn ? 'good' : 'peer'),
          text(shown(group, at), Math.max(length, 0) + 5, y + 11, isOwn ? 'own' : 'label'),
        ];
      }),
      line(0, HEAD - 4, 0, foot, 'axis'),
      ...(group.limit === undefined
        ? []
        : [line(x(group.limit), HEAD - 6, x(group.limit), foot + 2, 'limit')]),
    );
  }
}

function shown({ values, digits }: Group, at: number): string {
  const value = values[at] ?? Number.NaN;
  if (Number.isNaN(value)) return '–';
  return value.toLocaleString('en-GB', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
