import { expect, onTestFinished, test } from 'vitest';
import { InputError, NotFoundError } from '../../src/campaign/errors/errors.js';
import type { FoundRecipient, ReportRow } from '../../src/campaign/views/recipient-views.js';
import { openLanes } from '../../src/engine/lane/lane-finder.js';
import { recordsKey } from '../../src/engine/recipients/campaign-keys.js';
import { removeCampaign } from '../../src/engine/recovery/retention.js';
import { importCampaign } from '../../src/intake/import/import-campaign.js';
import { openSuppressionList } from '../../src/intake/import/suppression-list.js';
import { findRecipients, recipientPage, reportRows } from '../../src/reporting/report.js';
import { SUPPRESSING } from '../app/access/operator.js';
import { testRedis } from '../base/redis/test-redis.js';
import { importFixture, mobile } from '../intake/import/import-fixture.js';
import { storedLane } from '../scene/stored.js';

const { prefix, redis } = testRedis('report');
const { deps, keys, lane } = importFixture(redis, prefix);
const stored = storedLane({ redis, keys, id: lane });
const SENT = Date.UTC(2027, 0, 15, 8, 0, 0);

async function campaign(message: string, first: number, count: number): Promise<string> {
  const recipients = Array.from({ length: count }, (_, at) => ({ to: mobile(first + at) }));
  const outcome = await importCampaign(deps, { recipients, message, name: message });
  if (outcome.outcome !== 'created') throw new Error(`the import ended with ${outcome.outcome}`);
  return outcome.id;
}

/** Writes statuses and records as the scripts do. */
async function settled(id: string, first: number, letters: string, record: string): Promise<void> {
  await stored.setLetters(id, letters, first);
  await stored.setRecord(id, first, record);
}

async function claimed(hash: 'claims' | 'unknown', number: number, claim: object): Promise<void> {
  await stored.put(hash, String(number), claim);
  onTestFinished(async () => void (await stored.remove(hash, String(number))));
}

async function rows(id: string, status?: string): Promise<ReportRow[]> {
  const found: ReportRow[] = [];
  for await (const row of reportRows(redis, keys, id, { status })) found.push(row);
  return found;
}

test('A number with two texts in a campaign is found with both, and with the rows that were left out', async () => {
  const rows = [
    { to: mobile(800), what: 'haircut' },
    { to: mobile(801), what: 'haircut' },
    { to: mobile(800), what: 'massage' },
    { to: mobile(800), what: 'haircut' },
  ];
  const find = async () => {
    const found: string[] = [];
    for await (const { status, reason } of findRecipients(deps, mobile(800)))
      found.push(`${status} ${reason ?? ''}`.trim());
    return found;
  };
  const input = { recipients: rows, message: 'Your {{what}}' };
  await importCampaign(deps, { ...input, duplicates: 'keep' });
  expect(await find()).toEqual(['planned', 'planned', 'duplicate line 4 repeats line 1']);
  await deps.suppression.add([mobile(800)], SUPPRESSING);
  await importCampaign(deps, { ...input, duplicates: 'keep', again: true });
  await deps.suppression.remove([mobile(800)], SUPPRESSING);
  const suppressed = 'suppressed on the suppression list';
  expect((await find()).slice(0, 3)).toEqual([suppressed, suppressed, 'duplicate line 4 repeats line 1']);
});

const NO_WORD = { serviceStatus: null, serviceCode: null };

