import type { ComponentChildren } from 'preact';
import { labelOf, texts } from '../base/texts.js';
import { countText } from '../base/times.js';

/** Something that happened at a time. */
export interface Mark {
  readonly at: number;
  readonly kind: 'throttled' | 'paused';
}

const SIGNS = { throttled: '▲', paused: '‖' } as const;

/** What is drawn is this wide and high; the page stretches it. */
export const [WIDTH, HEIGHT] = [1_000, 100];
/** Of less time, the ends have seconds. */
export const SHORT_MS = 600_000;

interface FigureProps {
  readonly caption: string;
  readonly from: number;
  readonly to: number;
  readonly marks: readonly Mark[];
  /** What stands below it, between the times of its ends. */
  readonly middle?: ComponentChildren;
  readonly legend?: ComponentChildren;
  readonly table: ComponentChildren;
  time(at: number): string;
  readonly children: ComponentChildren;
}

/** Where a time is between two others, from 0 to {@link WIDTH}. */
export const placeOf = (at: number, from: number, to: number): number => ((at - from) / (to - from)) * WIDTH;

/** A drawing of a time, with what happened in it, and a table of the same for readers who do not see it. */
export function Figure(props: FigureProps) {
  const { caption, from, to, marks, middle, legend, table, time, children } = props;
  return (
    <figure>
      <figcaption>{caption}</figcaption>
      <svg class="drawing" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {children}
        <path d={`M0 ${HEIGHT}H${WIDTH}`} stroke="var(--line)" />
      </svg>
      <p class="marks bad" aria-hidden="true">
        {marks.map(({ at, kind }) => (
          <span key={`${kind}${at}`} style={{ insetInlineStart: `${placeOf(at, from, to) / 10}%` }}>
            {SIGNS[kind]}
          </span>
        ))}
      </p>
      <p class="row ends quiet">
        <span>{time(from)}</span> {middle} <span>{time(to)}</span>
      </p>
      {legend}
      <details>
        <summary>{labelOf('asATable')}</summary>
        {table}
      </details>
    </figure>
  );
}

/** The last minutes of a lane as bars, and the newest as a number. */
export function Sparkline({ values }: { readonly values: readonly number[] }) {
  const highest = Math.max(1, ...values);
  const label = texts.lane.perMinute(values);
  const bars = values.map((value, at) => `M${at * 10 + 5} 20v${-Math.max(1, (value / highest) * 20)}`);
  return (
    <span class="nowrap">
      <svg class="spark" viewBox="0 0 50 20" role="img" aria-label={label}>
        <title>{label}</title>
        <path d={bars.join('')} />
      </svg>{' '}
      {countText(values.at(-1) ?? 0)}
    </span>
  );
}
