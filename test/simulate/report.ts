import type { Result, Totals } from './results.js';

const MOST_SHOWN = 5;
const EACH = 2_000;

/** Says how far a run is: one line that moves on a terminal, else a line now and then. */
export function progressOf(total: number, out: NodeJS.WriteStream): (done: number, violated: number) => void {
  let told = 0;
  return (done, violated) => {
    const text = `${done} of ${total} seeds${violated > 0 ? `, ${violated} violated` : ''}`;
    if (out.isTTY && (done === total || done - told >= 50)) {
      told = done;
      out.write(`\r${text}${done === total ? '\r\u001b[K' : ''}`);
    } else if (!out.isTTY && (done - told >= EACH || (done === total && told > 0))) {
      told = done;
      out.write(`${text}\n`);
    }
  };
}

/** The end of a run, in lines. */
export function summaryOf(totals: Totals, seconds: number): string[] {
  const { seeds, steps, virtualMs, faults, violated, mark, traces } = totals;
  const hours = Math.round(virtualMs / 3_600_000).toLocaleString('en');
  const perSecond = Math.round(seeds / seconds);
  const happened = [...faults].sort(([, one], [, other]) => other - one);
  return [
    ...[...violated]
      .sort((one, other) => one.seed - other.seed)
      .slice(0, MOST_SHOWN)
      .flatMap(violationOf),
    ...(violated.length > MOST_SHOWN ? [`and ${violated.length - MOST_SHOWN} more`] : []),
    `faults: ${happened.map(([what, times]) => `${what} ${times.toLocaleString('en')}`).join(', ') || 'none'}`,
    `${seeds - violated.length} of ${seeds} seeds as promised, ${steps.toLocaleString('en')} steps, ${hours} virtual hours, ` +
      `${seconds.toFixed(0)} s, ${perSecond} seeds a second, mark ${mark}, traces ${traces}`,
  ];
}

/** What was violated, and how to see it again. */
export function violationOf({ seed, violation }: Pick<Result, 'seed' | 'violation'>): string[] {
  if (violation === undefined) return [];
  return [
    `VIOLATED seed ${seed}: ${violation.title}`,
    `  ${violation.message.split('\n').join('\n  ')}`,
    `  again: npm run -s test:simulate -- --seed ${seed}`,
  ];
}