test('A row shows the state, reason, request, and times of a recipient in every state', async () => {
  await deps.suppression.add([mobile(102)], SUPPRESSING);
  const id = await campaign('All states', 100, 16);
  await settled(id, 0, 'NTI', `3,${SENT},61000,,9b1c-4,with,commas`);
  await redis.hset(recordsKey(keys, lane, id, 0), 'w2', '11,InvalidDestAddress');
  await settled(id, 3, 'R', `1,${SENT},5,refused; so to say,`);
  await settled(id, 4, 'UU', `2,${SENT},30000,the connection broke,`);
  await settled(id, 6, 'A', `1,${SENT},90000,given up,`);
  await settled(id, 7, 'C', `1,${SENT},90000,no report by the deadline,id-7`);
  await settled(id, 8, 'S', `1,${SENT},1,suppressed before it was sent,`);
  await claimed('unknown', 71, {
    campaign: id,
    first: 4,
    count: 2,
    at: SENT,
    reason: 'the connection broke',
    since: SENT,
  });
  await claimed('claims', 72, {
    campaign: id,
    first: 9,
    count: 2,
    at: SENT,
    turn: 'turn',
    call: 1,
    epoch: 0,
  });
  await claimed('claims', 73, {
    campaign: 'another',
    first: 0,
    count: 16,
    at: SENT,
    turn: 'turn',
    call: 1,
    epoch: 0,
  });
  await stored.changeState(id, { cursor: 11, released: {} });
  const sent = new Date(SENT).toISOString();
  const later = (ms: number): string => new Date(SENT + ms).toISOString();
  const none = { reason: null, requestId: null, sentAt: null, updatedAt: null };
  const request = { reason: null, requestId: '9b1c-4,with,commas', sentAt: sent, updatedAt: later(61_000) };
  const unknown = {
    reason: 'the connection broke',
    requestId: `${id}-71`,
    sentAt: sent,
    updatedAt: later(30_000),
  };
  const number = (at: number): string => mobile(at < 2 ? 100 + at : 101 + at);
  const expected: Omit<
    ReportRow,
    'to' | 'reference' | 'serviceStatus' | 'serviceCode' | 'leftOut' | 'revision' | 'values'
  >[] = [
    { status: 'deliveredToNetwork', ...request },
    { status: 'deliveredToTerminal', ...request },
    { status: 'deliveryImpossible', ...request },
    { status: 'rejected', reason: 'refused; so to say', requestId: null, sentAt: null, updatedAt: later(5) },
    { status: 'unknown', ...unknown },
    { status: 'unknown', ...unknown },
    { status: 'abandoned', reason: 'given up', requestId: null, sentAt: sent, updatedAt: later(90_000) },
    {
      status: 'unconfirmed',
      reason: 'no report by the deadline',
      requestId: 'id-7',
      sentAt: sent,
      updatedAt: later(90_000),
    },
    {
      status: 'suppressed',
      reason: 'suppressed before it was sent',
      requestId: null,
      sentAt: null,
      updatedAt: later(1),
    },
    { status: 'sending', ...none, requestId: `${id}-72`, updatedAt: sent },
    { status: 'sending', ...none, requestId: `${id}-72`, updatedAt: sent },
    ...Array.from({ length: 4 }, () => ({ status: 'planned' as const, ...none })),
  ];
  expect(await rows(id)).toEqual([
    ...expected.map((row, at) => ({
      to: number(at),
      ...row,
      reference: null,
      ...(at === 2 ? { serviceStatus: 'InvalidDestAddress', serviceCode: '11' } : NO_WORD),
      leftOut: null,
      revision: ['sending', 'planned', 'suppressed'].includes(row.status) ? null : 0,
      values: null,
    })),
    {
      to: mobile(102),
      status: 'suppressed',
      ...none,
      reason: 'on the suppression list',
      updatedAt: expect.stringMatching(/^20/),
      reference: null,
      ...NO_WORD,
      leftOut: null,
      revision: null,
      values: null,
    },
  ]);
});

test('Recipients that were never sent to have the state of the remainder', async () => {
  const id = await campaign('Cancelled', 200, 3);
  await settled(id, 1, 'T', `1,${SENT},1,,id`);
  await stored.changeState(id, { state: 'cancelled', remainder: 'cancelled' });
  expect((await rows(id)).map(({ status, reason }) => [status, reason])).toEqual([
    ['cancelled', 'cancelled before it was sent'],
    ['deliveredToTerminal', null],
    ['cancelled', 'cancelled before it was sent'],
  ]);
  await stored.changeState(id, { state: 'completed', remainder: 'lapsed' });
  expect((await rows(id, 'lapsed')).map(({ to }) => to)).toEqual([mobile(200), mobile(202)]);
});

