/** Pure: a chart of each contestant's requests in the window that ends at each time, compared with the quota. */
import { scaleLinear } from 'd3-scale';
import { line, picture, rectangle, tag, text } from './svg.js';

export interface Panel {
  readonly title: string;
  /** A line beside the title. */
  readonly note: string;
  /** Arrival times in order, ms from the contestant's first request; `refused` means answered 429. */
  readonly arrivals: readonly { readonly at: number; readonly refused: boolean }[];
}

export interface WindowsChart {
  readonly heading: string;
  readonly quota: number;
  readonly windowMs: number;
  readonly panels: readonly Panel[];
}

const WIDTH = 860;
const LEFT = 52;
const RIGHT = 12;
const TOP = 82;
const PANEL = { height: 80, gap: 34 };
const STEP_MS = 250;

export function windowsChart({ heading, quota, windowMs, panels }: WindowsChart): string {
  const series = panels.map(({ arrivals }) => trailing(arrivals, windowMs));
  const seconds = Math.max(...panels.map(({ arrivals }) => (arrivals.at(-1)?.at ?? 0) / 1000));
  const most = Math.max(quota, ...series.flat().map(({ all }) => all));
  const x = scaleLinear([0, seconds], [LEFT, WIDTH - RIGHT]);
  const y = scaleLinear([0, most], [PANEL.height, 0]).nice(4);
  const height = TOP + panels.length * (PANEL.height + PANEL.gap) + 14;
  const drawn = panels.map((panel, at) => {
    const transform = `translate(0 ${TOP + at * (PANEL.height + PANEL.gap)})`;
    return tag('g', { transform }, ...panelOf(panel, series[at] ?? []));
  });
  const says = `${heading}. ${panels.map(({ title, note }) => `${title}: ${note}`).join('. ')}`;
  return picture(
    WIDTH,
    height,
    says,
    rectangle(0, 0, WIDTH, height, 'paper'),
    text(heading, LEFT, 22, 'heading'),
    ...legend(),
    ...drawn,
    ...x.ticks(10).map((value) => text(String(value), x(value), height - 32, 'dim', 'middle')),
    text('seconds from the first request', WIDTH - RIGHT, height - 12, 'dim', 'end'),
  );

  function legend(): string[] {
    return [
      rectangle(LEFT, 37, 12, 12, 'good'),
      text('admitted by the service', LEFT + 18, 47),
      rectangle(LEFT + 160, 37, 12, 12, 'bad'),
      text('answered 429', LEFT + 178, 47),
      line(LEFT + 284, 43, LEFT + 306, 43, 'limit'),
      text(`the quota, ${quota}`, LEFT + 312, 47),
    ];
  }

  function panelOf({ title, note }: Panel, points: readonly Point[]): string[] {
    const { height: floor } = PANEL;
    return [
      ...y
        .ticks(3)
        .flatMap((value) => [
          line(LEFT, y(value), WIDTH - RIGHT, y(value), 'grid'),
          text(String(value), LEFT - 6, y(value) + 4, 'dim', 'end'),
        ]),
      area(points, ({ all }) => all, 'bad'),
      area(points, ({ letIn }) => letIn, 'good'),
      line(LEFT, y(quota), WIDTH - RIGHT, y(quota), 'limit'),
      line(LEFT, floor, WIDTH - RIGHT, floor, 'axis'),
      ...x.ticks(10).map((value) => line(x(value), floor, x(value), floor + 4, 'axis')),
      text(title, LEFT, -6, 'title'),
      text(note, WIDTH - RIGHT, -6, 'label', 'end'),
    ];
  }

  function area(points: readonly Point[], of: (point: Point) => number, kind: string): string {
    const corners = points.map((point) => `H${x(point.at / 1000).toFixed(1)}V${y(of(point)).toFixed(1)}`);
    const end = x((points.at(-1)?.at ?? 0) / 1000).toFixed(1);
    return tag('path', {
      class: kind,
      d: `M${LEFT} ${PANEL.height}${corners.join('')}H${end}V${PANEL.height}Z`,
    });
  }
}

interface Point {
  readonly at: number;
  readonly letIn: number;
  readonly all: number;
}

/** One point per step: the largest window within the step, so that no peak is lost. */
function trailing(arrivals: Panel['arrivals'], windowMs: number): Point[] {
  const changes = arrivals
    .flatMap(({ at, refused }) => [
      { at, refused, by: 1 },
      { at: at + windowMs, refused, by: -1 },
    ])
    .sort((a, b) => a.at - b.at || a.by - b.by);
  const end = arrivals.at(-1)?.at ?? 0;
  const points: Point[] = [];
  let [next, all, refused] = [0, 0, 0];
  for (let step = 0; step <= end; step += STEP_MS) {
    let most: Point = { at: step, letIn: all - refused, all };
    for (let change = changes[next]; change !== undefined && change.at < step + STEP_MS; ) {
      all += change.by;
      if (change.refused) refused += change.by;
      if (all >= most.all) most = { at: step, letIn: all - refused, all };
      next += 1;
      change = changes[next];
    }
    points.push(most);
  }
  return points;
}
