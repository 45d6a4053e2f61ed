import { expect, test } from 'vitest';
import {
  type CheckedRow,
  type CheckOptions,
  checkRows,
} from '../../../../src/intake/import/rows/check-rows.js';
import type { Row } from '../../../../src/intake/import/rows/rows.js';

const COLUMNS = ['phone', 'country', 'zone', 'sendAt'];
const FILLED = ['07700900123', 'GB', 'Europe/Oslo', '1970-01-02T12:00'];
const REASON = 'has a formula without a result';

/** Checks a row of a workbook that has a formula without a result in a column. */
async function checkedWithout(column: string, options: CheckOptions): Promise<CheckedRow[]> {
  const at = COLUMNS.indexOf(column);
  const fields = FILLED.map((cell, place) => (place === at ? '' : cell));
  const row: Row = { line: 3, fields, fault: null, unusable: new Map([[at, REASON]]) };
  async function* batches() {
    yield [{ line: 2, fields: FILLED, fault: null }, row];
  }
  const list = { columns: COLUMNS, batches: batches(), close: () => {} };
  const { batches: checked } = await checkRows(list, { defaultCountry: 'GB', ...options });
  const rows: CheckedRow[] = [];
  for await (const batch of checked) rows.push(...batch);
  return rows;
}

const times = { column: undefined, zoneColumn: undefined, zone: 'UTC', window: undefined };
const ends = { laneWindow: undefined, now: 0, from: 0, latest: 1e9, lapsesAt: 1e9 };
const window = 'Mon-Fri 09:00-17:00';
const zones = { window, laneWindow: undefined, column: undefined, isFromNumber: true, from: 0 };

test.each<[string, string, CheckOptions]>([
  ['the number', 'phone', {}],
  ['the country', 'country', {}],
  ['the time', 'sendAt', { times: { ...times, ...ends } }],
  ['the zone of the time', 'zone', { times: { ...times, ...ends } }],
  ['the zone of the window', 'zone', { zones }],
])('A cell that cannot be read does not pass for an empty one: %s', async (_, column, options) => {
  const rows = await checkedWithout(column, options);
  expect(rows).toMatchObject([{ kind: 'recipient' }, { kind: 'invalid', line: 3, column, reason: REASON }]);
});

test('A cell that cannot be read is no fault in a column without a meaning', async () => {
  const rows = await checkedWithout('zone', {});
  expect(rows).toMatchObject([{ kind: 'recipient' }, { kind: 'duplicate' }]);
});
