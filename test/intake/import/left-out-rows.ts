import { Readable } from 'node:stream';
import { expect } from 'vitest';
import type { Redis } from '../../../src/base/redis/connection.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { readMeta } from '../../../src/engine/store/campaign-meta.js';
import { readState } from '../../../src/engine/store/campaigns.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { recipientPage, reportRows } from '../../../src/reporting/report.js';
import { keysOf } from '../../base/redis/test-redis.js';
import { importFixture, mobile } from './import-fixture.js';

/** Of each kind of rows that are left out, so many are stored. */
const MOST = 100_000;

/** Imports a list with one recipient, and this many duplicates and invalid rows. Checks what is stored of these, and removes it. */
export async function leavesRowsOut(
  { redis, prefix }: { readonly redis: Redis; readonly prefix: string },
  many: number,
): Promise<void> {
  const { deps, keys, lane, stored } = importFixture(redis, prefix);
  const kept = Math.min(many, MOST);
  const rows = ['phone', mobile(1)];
  for (let at = 0; at < many; at += 1) rows.push(mobile(1));
  for (let at = 0; at < many; at += 1) rows.push('0');
  const csv = Readable.from([Buffer.from(`${rows.join('\n')}\n`)]);
  const outcome = await importCampaign(deps, { message: 'Hi', recipients: { csv }, skipInvalid: true });
  if (outcome.outcome !== 'created') throw new Error(`the import ended with ${outcome.outcome}`);
  const { id } = outcome;
  expect(await readMeta(redis, keys, lane, id)).toMatchObject({ duplicates: many, invalid: many });
  expect((await readState(redis, keys, lane, id))?.total).toBe(1);
  const counts: Record<string, number> = {};
  for await (const { status } of reportRows(redis, keys, id)) counts[status] = (counts[status] ?? 0) + 1;
  expect(counts).toEqual({ planned: 1, duplicate: kept, invalid: kept });
  const last = await recipientPage(redis, keys, id, { cursor: String(2 * kept - 1), limit: 10 });
  expect(last.recipients.map(({ leftOut }) => leftOut?.line)).toEqual([many + kept + 1, many + kept + 2]);
  expect(last.nextCursor).toBe(null);
  expect(await recipientPage(redis, keys, id, { limit: 2, status: 'invalid' })).toMatchObject({
    recipients: [{ leftOut: { line: many + 3 } }, { leftOut: { line: many + 4 } }],
    nextCursor: String(kept + 3),
  });
  await stored.changeState(id, { state: 'completed', endedAt: 1, counts: { deliveredToTerminal: 1 } });
  await removeCampaign(redis, keys, lane, id);
  expect((await keysOf(redis, prefix)).filter((key) => key.includes(id))).toEqual([]);
}
