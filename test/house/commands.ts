import type { Command } from 'commander';
import { createContext } from '../../src/surfaces/cli/context/context.js';
import { createProgram } from '../../src/surfaces/cli/program.js';

/** The fenced blocks of a language. */
export function blocks(text: string, language: string): string[] {
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, of]) => of === language)
    .map(([, , block = '']) => block);
}

/** Each `volley …` that a page prints, in blocks of the shell or in spans, once; without what is said about it. */
export function printedCommands(page: string): string[] {
  const inBlocks = blocks(page, 'sh').flatMap((block) => block.split('\n'));
  const inSpans = [...page.replace(/^```.*?^```$/gms, '').matchAll(/`([^`\n]+)`/g)].map(
    ([, span = '']) => span,
  );
  const printed = [...inBlocks, ...inSpans].flatMap(
    (line) => /(?:^|npx |run --rm )(volley [a-z].*)$/.exec(line.replace(/ +# .*$/, ''))?.[1] ?? [],
  );
  return [...new Set(printed)];
}

/** What of a command line the program does not know: the command, the lack of a subcommand, options. Empty if it does. */
export function unknownIn(line: string): string[] {
  const { stdin, stdout, stderr } = process;
  const io = { env: {}, cwd: process.cwd(), stdin, stdout, stderr, clock: () => 0 };
  const words = line.trim().split(/\s+/).slice(1);
  let command: Command = createProgram(createContext(io, false));
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) break;
    command = next;
  }
  if (command.name() === 'volley') return [`no command: ${words[0]}`];
  if (command.commands.length > 0) return [`${command.name()} wants a subcommand`];
  const known = command.options.map(({ long }) => long);
  return words.filter((word) => word.startsWith('--') && word !== '--help' && !known.includes(word));
}
