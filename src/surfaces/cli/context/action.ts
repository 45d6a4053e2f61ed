import { exampleFile } from '../output/command-name.js';
import type { Answer, Context } from './context.js';

type Verb = (context: Context, ...args: never[]) => Promise<Answer | undefined>;

/** The action of a command: loads the command's own code, runs the function `name` of it, and prints the answer. */
export function action<Name extends string>(
  context: Context,
  load: () => Promise<Readonly<Record<Name, Verb>>>,
  name: Name,
): (...args: unknown[]) => Promise<void> {
  return async (...args) => {
    const { [name]: verb } = await load();
    context.print(await verb(context, ...(args as never[])));
  };
}

/** `PRICE_PER_SEGMENT="0.042 EUR" ` before a command. */
const SETTINGS = /^((?:[A-Z_]+=(?:"[^"]*"|\S+) )*)/;

/** The help text below a command's options. The first example shows the most. One may begin with settings. Files in `examples/` are those of this package. */
export function examples(...lines: readonly string[]): string {
  const title = lines.length === 1 ? 'Example' : 'Examples';
  return `\n${title}:\n${lines.map((line) => `  $ ${withFiles(line).replace(SETTINGS, '$1volley ')}`).join('\n')}`;
}

/** The first campaign of a new user, as the help of `volley` shows it. */
export const FIRST_SEND =
  'send examples/spring-sale.csv --country GB --sender ACME --message "Hi {{name}}" --wait';

/** What to do where there is no campaign yet. */
export const HOW_TO_CREATE = `To create one: volley ${withFiles(FIRST_SEND)}`;

function withFiles(line: string): string {
  return line.replace(/examples\/([\w-]+\.\w+)/g, (_, name: string) => exampleFile(name));
}
