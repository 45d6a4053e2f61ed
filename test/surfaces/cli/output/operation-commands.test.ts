import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { commandTable } from '../../../../src/operations/command-table.js';
import { OPERATIONS } from '../../../../src/operations/index.js';

test('The build replaces the table of commands by its value, so that help loads no schemas', async () => {
  const path = new URL('../../../../dist/src/surfaces/cli/output/operation-commands.js', import.meta.url);
  const built: { readonly OPERATION_COMMANDS: unknown } = await import(path.href);
  expect(built.OPERATION_COMMANDS).toEqual(commandTable(OPERATIONS));
  const text = await readFile(path, 'utf8');
  expect(text.startsWith('export const OPERATION_COMMANDS = [{')).toBe(true);
});

test('Nine operations have commands that are written by hand', () => {
  const byHand = commandTable(OPERATIONS).filter((command) => command.byHand);
  expect(byHand.map(({ name }) => name)).toEqual([
    'createCampaign',
    'previewCampaign',
    'getCampaign',
    'resolveCampaign',
    'addSchedule',
    'setOutbox',
    'putMessages',
    'fetchRecords',
    'downloadRecords',
  ]);
});
