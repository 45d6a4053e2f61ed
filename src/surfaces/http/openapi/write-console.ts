import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { COUNTRIES } from '../../../campaign/numbers/numbering-plan.js';
import { consoleCommands } from './console-commands.js';

/*
 * A step of the build: writes what the page imports to the folder that the argument names.
 */

const [folder = ''] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
const files = {
  'commands.json': consoleCommands(),
  // The countries among which people choose: those whose numbers Volley can read.
  'countries.json': [...COUNTRIES.keys()].sort().join(' '),
};
for (const [name, content] of Object.entries(files))
  await writeFile(join(folder, name), `${JSON.stringify(content)}\n`);
