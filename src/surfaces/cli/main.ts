#!/usr/bin/env node
import { version } from '../../base/version.js';

const { argv, env, stdin, stdout, stderr } = process;
const args = argv.slice(2);
/** The code of a command that failed (exit-codes.ts), which `--version` does not load. */
const FAILED = 1;

// A command goes on when the reader of its log leaves.
stderr.on('error', () => {});

// A reader may close the pipe before the end: `volley report … | head`.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(process.exitCode);
  // No answer can be printed any more, whatever the command has done.
  const reason = error.code === 'ENOSPC' ? 'there is no space left' : error.message;
  stderr.write(`volley: Standard output cannot be written: ${reason}. The output is incomplete.\n`);
  process.exit(FAILED);
});

if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) {
  // Needs none of the commands, so it does not load them.
  stdout.write(`${version}\n`);
} else {
  const [{ EXIT }, { run }] = await Promise.all([import('../../base/exit-codes.js'), import('./program.js')]);
  process.exitCode = await run(args, { env, cwd: process.cwd(), stdin, stdout, stderr, clock: Date.now });
  // A read that was interrupted, such as of standard input, would keep the process alive.
  if (process.exitCode === EXIT.interrupted) stdout.write('', () => process.exit());
}
