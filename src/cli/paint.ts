import { styleText } from 'node:util';

/** A colour, or a weight. */
export type Ink = Parameters<typeof styleText>[0];

/** Colours a text, or leaves it as it is. */
export type Paint = (ink: Ink, text: string) => string;

/** Leaves every text as it is. */
export const unpainted: Paint = (_ink, text) => text;

/** Colours for a stream: only on a terminal that has them, and not under `NO_COLOR` (https://no-color.org). */
export function paintFor(
  stream: NodeJS.WriteStream,
  env: Readonly<Record<string, string | undefined>>,
): Paint {
  if (stream.isTTY !== true || env['NO_COLOR'] || env['TERM'] === 'dumb') return unpainted;
  return (ink, text) => (text === '' ? '' : styleText(ink, text, { validateStream: false }));
}
