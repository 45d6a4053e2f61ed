import { expect, test } from 'vitest';
import { textRow, workbookOf } from '../../../intake/import/excel/workbook.js';
import { type ApiResponse, campaignForm } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

/*
 * A page that shows a campaign before it is sent: everything that it shows is in one preview, and what it sends is what it has shown.
 */

const { api, storedKeys } = scene('http-expected', { lanes: ['main', 'other'] });
const { call, key, volley } = await api({ PRICE_PER_SEGMENT: '0.05 EUR' });

const LATER = '2999-01-01T00:00:00Z';
const campaign = (more: object = {}) => ({
  message: 'Hi {{name}}',
  lane: 'main',
  toColumn: 'phone',
  sendAt: LATER,
  ...more,
});
const preview = (list: string | Blob, query = '', more: object = {}, own?: string): Promise<ApiResponse> =>
  call('POST', `/v1/preview/upload${query}`, { form: campaignForm(campaign(more), list), key: own });
const create = (list: string | Blob, more: object): Promise<ApiResponse> =>
  call('POST', '/v1/campaigns/upload', { form: campaignForm(campaign(more), list) });
const stored = () => storedKeys(/:campaign:/);

let next = 0;
const number = (): string => `+4477009${String(10_000 + next++)}`;
const listOf = (...names: string[]): string =>
  `name,phone\n${names.map((name) => `${name},${number()}\n`).join('')}`;

test('A preview lists every invalid row with its value and reason, up to a thousand', async () => {
  const rows = Array.from({ length: 1_200 }, () => 'Ada,0770\n').join('');
  const list = `name,phone\n${rows},${number()}\n"a\nb",${'9'.repeat(100)}\n`;
  const { json } = await preview(list, '?problems=1000');
  const { problems, invalid } = json as { problems: { line: number }[]; invalid: number };
  expect([problems.length, invalid]).toEqual([1_000, 1_202]);
  expect(problems[0]).toEqual({
    code: 'noCountry',
    line: 2,
    row: 2,
    column: 'phone',
    value: '0770',
    values: ['Ada', '0770'],
    message: expect.stringMatching(/^\S.*\.$/),
  });
  const few = await preview(
    `name,phone\n"",${number()}\n"A\nda",${number()}\nBo,${'9'.repeat(100)}\n`,
    '?problems=10',
  );
  // A spreadsheet shows the two lines of a field in one row.
  expect(few.json).toMatchObject({
    problems: [
      { code: 'noValue', line: 2, row: 2, column: 'name', value: '' },
      { code: 'noCountry', line: 5, row: 4, column: 'phone', value: '9'.repeat(64) },
    ],
  });
  expect((await preview(list)).json).toMatchObject({ problems: [] });
  expect((await preview(list, '?problems=1001')).status).toBe(400);
});

test('A preview shows the first and the longest message, with their segments and cost', async () => {
  const { json } = await preview(listOf('Ada', 'x'.repeat(200), 'x’'.repeat(100), 'Bob'));
  expect(json).toMatchObject({
    samples: [
      {
        line: 2,
        text: 'Hi Ada',
        values: ['Ada', expect.any(String)],
        encoding: 'GSM-7',
        segments: 1,
        cost: '0.05',
      },
      {},
      {},
    ],
    longest: { line: 4, encoding: 'UCS-2', segments: 4, cost: '0.20' },
    dearest: { line: 4, cost: '0.20' },
  });
});

test('A preview groups invalid rows by their reasons, each with its count and its first three rows', async () => {
  const rows = ['a,0770', 'b,12', 'c,13', 'd,14', 'e,0771', 'f,15'].map((row) => `${row}\n`).join('');
  const { json } = await preview(`name,phone\n${rows},${number()}\n`, '', { country: 'GB' });
  const example = (line: number) => ({ line, column: 'phone', message: expect.stringMatching(/^\S.*\.$/) });
  expect(json).toMatchObject({
    invalidGroups: [
      { code: 'invalidNumber', column: 'phone', count: 6, examples: [2, 3, 4].map(example) },
      { code: 'noValue', column: 'name', count: 1, examples: [{ line: 8, column: 'name' }] },
    ],
  });
});

test('The beginning of a list says nothing about the whole list', async () => {
  const list = 'name,phone\nAda,0770\n';
  const whole = await preview(list, '?problems=5', { sendAt: undefined });
  expect(whole.json).toMatchObject({ refusal: { code: 'invalidRows' }, digest: expect.any(String) });
  const partial = await preview(list, '?problems=5&partial=true', { sendAt: undefined });
  expect(partial.json).toMatchObject({
    columns: ['name', 'phone'],
    problems: [{ line: 2 }],
    refusal: null,
    digest: null,
    eta: null,
    completion: null,
  });
});

