import type { Rate } from '../base/progress.js';
import { texts } from '../base/texts.js';
import { countText, timeText } from '../base/times.js';
import { Table } from './Table.js';

/** Something that happened at a time. */
export interface Mark {
  readonly at: number;
  readonly kind: 'throttled' | 'paused';
}

interface ChartProps {
  readonly caption: string;
  readonly rates: readonly Rate[];
  readonly marks: readonly Mark[];
  readonly zone: string | null;
  readonly now: number;
}

const [WIDTH, HEIGHT, TOP] = [1_000, 90, 16];

/** A rate over time, with what slowed it down, and a table of the same. */
export function Chart({ caption, rates, marks, zone, now }: ChartProps) {
  const [first, last] = [rates[0], rates.at(-1)];
  const highest = Math.max(...rates.map(({ value }) => value));
  if (first === undefined || last === undefined || highest === 0) return null;
  const x = (at: number): number => ((at - first.from) / (last.to - first.from)) * WIDTH;
  const y = (value: number): number => HEIGHT - (value / highest) * (HEIGHT - TOP);
  const steps = rates.map(({ from, to, value }) => `M${x(from)} ${HEIGHT}V${y(value)}H${x(to)}V${HEIGHT}z`);
  const shown = marks.filter(({ at }) => at >= first.from && at <= last.to);
  return (
    <figure class="chart panel">
      <figcaption>
        {caption} <span class="quiet">{texts.chart.most(countText(highest))}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={texts.chart.label(caption, countText(highest), countText(last.value))}
      >
        <path d={steps.join('')} fill="var(--sending)" opacity="0.85" />
        <path d={`M0 ${HEIGHT}H${WIDTH}`} stroke="var(--line)" />
      </svg>
      <p class="marks bad" aria-hidden="true">
        {shown.map(({ at, kind }) => (
          <span key={`${kind}${at}`} class={kind} style={{ insetInlineStart: `${(x(at) / WIDTH) * 100}%` }}>
            {kind === 'paused' ? '‖' : '▲'}
          </span>
        ))}
      </p>
      <p class="row quiet">
        <span>{timeText(first.from, now, zone)}</span>
        {shown.length > 0 && <span>{texts.chart.marks}</span>}
        <span class="end">{timeText(last.to, now, zone)}</span>
      </p>
      <details>
        <summary>{texts.chart.asTable}</summary>
        <Table
          caption={caption}
          isCaptionHidden
          rows={rates}
          rowKey={({ from }) => from}
          columns={[
            [texts.strip.from, ({ from }) => timeText(from, now, zone, true)],
            [texts.chart.until, ({ to }) => timeText(to, now, zone, true)],
            [caption, ({ value }) => value],
          ]}
        />
      </details>
    </figure>
  );
}

/** The last minutes of a lane as bars, and the newest as a number. */
export function Sparkline({ values }: { readonly values: readonly number[] }) {
  const highest = Math.max(1, ...values);
  const label = texts.lane.perMinute(values);
  return (
    <span class="nowrap">
      <svg class="spark" viewBox="0 0 50 20" role="img" aria-label={label}>
        <title>{label}</title>
        <path
          d={values.map((value, at) => `M${at * 10 + 5} 20v${-Math.max(1, (value / highest) * 20)}`).join('')}
        />
      </svg>{' '}
      {countText(values.at(-1) ?? 0)}
    </span>
  );
}

interface GaugeProps {
  readonly used: number;
  readonly limit: number | null;
  readonly label: string;
}

/** How much of a limit is used. Without a limit, how much is used. */
export function Gauge({ used, limit, label }: GaugeProps) {
  const max = limit ?? 1;
  return (
    <meter
      max={max}
      low={max - 1}
      optimum={0}
      value={limit === null ? 0 : used}
      title={label}
      aria-label={label}
    />
  );
}