test('The report of a long campaign is complete and in the order of the list, with and without a filter', async () => {
  const count = 5_000;
  const id = await campaign('Long', 10_000, count);
  // Requests of up to 100 that do not span two slices, as claims do.
  let first = 0;
  while (first < 3_000) {
    const size = Math.min(100, 256 - (first % 256), 3_000 - first);
    await settled(id, first, (first % 2 === 0 ? 'T' : 'N').repeat(size), `${size},${SENT},1,,id-${first}`);
    first += size;
  }
  const all = await rows(id);
  expect(all.map(({ to }) => to)).toEqual(Array.from({ length: count }, (_, at) => mobile(10_000 + at)));
  expect(all.slice(0, 3_000).every(({ requestId }) => requestId?.startsWith('id-'))).toBe(true);
  expect(all[2_999]?.requestId).toBe('id-2916');
  expect(all.slice(3_000).every(({ status }) => status === 'planned')).toBe(true);
  expect(await rows(id, 'deliveredtoterminal')).toEqual(
    all.filter(({ status }) => status === 'deliveredToTerminal'),
  );
  expect(await rows(id, 'planned')).toEqual(all.filter(({ status }) => status === 'planned'));
});

test('A report fails if its campaign is removed meanwhile, and its rows until then are correct', async () => {
  const count = 5_000;
  const id = await campaign('Removed', 20_000, count);
  await settled(id, 0, 'T'.repeat(count), `256,${SENT},1,,id`);
  await stored.changeState(id, { state: 'completed', endedAt: 1, counts: { deliveredToTerminal: count } });
  const received: ReportRow[] = [];
  const read = async (): Promise<void> => {
    for await (const row of reportRows(redis, keys, id)) {
      received.push(row);
      if (received.length === 1) await removeCampaign(redis, keys, lane, id);
    }
  };
  await expect(read()).rejects.toBeInstanceOf(NotFoundError);
  expect(received.every(({ status }) => status === 'deliveredToTerminal')).toBe(true);
});

test('A report of an unknown campaign rejects with NotFoundError, an invalid status with InputError', async () => {
  await expect(rows('nothing')).rejects.toBeInstanceOf(NotFoundError);
  const id = await campaign('No such status', 300, 1);
  const refused = rows(id, 'arrived');
  await expect(refused).rejects.toBeInstanceOf(InputError);
  await expect(refused).rejects.toThrow('deliveredToTerminal');
});

test('A number is found in every campaign that has it, newest first, even where it was suppressed', async () => {
  const older = await campaign('Older', 400, 600);
  await settled(older, 500, 'T', `1,${SENT},1,,id-500`);
  await deps.suppression.add([mobile(900)], SUPPRESSING);
  const newer = await campaign('Newer', 899, 3);
  await campaign('Neither', 1_200, 3);
  const found = [];
  for await (const each of findRecipients(deps, ` ${mobile(900).replace('+44', '0')} `)) found.push(each);
  expect(found).toEqual([
    expect.objectContaining({ campaign: newer, name: 'Newer', status: 'suppressed', to: mobile(900) }),
    expect.objectContaining({
      campaign: older,
      name: 'Older',
      status: 'deliveredToTerminal',
      requestId: 'id-500',
    }),
  ]);
  for await (const each of findRecipients(deps, mobile(9_999))) expect.unreachable(String(each.campaign));
  await expect(findRecipients(deps, 'not a number').next()).rejects.toBeInstanceOf(InputError);
});

const allOf = async (found: AsyncIterable<FoundRecipient>): Promise<string[]> => {
  const ids: string[] = [];
  for await (const { campaign: id } of found) ids.push(String(id));
  return ids;
};