test('A campaign is created only if it is what its preview said', async () => {
  const list = listOf('Ada', 'Bob');
  const { digest, recipientCount } = (await preview(list)).json as {
    digest: string;
    recipientCount: number;
  };
  const before = await stored();
  const others = [
    [listOf('Ada', 'Eve'), {}],
    [list, { message: 'Hello {{name}}' }],
    [list, { sendAt: '2999-01-02T00:00:00Z' }],
    [list, { lane: 'other' }],
  ] as const;
  for (const [sent, more] of others) {
    const refused = await create(sent, { ...more, expect: { digest, recipientCount } });
    expect([refused.status, refused.json]).toMatchObject([
      409,
      { code: 'unexpected', expected: { digest, recipientCount }, actual: { recipientCount: 2 } },
    ]);
  }
  await volley.suppression.add([list.slice(-14, -1)], { lane: 'main' });
  const suppressed = await create(list, { expect: { digest, recipientCount } });
  expect([suppressed.status, suppressed.json]).toMatchObject([
    409,
    { code: 'unexpected', expected: { digest, recipientCount: 2 }, actual: { digest, recipientCount: 1 } },
  ]);
  expect(await stored()).toEqual(before);
  const created = await create(list, { expect: { digest, recipientCount: 1 } });
  expect([created.status, created.json]).toMatchObject([201, { recipientCount: 1, suppressed: 1 }]);
});

test('The same is true of a campaign from a workbook', async () => {
  const workbook = (...names: string[]): Blob => {
    const rows = ['Spring,', 'phone,name', ...names.map((name, at) => `+44770090020${at},${name}`)].map(
      (row, at) => textRow(at + 1, ...row.split(',')),
    );
    return new Blob([Uint8Array.from(workbookOf({ sheets: [{ name: 'List', rows: rows.join('') }] }))]);
  };
  const list = workbook('Ada', 'Bob');
  expect((await preview(list)).json).toMatchObject({
    status: 400,
    errors: [
      { pointer: '/recipients', line: 2, message: expect.stringContaining('Set `headerLine` to `2`') },
    ],
  });
  const more = { sheet: 'List', headerLine: 2 };
  const seen = (await preview(list, '', more)).json as { digest: string };
  expect(seen).toMatchObject({
    recipientCount: 2,
    sheet: 'List',
    sheets: ['List'],
    samples: [{ line: 3 }, {}],
  });
  const expected = { ...more, expect: { digest: seen.digest, recipientCount: 2 } };
  expect((await create(workbook('Ada', 'Eve'), expected)).json).toMatchObject({ code: 'unexpected' });
  const created = await create(list, expected);
  expect([created.status, created.json]).toMatchObject([201, { recipientCount: 2 }]);
});

test('A preview counts who was texted in the last 24 hours, but not on lanes that the key may not use', async () => {
  const list = listOf('Ada', 'Bob', 'Eve');
  const message = 'Hi {{name}}, once';
  const sent = await create(list, { message, lane: 'other' });
  expect(sent.status).toBe(201);
  const seen = await preview(list, '?sentBefore=count', { message });
  expect(seen.json).toMatchObject({ sentBefore: { recipientCount: 3, campaigns: [{ recipientCount: 3 }] } });
  const limited = await key(['send'], ['main']);
  const unseen = await preview(list, '?sentBefore=count', { message }, limited);
  expect(unseen.json).toMatchObject({ sentBefore: { recipientCount: 0, campaigns: [] } });
  expect((await preview(list, '', { message })).json).toMatchObject({ sentBefore: null });
});

test('The doctor checks Redis and says that no worker runs, each with a code, for keys with the scope admin', async () => {
  const { status, json } = await call('GET', '/v1/doctor');
  const { ok, checks } = json as { ok: boolean; checks: { code: string; state: string; advice: unknown }[] };
  expect([status, ok]).toEqual([200, !checks.some(({ state }) => state === 'fail')]);
  const coded = (code: string) => checks.filter((check) => check.code === code);
  expect(coded('redis').length).toBeGreaterThan(5);
  expect(coded('workers')).toMatchObject([
    {
      state: 'warn',
      message: expect.stringContaining('none is running'),
      advice: 'To start one: volley work',
    },
  ]);
  expect(coded('lane').map(({ state }) => state)).toContain('ok');
  expect((await call('GET', '/v1/doctor', { key: await key(['read', 'operate']) })).status).toBe(403);
});

test('Two pages that have shown the same list send it once, and the later one learns of the campaign', async () => {
  const list = listOf('Ada', 'Bob');
  const message = 'Hi {{name}}, from two pages';
  const { digest, recipientCount } = (await preview(list, '', { message })).json as {
    digest: string;
    recipientCount: number;
  };
  const send = (page: string, more: object = {}) =>
    call('POST', '/v1/campaigns/upload', {
      form: campaignForm(campaign({ message, expect: { digest, recipientCount }, ...more }), list),
      headers: { 'idempotency-key': page },
    });
  const answers = await Promise.all([send('page-1'), send('page-2')]);
  const created = answers.find(({ status }) => status === 201);
  const refused = answers.find(({ status }) => status === 409);
  const { id } = Object(created?.json);
  expect(id).toMatch(/./);
  expect(refused?.json).toMatchObject({ code: 'repeated', campaign: id });
  const key = answers[0] === created ? 'page-1' : 'page-2';
  const retried = await send(key);
  expect([retried.status, retried.json]).toMatchObject([200, { id, outcome: 'existing' }]);
  expect((await send('page-3', { again: true })).status).toBe(201);
});
