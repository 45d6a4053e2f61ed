/** Pure: the results of several rounds as tables in Markdown. */
import type { Result } from './round.js';

/** The rounds of one kind. Each maps contestants' names to results. */
export type Rounds = readonly ReadonlyMap<string, Result>[];

export interface Row {
  readonly name: string;
  readonly title: string;
  readonly knowsQuota: boolean;
}

/** The median; the mean of the two middle values if their number is even. NaN without values or if any is NaN. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return values.some(Number.isNaN) ? Number.NaN : (lower + upper) / 2;
}

/** A column and how to format its cells. */
interface Column {
  readonly heading: string;
  cell(row: Row, rounds: Rounds): string;
}

const DASH = '–';

function shown(value: number, digits = 0): string {
  if (Number.isNaN(value)) return DASH;
  return value.toLocaleString('en-GB', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function valuesOf(row: Row, rounds: Rounds, of: (result: Result) => number): number[] {
  return rounds.flatMap((round) => {
    const result = round.get(row.name);
    return result === undefined ? [] : [of(result)];
  });
}

/** The median, with minimum and maximum if the rounds differ. */
function spread(values: readonly number[], digits = 0): string {
  const middle = shown(median(values), digits);
  const min = shown(Math.min(...values), digits);
  const max = shown(Math.max(...values), digits);
  return values.length < 2 || min === max ? middle : `${middle} (${min}–${max})`;
}

function column(heading: string, of: (result: Result) => number, digits = 0): Column {
  return { heading, cell: (row, rounds) => spread(valuesOf(row, rounds, of), digits) };
}

/** The time divided by that of another contestant in the same round. */
function ratio(heading: string, against: string): Column {
  return {
    heading,
    cell: (row, rounds) => {
      const ratios = rounds.flatMap((round) => {
        const [own, other] = [round.get(row.name), round.get(against)];
        return own === undefined || other === undefined ? [] : [own.tookMs / other.tookMs];
      });
      return shown(median(ratios), 2);
    },
  };
}

/** Seconds, with a note if a round was aborted or ended with recipients that are not final. */
const TIME: Column = {
  heading: 'time to complete, s',
  cell: (row, rounds) => {
    const seconds = spread(
      valuesOf(row, rounds, ({ tookMs }) => tookMs / 1000),
      1,
    );
    const open = valuesOf(row, rounds, ({ notSent, notFinal }) => notSent + notFinal);
    const notes = [
      ...(rounds.every((round) => round.get(row.name)?.isDone !== false) ? [] : ['aborted']),
      ...(open.every((count) => count === 0) ? [] : [`${spread(open)} not final`]),
    ];
    return [seconds, ...notes].join(', ');
  },
};

const KNOWS: Column = { heading: 'knows N', cell: ({ knowsQuota }) => (knowsQuota ? 'yes' : 'no') };
const THROTTLED = column('429s', ({ throttled }) => throttled);
const UTILISATION = column('quota used, %', ({ utilisation }) => 100 * utilisation, 1);
const worst = (windowMs: number): Column =>
  column(`max requests in any ${windowMs / 1000} s`, ({ worstWindow }) => worstWindow);

/** Use of the quota and times, without a kill. */
export function undisturbedTable(rows: readonly Row[], rounds: Rounds, windowMs: number): string {
  return table(rows, rounds, [
    KNOWS,
    TIME,
    ratio('÷ bare loop', 'bare-loop'),
    ratio('÷ Volley', 'volley'),
    column('sends', ({ sends }) => sends),
    column('polls', ({ polls }) => polls),
    THROTTLED,
    UTILISATION,
    worst(windowMs),
  ]);
}

/** The same with a service that counts by the clock. */
export function clockTable(rows: readonly Row[], rounds: Rounds, windowMs: number): string {
  return table(rows, rounds, [KNOWS, TIME, THROTTLED, UTILISATION, worst(windowMs)]);
}

/** The outcome after one `kill -9`. */
export function killTable(rows: readonly Row[], rounds: Rounds): string {
  return table(rows, rounds, [
    column('messages sent twice', ({ duplicates }) => duplicates),
    column('never sent', ({ notSent }) => notSent),
    column('sent, never final', ({ notFinal }) => notFinal),
    column('reported as unknown', ({ unknown }) => unknown),
    TIME,
  ]);
}

/** The cost in Redis. */
export function costTable(rows: readonly Row[], rounds: Rounds): string {
  return table(rows, rounds, [
    column('commands sent to Redis per recipient', ({ commandsSent }) => commandsSent, 1),
    column('commands run by Redis per recipient', ({ commandsRun }) => commandsRun, 1),
    column('bytes per pending recipient', ({ bytesPending }) => bytesPending),
  ]);
}

function table(rows: readonly Row[], rounds: Rounds, columns: readonly Column[]): string {
  const lines = [
    ['', ...columns.map(({ heading }) => heading)],
    ['---', ...columns.map(() => '---:')],
    ...rows.map((row) => [row.title, ...columns.map(({ cell }) => cell(row, rounds))]),
  ];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
