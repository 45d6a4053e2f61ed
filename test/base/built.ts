import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';

const folder = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/**
 * Replaces the modules of src by those of dist. `npm test` has just built them, so its tests run what users get, and Node loads it without
 * Vite, which would transform each module for each worker. `npx vitest` tests the source, which needs no build after each change.
 */
export const built: Plugin = {
  name: 'built',
  enforce: 'pre',
  async resolveId(source, importer) {
    const resolved = await this.resolve(source, importer, { skipSelf: true });
    const file = resolved?.id
      .replace(folder('../../src/'), folder('../../dist/src/'))
      .replace(/\.ts$/, '.js');
    return file !== undefined && file !== resolved?.id && existsSync(file) ? file : resolved;
  },
};
