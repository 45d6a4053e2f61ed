import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { KeyFullError } from '../../../src/campaign/errors/errors.js';
import type { ReportRow } from '../../../src/campaign/views/recipient-views.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { findRecipients, reportRows } from '../../../src/reporting/report.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { importFixture, mobile } from './import-fixture.js';
import { leavesRowsOut } from './left-out-rows.js';

const { prefix, redis } = testRedis('left-out');
const { deps, keys } = importFixture(redis, prefix);

async function created(csv: string, message = 'Hi'): Promise<string> {
  const outcome = await importCampaign(deps, {
    recipients: { csv: Readable.from([Buffer.from(csv)]) },
    message,
    skipInvalid: true,
    again: true,
  });
  if (outcome.outcome !== 'created') throw new Error(`the import ended with ${outcome.outcome}`);
  return outcome.id;
}

async function report(id: string, status?: string): Promise<ReportRow[]> {
  const rows: ReportRow[] = [];
  for await (const row of reportRows(redis, keys, id, { status })) rows.push(row);
  return rows;
}

test('Of an invalid row, the report has the number, the reference, and where it is in the list, and nothing else', async () => {
  const long = `desk ${'9'.repeat(200)}`;
  const id = await created(
    [
      'phone,name,reference',
      `${mobile(1)},Ada,a`,
      `${long},Secret,b`,
      `${mobile(2)},,c`,
      `Secret,${mobile(3)},Secret,Secret`,
      '=1+1,Secret,d',
      '',
    ].join('\n'),
    'Hi {{name}}',
  );
  const rows = await report(id, 'invalid');
  expect(rows.map(({ to, reference, reason }) => [to, reference, reason])).toEqual([
    [long.slice(0, 64), 'b', 'line 3, column "phone": the number is invalid'],
    [mobile(2), 'c', 'line 4, column "name": there is no value, but the message uses it'],
    // Its fields are shifted: what is in the place of the number is not the whole row, and nothing passes for the reference.
    ['Secret', null, 'line 5: the row cannot be read, or its text is too long'],
    ['=1+1', 'd', 'line 6, column "phone": the number is invalid'],
  ]);
  expect(JSON.stringify(rows.filter(({ to }) => to !== 'Secret'))).not.toContain('Secret');
  expect(await report(id)).toHaveLength(5);
});

test('A search finds an invalid row whose number is valid', async () => {
  const id = await created(`phone,name\n${mobile(20)},Ada\n${mobile(21)},\n`, 'Hi {{name}}');
  const found: string[] = [];
  for await (const { campaign, status } of findRecipients(deps, mobile(21)))
    found.push(`${campaign} ${status}`);
  expect(found).toEqual([`${id} invalid`]);
});

test('Rows that are left out are stored, are paged through, and are removed with the campaign', () =>
  leavesRowsOut({ redis, prefix: `${prefix}-rows` }, 1_020));

test('A list of invalid rows stores nothing unless `skipInvalid` is set, and counts for the memory of its key if it is', async () => {
  const by = {
    ...deps.by,
    actor: { kind: 'key' as const, id: 'k1', name: 'shop' },
  };
  const limited = { ...deps, by, config: { ...deps.config, keyBytes: 200_000 } };
  const random = (at: number): string => `${at} ${Math.sin(at)} ${Math.cos(at)}`;
  const list = ['phone', mobile(1), ...Array.from({ length: 30_000 }, (_, at) => random(at))].join('\n');
  const input = (skipInvalid: boolean) => ({
    recipients: { csv: Readable.from([Buffer.from(list)]) },
    toColumn: 'phone',
    message: 'Hi',
    skipInvalid,
    again: true,
  });
  const kept = async (): Promise<string[]> => (await redis.keys(`{${prefix}*leftOut`)).sort();
  const before = await kept();
  expect(await importCampaign(limited, input(false))).toMatchObject({
    outcome: 'refused',
    code: 'invalidRows',
  });
  expect(await kept()).toEqual(before);
  await expect(importCampaign(limited, input(true))).rejects.toBeInstanceOf(KeyFullError);
  expect(await kept()).toEqual(before);
});
