import type { Answer, Context } from './context.js';

/** What a command does, as the parser calls it: its answer is delivered in one place. */
export function action<Given extends unknown[]>(
  context: Context,
  run: (...given: Given) => Promise<Answer | undefined>,
): (...given: Given) => Promise<void> {
  return async (...given) => context.deliver(await run(...given));
}

/** The help text below a command's options. The first is the example that shows the most. */
export function examples(...lines: readonly string[]): string {
  const title = lines.length === 1 ? 'Example' : 'Examples';
  return `\n${title}:\n${lines.map((line) => `  $ volley ${line}`).join('\n')}`;
}
