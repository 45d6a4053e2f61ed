import type { Ledger } from 'built/campaign/views/live-views.js';
import { useMemo } from 'preact/hooks';
import { durationMs, freedAt, stripOf } from '../base/strip.js';
import { labelOf, texts } from '../base/texts.js';
import { timeText } from '../base/times.js';
import { fillOf } from './Bar.js';
import { Figure, HEIGHT, placeOf, SHORT_MS, WIDTH } from './Chart.js';
import { Table } from './Table.js';

const words = texts.strip;
/** What counts against the quota is above this line, the requests of each column below it. */
const MIDDLE = 48;
/** As many columns on each side of now as the ledger has buckets, and those of the table. */
const [COLUMNS, ROWS] = [384, 12];

/** How each part is drawn, there and in the legend. */
const INK = {
  sends: { fill: 'var(--sending)' },
  polls: { fill: fillOf('network') },
  permits: { fill: fillOf('permits') },
  counted: { fill: 'color-mix(in srgb, var(--sending) 18%, var(--surface))' },
  limit: { stroke: 'var(--text)', 'stroke-width': 1.5 },
  reserve: { stroke: 'var(--quiet)', 'stroke-width': 1.5, 'stroke-dasharray': '4 3' },
  guard: { fill: 'color-mix(in srgb, var(--bad) 30%, var(--surface))' },
  throttled: { fill: 'var(--failed)' },
} as const;

interface StripProps {
  readonly ledger: Ledger;
  readonly zone: string | null;
  /** When the permit returns that something waits for; its bucket is marked. */
  readonly until: string | null;
}

/** The rolling window of a lane, from the limiter's own ledger. */
export function Strip({ ledger, zone, until }: StripProps) {
  const { used, limit, pollReserve, throttledAt } = ledger;
  const strip = useMemo(() => stripOf(ledger, COLUMNS), [ledger]);
  const { now, window, width, past, coming, counted } = strip;
  const [from, to] = [now - window, now + window];
  const x = (at: number): number => placeOf(at, from, to);
  const time = (at: number): string => timeText(at, now, zone, window < SHORT_MS);
  const most = Math.max(1, limit ?? 0, ...counted.map(({ count }) => count));
  const curveY = (count: number): number => MIDDLE * (1 - count / most);
  const highest = Math.max(
    1,
    ...past.map(({ sends, polls }) => sends + polls),
    ...coming.map(({ count }) => count),
  );
  // A bucket with one request beside one with hundreds can be seen.
  const barY = (count: number): number =>
    HEIGHT - (count === 0 ? 0 : Math.max(2, (count / highest) * (HEIGHT - MIDDLE - 4)));
  const bar = (at: number, below: number, count: number): string =>
    count === 0 ? '' : `M${x(at)} ${barY(below)}H${x(at + width)}V${barY(below + count)}H${x(at)}z`;
  const level = (count: number): string => `M0 ${curveY(count)}H${WIDTH}`;
  const curve = counted.map(({ at, count }) => `H${x(at)}V${curveY(count)}`);
  const freed = until === null ? null : freedAt(strip, Date.parse(until));
  const mark = (at: number): string => `M${x(at) - 4} ${MIDDLE}H${x(at + width) + 4}V${HEIGHT}H${x(at) - 4}z`;
  const marked = [freed?.from, freed?.permits].map((column) => (column ? mark(column.at) : ''));
  return (
    <Figure
      caption={words.summary(used.send, used.poll, limit)}
      {...{ from, to, time }}
      marks={throttledAt.map((at) => ({ at: Date.parse(at), kind: 'throttled' }))}
      middle={labelOf('now')}
      legend={
        <>
          {freed && <p>{words.frees(freed.permits.count, timeText(freed.permits.first, now, zone, true))}</p>}
          <StripLegend />
        </>
      }
      table={<AsTable ledger={ledger} zone={zone} />}
    >
      <rect x={WIDTH / 2} width={WIDTH / 2} height={HEIGHT} fill="var(--raised)" opacity="0.5" />
      <rect
        x={WIDTH / 2}
        width={Math.max(2, x(now + durationMs(ledger.guard)) - WIDTH / 2)}
        height={HEIGHT}
        {...INK.guard}
      />
      <path d={`M0 ${MIDDLE}${curve.join('')}H${WIDTH}V${MIDDLE}z`} {...INK.counted} />
      {limit !== null && <path d={level(limit)} {...INK.limit} />}
      {limit !== null && pollReserve > 0 && <path d={level(limit - pollReserve)} {...INK.reserve} />}
      <path d={past.map(({ at, sends }) => bar(at, 0, sends)).join('')} {...INK.sends} />
      <path d={past.map(({ at, sends, polls }) => bar(at, sends, polls)).join('')} {...INK.polls} />
      <path d={coming.map(({ at, count }) => bar(at, 0, count)).join('')} {...INK.permits} />
      <path id="freed" d={marked.join('')} fill="none" stroke="var(--bad)" stroke-width="2" />
      <path d={`M${WIDTH / 2} 0V${HEIGHT}`} {...INK.limit} />
    </Figure>
  );
}

function StripLegend() {
  return (
    <ul class="row">
      {Object.entries(INK).map(([name, ink]) => (
        <li key={name}>
          <svg class="swatch" aria-hidden="true" viewBox="0 0 14 14">
            <path
              d={name === 'throttled' ? 'M1 13L7 1l6 12z' : 'stroke' in ink ? 'M0 7H14' : 'M0 0h14v14H0z'}
              {...ink}
            />
          </svg>{' '}
          {words.legend[name as keyof typeof INK]}
        </li>
      ))}
    </ul>
  );
}

/** The same in twelve parts of the window, for readers who do not see it. */
function AsTable({ ledger, zone }: Pick<StripProps, 'ledger' | 'zone'>) {
  const strip = stripOf(ledger, ROWS);
  const time = (at: number): string => timeText(at, strip.now, zone);
  return (
    <Table
      caption={words.table}
      rows={strip.past}
      columns={[
        [labelOf('from'), ({ at }) => time(at)],
        [words.legend.sends, ({ sends }) => sends],
        [words.legend.polls, ({ polls }) => polls],
        [labelOf('returnFrom'), ({ at }) => time(at + strip.window)],
      ]}
    />
  );
}
