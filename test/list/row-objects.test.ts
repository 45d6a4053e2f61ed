import { expect, test } from 'vitest';
import { type RecipientInput, rowsOfObjects } from '../../src/list/row-objects.js';

test('what an object inherits is no value of it, and null is none either', async () => {
  const recipients: RecipientInput[] = [
    { to: '+447700900123', toString: 'Anna', constructor: 7, name: null },
    { to: '+447700900124' },
  ];
  const { columns, batches } = await rowsOfObjects(recipients);
  expect(columns).toEqual(['to', 'toString', 'constructor', 'name']);
  const rows = [];
  for await (const batch of batches) rows.push(...batch);
  expect(rows).toEqual([
    { line: 1, fields: ['+447700900123', 'Anna', '7', ''], fault: null },
    { line: 2, fields: ['+447700900124', '', '', ''], fault: null },
  ]);
});
