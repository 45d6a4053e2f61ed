/** The library's import of a file, in a process of its own. Run as a program it imports `FILE` and prints what that took. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createVolley } from '../src/app/runtime.js';
import { loadLocalConfig } from '../src/base/config/index.js';
import { createEvents } from '../src/base/events/events.js';

const SELF = fileURLToPath(import.meta.url);
/** When the campaigns of the benches are due: they are never sent. */
export const NEVER = '2999-01-01T00:00:00Z';
/** The settings with which such campaigns may be imported. */
export const SETTINGS = { API_KEY: 'bench', HOURLY_QUOTA: '100000', MAX_SCHEDULE_AHEAD: '365000d' };

/** What an import took, once its process has started and is connected. */
export interface Imported {
  readonly seconds: number;
  readonly peakMb: number;
}

export async function importedFromFile(redisUrl: string, file: string, message: string): Promise<Imported> {
  const { stdout } = await promisify(execFile)(process.execPath, [SELF], {
    env: { PATH: process.env['PATH'], ...SETTINGS, REDIS_URL: redisUrl, FILE: file, MESSAGE: message },
  });
  return JSON.parse(stdout) as Imported;
}

if (process.argv[1] === SELF) {
  const { FILE = '', MESSAGE = '', ...settings } = process.env;
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
    sendAt: Date.parse(NEVER),
    again: true,
  });
  if (outcome.outcome !== 'created') throw new Error(`the import was ${outcome.outcome}`);
  const imported: Imported = {
    seconds: (performance.now() - began) / 1_000,
    peakMb: Math.round(process.resourceUsage().maxRSS / 1024),
  };
  process.stdout.write(JSON.stringify(imported));
  await volley.close();
}
