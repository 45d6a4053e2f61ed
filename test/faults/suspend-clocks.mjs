import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';

/**
 * Preloaded into a worker process with `node --import`: makes SIGSTOP look like the suspension of the machine. The clocks named in
 * STOPPED_CLOCKS (monotonic, wall, uptime; separated by commas) stand still while the process is stopped. The process reads its
 * clocks every 20 ms, so a gap of more than a second between two readings means that it was stopped.
 */
const READ_EVERY_MS = 20;
const STOPPED_AFTER_MS = 1_000;
const stoppedClocks = (process.env.STOPPED_CLOCKS ?? '').split(',');
const realTime = process.hrtime.bigint;
const msNow = () => Number(realTime()) / 1e6;
let stoppedMs = 0;
let readAt = msNow();

/** How long the process has been stopped so far, in ms. */
function stoppedTime() {
  const now = msNow();
  if (now - readAt > STOPPED_AFTER_MS) stoppedMs += now - readAt;
  readAt = now;
  return stoppedMs;
}

setInterval(stoppedTime, READ_EVERY_MS).unref();

const real = { now: performance.now.bind(performance), date: Date.now, uptime: os.uptime };
if (stoppedClocks.includes('monotonic')) performance.now = () => real.now() - stoppedTime();
if (stoppedClocks.includes('wall')) Date.now = () => real.date() - Math.round(stoppedTime());
if (stoppedClocks.includes('uptime')) {
  os.uptime = () => real.uptime() - stoppedTime() / 1_000;
  // Without this file, the process asks `os`.
  const { openSync } = fs;
  fs.openSync = (path, ...rest) => openSync(path === '/proc/uptime' ? '/proc/none' : path, ...rest);
}
syncBuiltinESMExports();
