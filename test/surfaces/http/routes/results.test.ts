import { expect, test } from 'vitest';
import { readCursor } from '../../../../src/reporting/results-cursor.js';
import { scene } from '../../../scene/scene.js';

const { call, key, volley } = await scene('http-results', { lanes: ['default', 'two'] }).api({
  DEFAULT_COUNTRY: 'GB',
});

interface Page {
  results: { reference: string; status: string; campaign: string }[];
  campaigns: Record<string, { metadata: Record<string, string>; lane: string }>;
  nextCursor: string;
  hasMore: boolean;
}

async function page(query = '', as?: string): Promise<Page> {
  const { status, json } = await call('GET', `/v1/results${query}`, { key: as });
  expect(status).toBe(200);
  return json as Page;
}

async function create(references: readonly string[], more: object = {}): Promise<string> {
  const recipients = references.map((reference, at) => ({ to: `0770090${1000 + at}`, reference }));
  const body = { message: 'Hi', sendAt: '2999-01-01T00:00:00Z', again: true, recipients, ...more };
  const { status, json } = await call('POST', '/v1/campaigns', { body });
  expect(status).toBe(201);
  return (json as { id: string }).id;
}

test('A client follows the results of its campaigns from a cursor, and learns them by its own references', async () => {
  const id = await create(['order-1', 'order-2', 'order-3'], { metadata: { shop: '17' } });
  expect((await call('GET', `/v1/campaigns/${id}`)).json).toMatchObject({ metadata: { shop: '17' } });
  const empty = await page();
  expect(empty.results).toEqual([]);
  await volley.cancel(id);
  const first = await page(`?limit=2&cursor=${empty.nextCursor}`);
  expect(first.results.map(({ reference, status }) => [reference, status])).toEqual([
    ['order-1', 'cancelled'],
    ['order-2', 'cancelled'],
  ]);
  expect(first).toMatchObject({ hasMore: true, campaigns: { [id]: { metadata: { shop: '17' } } } });
  const second = await page(`?cursor=${first.nextCursor}`);
  expect(second.results.map(({ reference }) => reference)).toEqual(['order-3']);
  expect(await page(`?cursor=${second.nextCursor}`)).toMatchObject({ results: [], hasMore: false });
});

test('The recipients of a campaign are read in pages, and by status', async () => {
  const id = await create(['a', 'b', 'c', 'd']);
  const read = async (query: string) => (await call('GET', `/v1/campaigns/${id}/recipients${query}`)).json;
  const first = await read('?limit=3');
  expect(first).toMatchObject({
    campaign: id,
    recipients: [{ reference: 'a', status: 'planned' }, { reference: 'b' }, { reference: 'c' }],
    nextCursor: '3',
  });
  expect(await read('?limit=3&cursor=3')).toMatchObject({
    recipients: [{ reference: 'd' }],
    nextCursor: null,
  });
  expect(await read('?status=delivered')).toMatchObject({ recipients: [], nextCursor: null });
  expect(await read('?status=Planned&limit=1&cursor=1')).toMatchObject({
    recipients: [{ reference: 'b' }],
    nextCursor: '2',
  });
});

test('A key sees the results of its lanes, without phone numbers none, and its cursor is good for nothing else', async () => {
  const id = await create(['mine']);
  await volley.cancel(id);
  expect((await page('?lane=default')).results.length).toBeGreaterThan(0);
  const other = await key(['read'], ['two']);
  expect((await page('', other)).results).toEqual([]);
  const both = await page('?lane=default&lane=two');
  expect(both.results.length).toBeGreaterThan(0);
  expect((await call('GET', '/v1/results?lane=two&lane=default', { key: other })).status).toBe(404);
  const { nextCursor } = await page('?lane=default');
  expect((await page(`?cursor=${nextCursor}`, other)).results).toEqual([]);
  expect((await call('GET', `/v1/campaigns?cursor=${nextCursor}`)).status).toBe(400);
});

test('A key without the scope read sees no metadata of a campaign, and no phone number in its name or idempotency key', async () => {
  const { json } = await call('POST', '/v1/campaigns', {
    headers: { 'idempotency-key': 'for +447700900123' },
    body: {
      message: 'Hi',
      name: 'Call +447700900123',
      metadata: { customer: 'Ada' },
      sendAt: '2999-01-01T00:00:00Z',
      again: true,
      recipients: [{ to: '07700901000' }],
    },
  });
  const { id } = json as { id: string };
  const hidden = { name: 'Call +44…123', idempotencyKey: 'for +44…123' };
  const statusOnly = await key(['status']);
  const { json: status } = await call('GET', `/v1/campaigns/${id}`, { key: statusOnly });
  expect(status).toMatchObject(hidden);
  expect((status as { metadata: unknown }).metadata).toStrictEqual({});
  const { json: list } = await call('GET', '/v1/campaigns?limit=1', { key: statusOnly });
  const [listed] = (list as { campaigns: { metadata: unknown }[] }).campaigns;
  expect(listed).toMatchObject({ id, ...hidden });
  expect(listed?.metadata).toStrictEqual({});
  expect((await call('GET', `/v1/campaigns/${id}`)).json).toMatchObject({ metadata: { customer: 'Ada' } });
});

test('A cursor whose results are lost gets 410', async () => {
  const position = { run: 'cafe0001', chunk: 0, entry: 1, within: 0 };
  const cursor = readCursor('', ['default']).next(new Map([['default', position]]), undefined);
  const lost = await volley.positions.conceal('results', cursor);
  const { status, json } = await call('GET', `/v1/results?cursor=${lost}`);
  expect(status).toBe(410);
  expect(json).toMatchObject({ code: 'gone' });
});
