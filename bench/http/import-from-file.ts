/**
 * The library's own import of a file, in a process of its own: what an upload is compared with in bench/http.ts. Run as a
 * program it imports `FILE` and prints how many seconds that took.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createVolley } from '../../src/app/runtime.js';
import { loadLocalConfig } from '../../src/base/config/index.js';
import { createEvents } from '../../src/base/events/events.js';

const SELF = fileURLToPath(import.meta.url);

/** Seconds it takes, its process started and connected. Besides settings: `FILE`, `MESSAGE`, `AT`. */
export async function importedFromFile(settings: Readonly<Record<string, string>>): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [SELF], {
    env: { PATH: process.env['PATH'], ...settings },
  });
  return Number(stdout);
}

if (process.argv[1] === SELF) {
  const { FILE = '', MESSAGE = '', AT = '', ...settings } = process.env;
  const volley = createVolley({
    config: loadLocalConfig(settings),
    events: createEvents({ level: 'silent' }),
  });
  await volley.ping('5s');
  const began = performance.now();
  const outcome = await volley.enqueue({
    recipients: FILE,
    message: MESSAGE,
    sender: '12345',
    sendAt: Date.parse(AT),
    again: true,
  });
  if (outcome.outcome !== 'created') throw new Error(`the import was ${outcome.outcome}`);
  process.stdout.write(String((performance.now() - began) / 1_000));
  await volley.close();
}
