import { PassThrough } from 'node:stream';
import { run } from '../../../src/surfaces/cli/program.js';

/** What a terminal sends for Ctrl-C. */
export const CTRL_C = '\u0003';
/** The same for Ctrl-D, which ends the input. */
export const CTRL_D = '\u0004';

/** Runs a command on a terminal. The user answers each question, found by a part of it, with the next of its replies. */
export async function onTerminal(
  {
    cwd,
    env = {},
    columns = 80,
    rows = 40,
  }: {
    readonly cwd: string;
    readonly env?: Readonly<Record<string, string>>;
    readonly columns?: number;
    readonly rows?: number;
  },
  replies: Readonly<Record<string, readonly string[]>>,
  ...args: readonly string[]
) {
  const stream = (): PassThrough => Object.assign(new PassThrough(), { isTTY: true, columns, rows });
  const [stdin, stdout, stderr] = [stream(), stream(), stream()];
  const left = Object.entries(replies).map(([question, all]) => ({ question, all: [...all] }));
  let messages = '';
  let answered = 0;
  stderr.setEncoding('utf8').on('data', (text: string) => {
    messages += text;
    const asked = left.find(
      ({ question, all }) => all.length > 0 && messages.slice(answered).includes(question),
    );
    if (asked === undefined) return;
    answered = messages.length;
    setImmediate(() => {
      if (asked.all[0] === CTRL_D) stdin.end();
      else stdin.write(asked.all[0] === CTRL_C ? CTRL_C : `${asked.all.shift()}\n`);
    });
  });
  const exit = await run(args, {
    env: { NO_COLOR: '1', ...env },
    cwd,
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stderr: stderr as unknown as NodeJS.WriteStream,
    clock: Date.now,
  });
  return { exit, messages, stdout: String(stdout.read() ?? '') };
}
