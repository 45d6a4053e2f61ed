import { expect, test } from 'vitest';
import { scene } from '../../scene/scene.js';

const { shell, write } = scene('cli-suppression', { lanes: ['main', 'other'] });
const { volley, json } = shell();

test('A change of a suppression list is shown with its actor and reason, and can be undone', async () => {
  const file = write('opt-outs.csv', '+447700900101\n+447700900102\n');
  const imported = await volley('suppress', 'import', file, '--lane', 'main', '--reason', 'monthly list');
  expect(imported.stdout).toBe(
    '2 numbers added from 2 rows. To undo it: volley suppress undo 1\nNumbers by country: United Kingdom (+44) 2.\n',
  );
  const added = await json('suppress', 'add', '+447700900102', '+447700900103');
  expect(added.output).toEqual({ added: 2, operation: '2' });

  const shown = (await volley('suppress', 'operations')).stdout;
  expect(shown).toMatch(/^ID +CHANGE +NUMBERS +LIST +TIME +ACTOR +SOURCE +REASON\n/);
  expect(shown).toMatch(/\n1 +add +2 +main .* cli \S+@\S+ +file opt-outs\.csv +monthly list\n/);
  expect((await volley('suppress', 'operations', '--lane', 'main')).stdout).not.toContain('all lanes');
  expect((await volley('suppress', 'why', '+447700900102')).stdout.split('\n')).toHaveLength(4);
  expect((await volley('suppress', 'why', '+447700900199')).stdout).toBe('This number is not suppressed.\n');

  expect((await json('suppress', 'list', '--lane', 'main')).output).toMatchObject({
    numbers: expect.arrayContaining(['+447700900101', '+447700900102']),
  });
  expect((await volley('suppress', 'undo', '1')).stdout).toBe(
    'Operation 1 is undone: 2 numbers taken off the list.\n',
  );
  expect((await json('suppress', 'list', '--lane', 'main')).output).toEqual({ numbers: [] });
  expect((await volley('suppress', 'list')).stdout.trim().split('\n').sort()).toEqual([
    '+447700900102',
    '+447700900103',
  ]);
  const again = await volley('suppress', 'undo', '1');
  expect([again.exit, again.stderr]).toEqual([2, expect.stringContaining('operation 1 is undone already')]);

  const { output } = await json('audit', '--lane', 'main');
  expect((output as { entries: { action: string; actor: { kind: string } }[] }).entries).toMatchObject([
    // Printing the list is an export.
    { action: 'suppression.export' },
    { action: 'suppression.undo', actor: { kind: 'cli' }, details: { operation: '1' } },
    { action: 'suppression.export' },
    // Without its reason, which may name a person.
    { action: 'suppression.add', details: { source: 'file opt-outs.csv' } },
  ]);
  expect((await volley('audit')).stdout).toMatch(/cli \S+@\S+ +suppression\.add +main +source file opt-outs/);
});

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
    removed: 0,
    operation: null,
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