test('A search can be limited to lanes, and reads a national number with the given country', async () => {
  const id = await campaign('A lane', 2_000, 1);
  expect(await allOf(findRecipients(deps, mobile(2_000), { lanes: [lane] }))).toEqual([id]);
  expect(await allOf(findRecipients(deps, mobile(2_000), { lanes: ['another'] }))).toEqual([]);
  const abroad = await campaign('Abroad', 2_001, 1);
  const national = mobile(2_001).replace('+44', '0');
  const elsewhere = { ...deps, config: { ...deps.config, defaultCountry: 'DK' } };
  expect(await allOf(findRecipients(elsewhere, national, { country: 'GB' }))).toEqual([abroad]);
  await expect(allOf(findRecipients(deps, national, { country: 'ZZ' }))).rejects.toMatchObject({
    field: 'country',
  });
  await expect(allOf(findRecipients(deps, '12'))).rejects.toMatchObject({ field: 'number' });
});

test('A search ends when its signal fires', async () => {
  const newest = await campaign('Newest', 2_100, 1);
  // More than are searched at the same time.
  const many = Array.from({ length: 200 }, (_, at) => `0000000000${String(at).padStart(3, '0')} ${lane}`);
  await redis.zadd(keys.campaigns, ...many.flatMap((member) => ['0', member]));
  onTestFinished(async () => void (await redis.zrem(keys.campaigns, ...many)));
  const over = new AbortController();
  const found = findRecipients(deps, mobile(2_100), { signal: over.signal });
  expect((await found.next()).value).toMatchObject({ campaign: newest });
  over.abort(new Error('gone'));
  await expect(found.next()).rejects.toThrow('gone');
});

test('Reading many numbers does not block the event loop', async () => {
  const list = openSuppressionList({ ...deps, finder: openLanes(deps) });
  let turns = 0;
  const count = (): void => {
    turns += 1;
    ticking = setImmediate(count);
  };
  let ticking = setImmediate(count);
  const numbers = Array.from({ length: 20_000 }, (_, at) => mobile(at));
  // The last one is invalid, so that nothing is written and the call waits for nothing else.
  await expect(list.add([...numbers, 'none'])).rejects.toMatchObject({ field: 'numbers/20000' });
  clearImmediate(ticking);
  expect(turns).toBeGreaterThanOrEqual(19);
});

test('Rows have the values of the columns that the text uses if they are asked for, and a group of statuses is several', async () => {
  await deps.suppression.add([mobile(3_002)], SUPPRESSING);
  const recipients = [
    { to: mobile(3_000), name: 'Ada', code: '007', note: 'x' },
    { to: mobile(3_001), name: 'Bo', code: '1', note: 'x' },
    { to: mobile(3_002), name: 'Cy', code: '2', note: 'x' },
    { to: mobile(3_003), name: 'Di', code: '3', note: 'x' },
    { to: mobile(3_000), name: 'Ada', code: '007', note: 'x' },
  ];
  const outcome = await importCampaign(deps, {
    recipients,
    message: '{{code}} for {{name}}',
    name: 'Values',
  });
  if (outcome.outcome !== 'created') throw new Error(`the import ended with ${outcome.outcome}`);
  const { id } = outcome;
  await settled(id, 0, 'TIR', `3,${SENT},1,,id`);
  const valued = async (options: { status?: string; values?: boolean }) => {
    const found: unknown[] = [];
    for await (const { status, values } of reportRows(redis, keys, id, options)) found.push([status, values]);
    return found;
  };
  const all = [
    ['deliveredToTerminal', { code: '007', name: 'Ada' }],
    ['deliveryImpossible', { code: '1', name: 'Bo' }],
    ['rejected', { code: '3', name: 'Di' }],
    ['suppressed', { code: '2', name: 'Cy' }],
    ['duplicate', { code: '', name: '' }],
  ];
  expect(await valued({ values: true })).toEqual(all);
  expect(await valued({ values: true, status: 'Failed' })).toEqual([all[1], all[2]]);
  expect(await valued({ status: 'delivered' })).toEqual([['deliveredToTerminal', null]]);
  const page = await recipientPage(redis, keys, id, { values: true, status: 'failed', limit: 1 });
  expect(page.recipients).toMatchObject([{ values: { name: 'Bo' } }]);
  expect(page.nextCursor).toBe('2');
});
