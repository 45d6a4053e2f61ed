import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { KeyFullError } from '../../../src/campaign/errors.js';
import type { ReportRow } from '../../../src/campaign/recipient-views.js';
import { readMeta } from '../../../src/engine/lane/campaign-meta.js';
import { readState } from '../../../src/engine/lane/campaigns.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { findRecipients, recipientPage, reportRows } from '../../../src/reporting/report.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { importFixture, mobile } from './import-fixture.js';

const { prefix, redis } = testRedis('left-out');
const { deps, keys, lane, stored } = importFixture(redis, prefix);

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

test('The first 100,000 duplicates and the first 100,000 invalid rows are stored, are paged through, and are removed with the campaign', async () => {
  const many = 100_020;
  const rows = ['phone', mobile(1)];
  for (let at = 0; at < many; at += 1) rows.push(mobile(1));
  for (let at = 0; at < many; at += 1) rows.push('0');
  const id = await created(`${rows.join('\n')}\n`);
  expect(await readMeta(redis, keys, lane, id)).toMatchObject({ duplicates: many, invalid: many });
  expect((await readState(redis, keys, lane, id))?.total).toBe(1);
  const counts = new Map<string, number>();
  for (const { status } of await report(id)) counts.set(status, (counts.get(status) ?? 0) + 1);
  expect([...counts]).toEqual([
    ['planned', 1],
    ['duplicate', 100_000],
    ['invalid', 100_000],
  ]);
  const last = await recipientPage(redis, keys, id, { cursor: '199999', limit: 10 });
  expect(last.recipients.map(({ leftOut }) => leftOut?.line)).toEqual([200_021, 200_022]);
  expect(last.nextCursor).toBe(null);
  const filtered = await recipientPage(redis, keys, id, { limit: 2, status: 'invalid' });
  expect(filtered).toMatchObject({
    recipients: [{ leftOut: { line: 100_023 } }, { leftOut: { line: 100_024 } }],
    nextCursor: '100003',
  });
  await stored.changeState(id, { state: 'completed', endedAt: 1, counts: { deliveredToTerminal: 1 } });
  await removeCampaign(redis, keys, lane, id);
  expect((await redis.keys(`{${prefix}*`)).filter((key) => key.includes(id))).toEqual([]);
});

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
