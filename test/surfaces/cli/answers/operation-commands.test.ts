import { readFile } from 'node:fs/promises';
import { expect, expectTypeOf, test } from 'vitest';
import type * as audit from '../../../../src/operations/audit.js';
import type * as campaigns from '../../../../src/operations/campaigns.js';
import { commandTable } from '../../../../src/operations/command-table.js';
import { OPERATIONS } from '../../../../src/operations/index.js';
import { DONE } from '../../../../src/operations/words.js';
import type { Answers } from '../../../../src/surfaces/cli/answers/answer.js';

test('The build replaces the table of commands by its value, so that help loads no schemas', async () => {
  const path = new URL('../../../../dist/src/surfaces/cli/answers/operation-commands.js', import.meta.url);
  const built: { readonly OPERATION_COMMANDS: unknown } = await import(path.href);
  expect(built.OPERATION_COMMANDS).toEqual(commandTable(OPERATIONS));
  const text = await readFile(path, 'utf8');
  expect(text.startsWith('export const OPERATION_COMMANDS = [{')).toBe(true);
});

test('An operation whose command is not written by hand needs an answer', () => {
  expect(commandTable(OPERATIONS)).toContainEqual(
    expect.objectContaining({ name: 'listAuditEntries', tag: 'Operation', byHand: false }),
  );
  expectTypeOf<object>().not.toExtend<Answers<'Operation', typeof audit>>();
  expectTypeOf<Answers<'Operation', typeof audit>>().toHaveProperty('listAuditEntries');
  expectTypeOf<Answers<'Campaigns', typeof campaigns>>().not.toHaveProperty('getCampaign');
  expectTypeOf<Answers<'Campaigns', typeof campaigns>>().not.toHaveProperty('listAuditEntries');
  // @ts-expect-error: listAuditEntries has no answer.
  const missing: Answers<'Operation', typeof audit> = {};
  expect(missing).toEqual({});
});

test('An operation that says on every surface what it did needs no answer, and one without such a text does', () => {
  expectTypeOf<Answers<'Campaigns', typeof campaigns>>().toHaveProperty('pauseCampaign').toExtend<unknown>();
  expectTypeOf<object>().toExtend<Pick<Answers<'Campaigns', typeof campaigns>, 'pauseCampaign'>>();
  expectTypeOf<object>().not.toExtend<Pick<Answers<'Campaigns', typeof campaigns>, 'resumeCampaign'>>();
  expect(Object.keys(DONE)).toContain('pauseCampaign');
});

test('At most twelve operations have commands that are written by hand', () => {
  const byHand = commandTable(OPERATIONS).filter((command) => command.byHand);
  expect(byHand.map(({ name }) => name)).toEqual([
    'createCampaign',
    'previewCampaign',
    'getCampaign',
    'resolveCampaign',
    'addSchedule',
    'setOutbox',
    'getOutbox',
    'putMessages',
    'cancelMessage',
    'findNumber',
    'fetchRecords',
    'downloadRecords',
  ]);
});
