import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Ledger } from '../base/live-types.js';
import { freedAt, type Strip as StripData, stripOf } from '../base/strip.js';
import { texts } from '../base/texts.js';
import { countText, timeText } from '../base/times.js';
import { fillOf } from './Bar.js';
import { Table } from './Table.js';

const HEIGHT = 190;
/** What counts against the quota, above; the requests of each column, below. */
const CURVE = { top: 16, bottom: 84 };
const BARS = { top: 96, bottom: 160 };
/** How wide a column is at least, in px. */
const COLUMN = 3;

/** How each part is drawn, there and in the legend. */
const INK = {
  sends: { fill: 'var(--sending)' },
  polls: { fill: fillOf('network') },
  permits: { fill: fillOf('permits') },
  counted: { fill: 'color-mix(in srgb, var(--sending) 18%, var(--surface))' },
  limit: { stroke: 'var(--text)', 'stroke-width': 1.5 },
  reserve: { stroke: 'var(--quiet)', 'stroke-width': 1.5, 'stroke-dasharray': '4 3' },
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
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    if (frame.current !== null) observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  const columns = Math.max(24, Math.floor(width / 2 / COLUMN));
  const strip = useMemo(() => stripOf(ledger, columns), [ledger, columns]);
  return (
    <figure>
      <figcaption>{texts.strip.summary(ledger.used.send, ledger.used.poll, ledger.limit)}</figcaption>
      <div ref={frame}>
        {width > 0 && <Drawing strip={strip} ledger={ledger} width={width} zone={zone} until={until} />}
      </div>
      <StripLegend />
      <details>
        <summary>{texts.chart.asTable}</summary>
        <AsTable ledger={ledger} zone={zone} />
      </details>
    </figure>
  );
}

interface DrawingProps extends StripProps {
  readonly strip: StripData;
  readonly width: number;
}

function Drawing({ strip, ledger, width, zone, until }: DrawingProps) {
  const [pointed, setPointed] = useState<number | null>(null);
  const { now, window, past, coming, highest, most } = strip;
  const span = 2 * window;
  const x = (at: number): number => ((at - now + window) / span) * width;
  const step = (strip.width / span) * width;
  // A bucket with one request beside one with hundreds can be seen.
  const barY = (count: number): number =>
    BARS.bottom - (count === 0 ? 0 : Math.max(2, (count / highest) * (BARS.bottom - BARS.top)));
  const curveY = (count: number): number => CURVE.bottom - (count / most) * (CURVE.bottom - CURVE.top);
  const bars = (all: readonly { at: number; from: number; to: number }[]): string =>
    all
      .filter(({ from, to }) => to > from)
      .map(({ at, from, to }) => rectangle(x(at), barY(to), Math.max(1, step - 0.6), barY(from) - barY(to)))
      .join('');
  const freed = until === null ? null : freedAt(strip, Date.parse(until));
  const label = (at: number): string => timeText(at, now, zone);
  return (
    <>
      <svg
        class="drawing"
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={texts.strip.label(
          countText(ledger.used.send + ledger.used.poll),
          label(now - window),
          label(now + window),
        )}
        onPointerMove={(event) => setPointed(now - window + (event.offsetX / width) * span)}
        onPointerLeave={() => setPointed(null)}
      >
        <rect x={x(now)} width={width / 2} y={0} height={BARS.bottom} fill="var(--raised)" opacity="0.5" />
        <path d={area(strip, x, curveY)} {...INK.counted} />
        {ledger.limit !== null && <path d={`M0 ${curveY(ledger.limit)}H${width}`} {...INK.limit} />}
        {ledger.limit !== null && ledger.pollReserve > 0 && (
          <path d={`M0 ${curveY(ledger.limit - ledger.pollReserve)}H${width}`} {...INK.reserve} />
        )}
        <path d={bars(past.map(({ at, sends }) => ({ at, from: 0, to: sends })))} {...INK.sends} />
        <path
          d={bars(past.map(({ at, sends, polls }) => ({ at, from: sends, to: sends + polls })))}
          {...INK.polls}
        />
        <path d={bars(coming.map(({ at, count }) => ({ at, from: 0, to: count })))} {...INK.permits} />
        {freed !== null && (
          <g fill="none" stroke="var(--bad)" stroke-width="2" id="freed">
            {freed.from && <path d={rectangle(x(freed.from.at), BARS.top, step, BARS.bottom - BARS.top)} />}
            <path d={rectangle(x(freed.permits.at), BARS.top, step, BARS.bottom - BARS.top)} />
            {freed.from && (
              <path
                class="arc"
                d={arc(x(freed.from.at) + step / 2, x(freed.permits.at) + step / 2, BARS.top)}
              />
            )}
          </g>
        )}
        {strip.throttled.map((at) => (
          <path key={at} d={`M${x(at) - 5} 13L${x(at)} 3l5 10z`} {...INK.throttled} />
        ))}
        <path d={`M${x(now)} 0V${BARS.bottom}`} {...INK.limit} />
        <path d={`M0 ${BARS.bottom}H${width}`} stroke="var(--line)" />
        <text x={0} y={HEIGHT - 12}>
          {label(now - window)}
        </text>
        <text x={x(now)} y={HEIGHT - 12} text-anchor="middle">
          {texts.strip.now}
        </text>
        <text x={width} y={HEIGHT - 12} text-anchor="end">
          {label(now + window)}
        </text>
        {ledger.limit !== null && (
          <text x={width - 2} y={curveY(ledger.limit) - 4} text-anchor="end">
            {texts.strip.limit(ledger.limit)}
          </text>
        )}
      </svg>
      <p class="readout quiet">
        {pointed === null
          ? freed && texts.strip.frees(freed.permits.count, timeText(freed.permits.first, now, zone, true))
          : pointedText(strip, pointed, zone)}
      </p>
    </>
  );
}

