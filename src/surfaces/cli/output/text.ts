import { counted, grouped } from '../../../base/counted.js';
import { brokenCommand, graphemesOf, widthOf, wrapped } from '../../../base/wrapped-text.js';
import { oneLine } from '../../../campaign/text/visible-text.js';
import type { ReportRow } from '../../../campaign/views/recipient-views.js';

export { counted, grouped, oneLine, widthOf, wrapped };

/** Why a recipient has its status, and the service's own word for it, in one line. */
export function explanation({
  reason,
  serviceStatus,
  serviceCode,
}: Pick<ReportRow, 'reason' | 'serviceStatus' | 'serviceCode'>): string {
  const code = serviceCode === null ? '' : ` (${serviceCode})`;
  const word = serviceStatus === null ? null : `the service says ${serviceStatus}${code}`;
  return oneLine([reason, word].filter((part) => part !== null).join('; '));
}

/** Cuts an uncoloured text to `width` columns; the last column is an ellipsis if something was cut. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  for (const grapheme of graphemesOf(text)) {
    if (widthOf(kept + grapheme) > width - 1) break;
    kept += grapheme;
  }
  return `${kept}…`;
}

/**
 * {@link wrapped} for each line of a text. A line goes on two columns to the right of an indented one. An example, which begins with
 * `$`, is one command to the end of its line.
 */
export function wrappedLines(text: string, width: number | undefined): string {
  return text
    .split('\n')
    .flatMap((line) => {
      const example = /^( *\$ )(.+)$/.exec(line);
      if (example) return wrappedExample(example[1] ?? '', example[2] ?? '', width);
      const indent = /^ */.exec(line)?.[0].length ?? 0;
      return wrapped(line, width, indent === 0 ? 0 : indent + 2);
    })
    .join('\n');
}

function wrappedExample(prompt: string, command: string, width: number | undefined): string[] {
  if (width === undefined || widthOf(prompt + command) <= width) return [prompt + command];
  const margin = ' '.repeat(prompt.length);
  const parts = brokenCommand(command, width - prompt.length - 2);
  return parts.map((part, at) => `${at === 0 ? prompt : margin}${part}${at < parts.length - 1 ? ' \\' : ''}`);
}

/** Pads a text with spaces to `width` columns. */
export function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** `1,234.50 EUR`. */
export function money(amount: string, currency: string): string {
  return `${amount.replace(/^\d+/, (whole) => grouped(Number(whole)))} ${currency}`;
}

let compactly: Intl.NumberFormat | undefined;

/** A number in few columns: `980`, `12K`, `1.2M`. */
export function compact(count: number): string {
  // Made at its first use: it takes longer than to print the help of a command.
  compactly ??= new Intl.NumberFormat('en', { notation: 'compact' });
  return compactly.format(count);
}
