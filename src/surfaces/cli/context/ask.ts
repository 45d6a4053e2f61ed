import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Context } from './context.js';
import { interrupted } from './errors.js';

interface AskOptions {
  /** What Ctrl-C or Ctrl-D means, such as `nothing was written`. */
  readonly consequence: string;
  /** Does not show what is typed. */
  readonly isSecret?: boolean;
}

/** Asks for a line on the terminal. The question is on standard error, so that the answer can be redirected to a file. */
export async function ask(
  { stdin, stderr }: Context,
  question: string,
  { consequence, isSecret = false }: AskOptions,
): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: stdin, output: isSecret ? nowhere : stderr, terminal: true });
  let isAnswered = false;
  try {
    if (isSecret) stderr.write(question);
    return await new Promise<string>((resolve, reject) => {
      terminal.once('SIGINT', () => reject(interrupted(consequence)));
      terminal.once('close', () => reject(interrupted(consequence)));
      terminal.question(isSecret ? '' : question, (text) => {
        isAnswered = true;
        resolve(text.trim());
      });
    });
  } finally {
    if (isSecret || !isAnswered) stderr.write('\n');
    terminal.close();
  }
}
