import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { api, prefix } = scene('http-long-lists');
const { call, volley, origin, key } = await api({ API_KEY: 'key' });

const number = (at: number): string => `+4477${10_000_000 + at}`;
const ROWS = 10_000;
const rows = Array.from({ length: ROWS }, (_, at): Record<string, unknown> => ({ to: number(at) }));
const preview = (recipients: readonly unknown[]) =>
  call('POST', '/v1/preview', { body: { message: 'Hi {{name}}', sender: 'ACME', recipients } });

test('Any row of a long list may have the values, and every row of it is read', async () => {
  const named = rows.map((row, at) => (at === 0 ? row : { ...row, name: `n${at}` }));
  expect(await preview(named)).toMatchObject({
    status: 200,
    json: { rows: ROWS, recipientCount: ROWS - 1, errors: [{ line: 1, column: 'name' }] },
  });
});

test('An item of a long list that is no row is refused with its place', async () => {
  const { status, json } = await preview(rows.with(ROWS - 1, { to: {} }));
  expect(status).toBe(400);
  expect(json).toMatchObject({ errors: [{ pointer: `/recipients/${ROWS - 1}/to` }] });
});

test.each([
  ['a missing item', (list: string) => list.replace('},{', '},,{')],
  ['a missing item between slices', (list: string) => list.replaceAll('},{', '},,{')],
  ['a row that is not closed', (list: string) => list.replace(/"}\]$/, '"]')],
  ['a comma at its end', (list: string) => list.replace(/\]$/, ',]')],
  ['no end', (list: string) => list.replace(/\]$/, '')],
])('A long list with %s is not valid JSON', async (_, damage) => {
  const body = `{"message":"Hi","sender":"ACME","recipients":${damage(JSON.stringify(rows))}}`;
  const reply = await fetch(`${origin}/v1/preview`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await key(['send'])}`, 'content-type': 'application/json' },
    body,
  });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ detail: expect.stringContaining('not valid JSON') });
});

test('A number that a long list repeats counts once against the limit of its key', async () => {
  const { key: own } = await volley.keys.create({ name: 'shop', scopes: ['send'], maxSuppressions: 2_000 });
  const suppress = (count: number) =>
    call('POST', '/v1/suppressions', {
      key: own,
      body: { numbers: Array.from({ length: ROWS }, (_, at) => number(at % count)) },
    });
  expect((await suppress(2_001)).status).toBe(403);
  expect(await suppress(2_000)).toMatchObject({ status: 200, json: { numberCount: 2_000 } });
});

test('The numbers of a key also count in bytes', async () => {
  const small = await api({ REDIS_PREFIX: `${prefix}-b`, API_KEY: 'key', KEY_MEMORY_MB: '1' });
  const { key: own } = await small.volley.keys.create({
    name: 'shop',
    scopes: ['send', 'operate'],
    maxSuppressions: 1_000_000,
  });
  const change = (path: string, count: number) =>
    small.call('POST', path, {
      key: own,
      body: { numbers: Array.from({ length: count }, (_, at) => number(at)) },
    });
  expect((await change('/v1/suppressions', 10_001)).status).toBe(403);
  expect((await change('/v1/suppressions', 10_000)).status).toBe(200);
  // What the key removes is kept for 30 days, so that it can be undone.
  expect((await change('/v1/suppressions/remove', 5_000)).status).toBe(200);
  expect((await change('/v1/suppressions', 1)).status).toBe(403);
});

test('A schedule keeps no more than its most recipients, however long the list is', async () => {
  const add = (recipients: readonly unknown[]) =>
    call('POST', '/v1/schedules', {
      body: { id: 'weekly', cron: '0 9 * * 1', zone: 'UTC', message: 'Hi', sender: 'ACME', recipients },
    });
  expect(await add([...rows, { to: number(ROWS) }])).toMatchObject({
    status: 400,
    json: { errors: [{ pointer: '/recipients', message: expect.stringContaining('more than 10000') }] },
  });
  expect((await add(rows)).status).toBe(201);
});
