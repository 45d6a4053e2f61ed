/**
 * Preloaded with `--import` into a process to measure. On request it reports how many commands its connections have sent to
 * Redis and its CPU time. A script counts as one command here; the server's statistics count the commands within it.
 */
import { Redis } from 'ioredis';

let sent = 0;
const { sendCommand } = Redis.prototype;
Redis.prototype.sendCommand = function (...args: Parameters<typeof sendCommand>) {
  sent += 1;
  return sendCommand.apply(this, args);
};

process.on('message', (message) => {
  if (message !== 'meter') return;
  const { user, system } = process.cpuUsage();
  process.send?.({ commands: sent, processorMs: (user + system) / 1000 });
});
// A closed channel means that the bench process has ended.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
