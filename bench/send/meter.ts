/**
 * Loaded with `--import` into a process that is measured: tells, when asked, how many commands its connections have sent to
 * Redis and how much processor time it has taken. A script is one command here, whatever it calls; what it calls the
 * server's own statistics count.
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
// The end of the channel is the end of the measurement, however that came about.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
