import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { commandTable } from '../../src/operations/command-table.js';
import { OPERATIONS } from '../../src/operations/index.js';

/*
 * The names, flags, and help of commands come from the rows of their operations. After a change, write them with
 *
 *   npm run generate:commands
 */

const FILE = '../../src/surfaces/cli/commands/operation-commands.ts';

test('The commands of the command line are those of the operations', async () => {
  const text = `import type { OperationCommand } from '../../../operations/command-table.js';

// Generated: change the rows in operations/, and run \`npm run generate:commands\`.
export const OPERATION_COMMANDS = ${JSON.stringify(commandTable(OPERATIONS))} as const satisfies readonly OperationCommand[];
`;
  const { stdout, status } = spawnSync(
    'node_modules/.bin/biome',
    ['format', '--stdin-file-path=operation-commands.ts'],
    { input: text, encoding: 'utf8' },
  );
  expect(status).toBe(0);
  await expect(stdout).toMatchFileSnapshot(FILE);
});
