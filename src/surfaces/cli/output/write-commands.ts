import { writeFile } from 'node:fs/promises';
import { commandTable } from '../../../operations/command-table.js';
import { OPERATIONS } from '../../../operations/index.js';

/*
 * A step of the build: replaces the compiled operation-commands.js by the table that it would compute.
 */

const text = `export const OPERATION_COMMANDS = ${JSON.stringify(commandTable(OPERATIONS))};\n`;
await writeFile(new URL('operation-commands.js', import.meta.url), text);
