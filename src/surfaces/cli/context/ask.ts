import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { asSentence } from '../../../campaign/errors/errors.js';
import type { Context } from './context.js';
import { CliError, interrupted } from './errors.js';

interface Asked {
  /** What Ctrl-C or Ctrl-D means, such as `nothing was written`. */
  readonly consequence: string;
  /** Does not show what is typed. */
  readonly isSecret?: boolean;
  /** Interrupts the question as Ctrl-C does. */
  readonly signal?: AbortSignal;
}

/** Asks for a line on the terminal. The question is on standard error, so that the answer can be redirected to a file. */
export async function ask(
  { stdin, stderr }: Context,
  question: string,
  { consequence, isSecret = false, signal }: Asked,
): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: stdin, output: isSecret ? nowhere : stderr, terminal: true });
  let isAnswered = false;
  try {
    if (isSecret) stderr.write(question);
    return await new Promise<string>((resolve, reject) => {
      const interrupt = (): void => reject(interrupted(consequence));
      if (signal?.aborted) interrupt();
      signal?.addEventListener('abort', interrupt, { once: true });
      terminal.once('SIGINT', interrupt).once('close', interrupt);
      terminal.question(isSecret ? '' : question, (text) => {
        isAnswered = true;
        resolve(text.trim());
      });
    });
  } finally {
    // Without an answer, the cursor still stands behind the question.
    if (isSecret || !isAnswered) stderr.write('\n');
    terminal.close();
  }
}

/** Asks a yes-or-no question. Anything but `y` or `yes` is a no. */
export async function confirm(context: Context, question: string, asked: Asked): Promise<boolean> {
  return /^y(es)?$/i.test(await ask(context, `${question} [y/N] `, asked));
}

/** Asks a yes-or-no question, and ends the command after a no. */
export async function mustConfirm(context: Context, question: string, asked: Asked): Promise<void> {
  if (!(await confirm(context, question, asked)))
    throw new CliError('declined', asSentence(asked.consequence));
}
