import { expect, it, test } from 'vitest';
import { MAX_MEMBERS } from '../../../../src/operations/schemas/recipient-rows.js';
import {
  MAX_JSON_BYTES,
  MAX_PLAIN_BYTES,
  requireFewMembers,
  requireParsable,
} from '../../../../src/surfaces/http/limits/json-limits.js';
import { Problem } from '../../../../src/surfaces/http/server/problem.js';
import { campaignForm } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const { call, volley } = await scene('http-json-limits').api();
await volley.outboxes.create({ name: 'box', message: 'Hi {{name}}' });

const membersOf = (count: number, value: unknown = 0) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}`, value]));

const refusal = (check: () => void): unknown => {
  try {
    check();
    return null;
  } catch (error) {
    return error;
  }
};

it.each([
  ['the body', membersOf(MAX_MEMBERS + 1), 'The body has more than 200 members.', ''],
  [
    'a member',
    { metadata: membersOf(MAX_MEMBERS + 1) },
    '`metadata` has more than 200 members.',
    '/metadata',
  ],
  ['another list', { tags: Array(MAX_MEMBERS + 1).fill(0) }, '`tags` has more than 200 members.', '/tags'],
  [
    'a row',
    { recipients: [{}, {}, membersOf(MAX_MEMBERS + 1)] },
    'Item 3 of `recipients` has more than 200 members.',
    '/recipients/2',
  ],
  [
    'a member that is named like a pointer',
    { 'a~b/c': membersOf(MAX_MEMBERS + 1) },
    '`a~b/c` has more than 200 members.',
    '/a~0b~1c',
  ],
])('Refuses %s with too many members, and names it', (_, value, detail, pointer) => {
  const error = refusal(() => requireFewMembers(value, 'recipients'));
  expect(error).toMatchObject({ code: 'badInput' });
  expect(error instanceof Problem && error.body()).toMatchObject({ detail, errors: [{ pointer }] });
});

it('Accepts as many members as there may be, in a list of any length', () => {
  const recipients = Array.from({ length: 1_000 }, () => membersOf(MAX_MEMBERS));
  const body = { ...membersOf(MAX_MEMBERS - 1), recipients };
  expect(refusal(() => requireFewMembers(body, 'recipients'))).toBeNull();
});

it('Refuses a list whose rows have many different members', () => {
  const rows = (names: number) => Array.from({ length: 2_000 }, (_, at) => ({ [`m${at % names}`]: 0 }));
  const body = (names: number) => Buffer.from(JSON.stringify({ recipients: rows(names) }));
  expect(refusal(() => requireParsable(body(1_000)))).toMatchObject({
    message: 'The body has more than 1000 different members.',
  });
  expect(refusal(() => requireParsable(body(999)))).toBeNull();
});

it('Refuses more objects than rows with a number fit into a body', () => {
  const rows = (count: number) =>
    Buffer.from(`{"recipients":[${Array.from({ length: count }, () => '{}')}]}`);
  expect(refusal(() => requireParsable(rows(99_999)))).toMatchObject({
    message: 'The body has more than 100,000 objects and lists: leave out rows without a number.',
  });
  expect(refusal(() => requireParsable(rows(99_998)))).toBeNull();
});

it('Refuses what is nested deeply, and counts no bracket within a text', () => {
  const nested = (levels: number) => Buffer.from(`{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`);
  expect(refusal(() => requireParsable(nested(20)))).toMatchObject({
    message: expect.stringContaining('nested more than 20 levels'),
  });
  expect(refusal(() => requireParsable(nested(19)))).toBeNull();
  const text = JSON.stringify({ message: `"\\${'[{'.repeat(30)}` });
  expect(refusal(() => requireParsable(Buffer.from(text)))).toBeNull();
});

test.each([
  ['PUT', '/v1/outboxes/box/messages/x'],
  ['POST', '/v1/outboxes'],
  ['POST', '/v1/find'],
  ['POST', '/v1/records'],
  ['POST', '/v1/records/fetch'],
  ['POST', '/v1/campaigns/x/resolve'],
  ['POST', '/v1/campaigns/x/pause'],
  ['POST', '/v1/lanes/default/rename'],
])('%s %s takes no list, and refuses more than 100 kB', async (method, path) => {
  expect(await call(method, path, { body: { number: 'x'.repeat(MAX_PLAIN_BYTES) } })).toMatchObject({
    status: 413,
    json: { code: 'tooLarge', detail: 'The limit for a body without a list is 100 kB.' },
  });
});

const FORM = 'Send a longer list as CSV in a form (`multipart/form-data`).';
const LINES = 'Send a longer list as NDJSON (`application/x-ndjson`) or CSV (`text/csv`).';

test.each([
  ['/v1/campaigns', { recipients: [] }, FORM],
  ['/v1/preview', { recipients: [] }, FORM],
  ['/v1/outboxes/box/messages', [], LINES],
  ['/v1/suppressions', { numbers: [] }, 'Send a longer list in parts.'],
  ['/v1/schedules', { recipients: [] }, 'Send a longer list in parts.'],
])('JSON for %s may have 1 MB, and a longer list has another form', async (path, body, advice) => {
  const text = JSON.stringify(body).padEnd(MAX_JSON_BYTES + 1);
  const headers = { 'content-type': 'application/json' };
  expect(await call('POST', path, { headers, text })).toMatchObject({
    status: 413,
    json: { code: 'tooLarge', detail: `The limit for JSON is 1 MB. ${advice}` },
  });
  const { status } = await call('POST', path, { headers, text: text.slice(0, MAX_JSON_BYTES) });
  expect(status).not.toBe(413);
});

test('A message, a search, and the metadata of a campaign with many members are refused without naming each', async () => {
  const many = membersOf(5_000);
  for (const [method, path, body] of [
    ['PUT', '/v1/outboxes/box/messages/x', { to: '+447700900123', name: 'Ada', ...many }],
    ['POST', '/v1/find', { number: '+447700900123', ...many }],
    ['POST', '/v1/campaigns', { recipients: [{ to: '+447700900123' }], message: 'Hi', metadata: many }],
  ] as const) {
    const { status, json } = await call(method, path, { body });
    expect([path, status, (json as { errors: unknown[] }).errors.length]).toEqual([path, 400, 1]);
  }
  const form = campaignForm({ message: 'Hi', metadata: many }, 'to\n+447700900123\n');
  expect(await call('POST', '/v1/campaigns', { form })).toMatchObject({
    status: 400,
    json: { errors: [{ pointer: '/campaign' }] },
  });
});

test('The first 20 invalid members of a message are listed', async () => {
  const body = { to: '+447700900123', name: 'Ada', ...membersOf(150, {}) };
  const { json } = await call('PUT', '/v1/outboxes/box/messages/x', { body });
  expect(json).toMatchObject({ detail: expect.stringMatching(/There are many more errors\.$/) });
  expect((json as { errors: unknown[] }).errors).toHaveLength(20);
});

test('A line of NDJSON with too many members is one invalid line', async () => {
  const lines = [
    { id: '1', to: '+447700900123', name: 'Ada' },
    { id: '2', ...membersOf(10_000, {}) },
  ];
  const { json } = await call('POST', '/v1/outboxes/box/messages', {
    headers: { 'content-type': 'application/x-ndjson' },
    text: lines.map((line) => JSON.stringify(line)).join('\n'),
  });
  expect(
    String(json)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toMatchObject([
    { outcome: 'created', line: 1 },
    { outcome: 'refused', line: 2, errors: [{ code: 'row', message: 'It has more than 200 members.' }] },
  ]);
});