const rectangle = (x: number, y: number, width: number, height: number): string =>
  `M${x.toFixed(1)} ${y.toFixed(1)}h${width.toFixed(1)}v${height.toFixed(1)}h${(-width).toFixed(1)}z`;

/** From a bucket of the window over now to where its permits return. */
const arc = (from: number, to: number, y: number): string =>
  `M${from} ${y}C${from} ${y - 40} ${to} ${y - 40} ${to} ${y}`;

function area(
  { counted, now, window }: StripData,
  x: (at: number) => number,
  y: (count: number) => number,
): string {
  const steps = counted.map(({ at, count }) => `H${x(at).toFixed(1)}V${y(count).toFixed(1)}`);
  return `M${x(now - window)} ${y(0)}${steps.join('')}H${x(now + window)}V${y(0)}z`;
}

/** What is in the column under the pointer. */
function pointedText(strip: StripData, at: number, zone: string | null): ComponentChildren {
  const holds = (column: { readonly at: number }): boolean => column.at <= at && at < column.at + strip.width;
  const time = (ms: number): string => timeText(ms, strip.now, zone, true);
  const begin = Math.floor(at / strip.width) * strip.width;
  if (at > strip.now) return texts.strip.pointedToCome(time(begin), strip.coming.find(holds)?.count ?? 0);
  const column = strip.past.find(holds);
  return texts.strip.pointed(time(begin), column?.sends ?? 0, column?.polls ?? 0, time(begin + strip.window));
}

function StripLegend() {
  return (
    <ul class="row legend">
      {Object.entries(INK).map(([name, ink]) => (
        <li key={name}>
          <svg class="swatch" aria-hidden="true" viewBox="0 0 14 14">
            <path
              d={name === 'throttled' ? 'M1 13L7 1l6 12z' : 'stroke' in ink ? 'M0 7H14' : 'M0 0h14v14H0z'}
              {...ink}
            />
          </svg>{' '}
          {texts.strip.legend[name as keyof typeof INK]}
        </li>
      ))}
    </ul>
  );
}

const ROWS = 12;

/** The same in twelve parts of the window, for readers who do not see it. */
function AsTable({ ledger, zone }: { readonly ledger: Ledger; readonly zone: string | null }) {
  const strip = stripOf(ledger, ROWS);
  return (
    <Table
      caption={texts.strip.table}
      rows={strip.past}
      rowKey={({ at }) => at}
      columns={[
        [texts.strip.from, ({ at }) => timeText(at, strip.now, zone)],
        [texts.strip.legend.sends, ({ sends }) => sends],
        [texts.strip.legend.polls, ({ polls }) => polls],
        [texts.strip.returnFrom, ({ at }) => timeText(at + strip.window, strip.now, zone)],
      ]}
    />
  );
}
