#!/usr/bin/env node
import { systemClock } from '../clock.js';
import { run } from './program.js';

const { env, stdin, stdout, stderr } = process;

// Whoever reads may have enough before the end: `volley report … | head`.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(process.exitCode);
});

process.exitCode = await run(process.argv.slice(2), {
  env,
  cwd: process.cwd(),
  stdin,
  stdout,
  stderr,
  clock: systemClock,
});
