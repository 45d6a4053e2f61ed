import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { shell, write } = scene('cli-suppression', { lanes: ['main', 'other'] });
const { volley, json } = shell();

test('A change that changes nothing offers no undo, and a removal of nothing is not recorded', async () => {
  const to = '+447700900150';
  const lane = ['--lane', 'other'];
  const operations = async (): Promise<number> => {
    const { output } = await json('suppress', 'operations', ...lane);
    return (output as { operations: unknown[] }).operations.length;
  };
  const nothing = await volley('suppress', 'remove', to, ...lane);
  expect([nothing.exit, nothing.stdout]).toEqual([
    0,
    'The number is not on the list of lane other, so nothing has changed.\n',
  ]);
  expect((await json('suppress', 'remove', to, '+447700900151', ...lane)).output).toEqual({
    numberCount: 0,
    operation: null,
    lane: 'other',
  });
  expect((await volley('suppress', 'remove', to, '+447700900151')).stdout).toBe(
    'None of the numbers is on the list for all lanes, so nothing has changed.\n',
  );
  expect(await operations()).toBe(0);

  const first = (await json('suppress', 'add', to, ...lane)).output as { operation: string };
  const again = await volley('suppress', 'add', to, ...lane);
  expect(again.stdout).toMatch(
    /^The number is on the list already, so nothing has changed\. Operation \d+ records it: if you undo the earlier one, it stays on the list\.\n$/,
  );
  // It was said twice that this number wants no messages, so undoing one of them is not enough.
  expect((await volley('suppress', 'undo', first.operation)).stdout).toBe(
    `Operation ${first.operation} is undone: 0 numbers taken off the list.\n`,
  );
  expect((await json('suppress', 'list', ...lane)).output).toEqual({ numbers: [to] });

  const file = write('none.csv', 'phone\nnobody\n');
  const before = await operations();
  const imported = await volley('suppress', 'import', file, ...lane);
  expect([imported.exit, imported.stderr]).toEqual([
    2,
    expect.stringContaining('No number was added from 1 row.'),
  ]);
  expect(await operations()).toBe(before);
});

test('The audit trail shows an operation that failed once, with the reason', async () => {
  const { exit } = await volley('suppress', 'undo', '1');
  expect(exit).toBe(2);
  const failing = ['lane', 'rename', 'main', 'other'];
  expect((await volley(...failing)).exit).toBe(2);
  await volley('lane', 'hold', 'other');
  expect((await volley(...failing)).exit).toBe(2);
  const { stdout } = await volley('audit', '--lane', 'main');
  const renames = stdout.split('\n').filter((line) => line.includes('lane.rename'));
  expect(renames).toHaveLength(2);
  for (const line of renames) expect(line).toContain('failed: ');
});

test('An empty list says so, and which lanes have lists of their own', async () => {
  await volley('suppress', 'add', '+447700900160', '--lane', 'other');
  const list = await volley('suppress', 'list');
  expect([list.stdout, list.stderr]).toEqual([
    '',
    'No number is suppressed on all lanes.\nFor lane other, see: volley suppress list --lane other\n',
  ]);
  expect((await volley('suppress', 'list', '--lane', 'main')).stderr).toBe(
    'No number is suppressed on lane main alone.\n',
  );
  expect((await volley('suppress', 'list', '--lane', 'other')).stderr).toBe('');
});
