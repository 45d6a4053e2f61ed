import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The Chromium of this machine; null: there is none, and the checks of the console are skipped. */
    chromium: string | null;
    /** Whether the checks that take long run, too. */
    isNightly: boolean;
  }
}

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'] as const;

/**
 * Finds the browser for the checks of the console. CONSOLE_CHECKS says how many of them run: `ci` and `all` fail without a browser; by
 * default, those of `ci` run if there is one.
 */
export default async function setup(project: TestProject): Promise<void> {
  const chromium = await find();
  const which = process.env['CONSOLE_CHECKS'];
  if (chromium === null) {
    const missing = `Chromium is not installed (${NAMES.join(', ')})`;
    if (which !== undefined) throw new Error(`${missing}, so the checks of the console cannot run.`);
    // `npm test` has none of them.
    if (process.env['TESTS'] !== 'quick')
      console.error(`${missing}: the checks of the console in a browser are skipped.`);
  }
  project.provide('chromium', chromium);
  project.provide('isNightly', which === 'all');
}

async function find(): Promise<string | null> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter))
    for (const name of NAMES) {
      const file = join(folder, name);
      if (await isProgram(file)) return file;
    }
  return null;
}

const isProgram = (file: string): Promise<boolean> =>
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
