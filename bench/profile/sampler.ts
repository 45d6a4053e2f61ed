/**
 * Preloaded with `--import` into a process to profile. It starts on the message `profile` and writes the profile to the file
 * named by the next message, so that the profile excludes start-up and warm-up.
 */
import { writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';

const session = new Session();

process.on('message', (message) => {
  if (message === 'profile') begin().then(() => process.send?.('profiling'), fail);
  else if (typeof message === 'object' && message !== null && 'profileTo' in message) {
    end(String(message.profileTo)).then(() => process.send?.('profiled'), fail);
  }
});

async function begin(): Promise<void> {
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: 500 });
  await session.post('Profiler.start');
}

async function end(file: string): Promise<void> {
  const { profile } = await session.post('Profiler.stop');
  await writeFile(file, JSON.stringify(profile));
  session.disconnect();
}

function fail(error: unknown): void {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
}
