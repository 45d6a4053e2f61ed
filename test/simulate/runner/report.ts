import type { Result, Totals } from './results.js';

const SHOWN_VIOLATIONS = 5;
const LINE_EVERY_WORLDS = 2_000;

/** Shows progress: one line that is rewritten on a terminal, otherwise a line every 2,000 worlds. */
export function progressOf(total: number, out: NodeJS.WriteStream): (done: number, violated: number) => void {
  let reported = 0;
  return (done, violated) => {
    const text = `${done} of ${total} worlds${violated > 0 ? `, ${violated} violated` : ''}`;
    if (out.isTTY && (done === total || done - reported >= 50)) {
      reported = done;
      out.write(`\r${text}${done === total ? '\r\u001b[K' : ''}`);
    } else if (!out.isTTY && (done - reported >= LINE_EVERY_WORLDS || (done === total && reported > 0))) {
      reported = done;
      out.write(`${text}\n`);
    }
  };
}

/** The summary of a run, as lines. */
export function summaryOf(totals: Totals, seconds: number): string[] {
  const { worlds, steps, virtualMs, faults, violated, mark, traces } = totals;
  const hours = Math.round(virtualMs / 3_600_000).toLocaleString('en');
  const perSecond = Math.round(worlds / seconds);
  const happened = [...faults].sort(([, one], [, other]) => other - one);
  return [
    ...[...violated]
      .sort((one, other) => (one.name < other.name ? -1 : 1))
      .slice(0, SHOWN_VIOLATIONS)
      .flatMap(violationOf),
    ...(violated.length > SHOWN_VIOLATIONS ? [`and ${violated.length - SHOWN_VIOLATIONS} more`] : []),
    `faults: ${happened.map(([what, times]) => `${what} ${times.toLocaleString('en')}`).join(', ') || 'none'}`,
    `${worlds - violated.length} of ${worlds} worlds without violations, ${steps.toLocaleString('en')} steps, ${hours} virtual hours, ` +
      `${seconds.toFixed(0)} s, ${perSecond} worlds a second, mark ${mark}, traces ${traces}`,
  ];
}

/** The violation of a world and the command that reproduces it, as lines. */
export function violationOf({ name, violation }: Pick<Result, 'name' | 'violation'>): string[] {
  if (violation === undefined) return [];
  return [
    `VIOLATED ${name}: ${violation.title}`,
    `  ${violation.message.split('\n').join('\n  ')}`,
    `  to reproduce: npm run -s test:simulate -- ${optionOf(name)}`,
  ];
}

function optionOf(name: string): string {
  return name.startsWith('seed ') ? `--${name}` : `--world ${name}`;
}
