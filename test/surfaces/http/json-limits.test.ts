import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { MAX_MEMBERS } from '../../../src/operations/recipient-rows.js';
import { MAX_JSON_BYTES, measureJson } from '../../../src/surfaces/http/json-limits.js';
import { campaignForm } from '../../scene/api.js';
import { scene } from '../../scene/scene.js';

const { call, volley } = await scene('http-json-limits').api();
await volley.outboxes.create({ name: 'box', message: 'Hi {{name}}' });

const measured = (value: unknown, list?: string) => measureJson(Buffer.from(JSON.stringify(value)), list);
const refusal = (value: unknown, list?: string) =>
  measured(value, list).then(
    () => null,
    (error: unknown) => error,
  );
const membersOf = (count: number, value: unknown = 0) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}`, value]));

it('Counts the items and the shapes of the list, and no comma or bracket within a text', async () => {
  const name = '[{"\\,}]:';
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('to', 'name', 'both'), { minLength: 1, maxLength: 40 }),
      async (kinds) => {
        const items = kinds.map((kind) => ({
          ...(kind === 'name' ? {} : { to: '+447700900123' }),
          ...(kind === 'to' ? {} : { name }),
        }));
        expect(await measured({ message: name, recipients: items }, 'recipients')).toMatchObject({
          items: items.length,
          shapes: new Set(kinds).size,
        });
      },
    ),
  );
});

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
  [
    'a row that is too long',
    { recipients: [{ to: 'x'.repeat(1_000_001) }] },
    'Item 1 of `recipients` is longer than 1 MB.',
    '/recipients/0',
  ],
])('Refuses %s with too many members, and names it', async (_, value, detail, pointer) => {
  expect(await refusal(value, 'recipients')).toMatchObject({ code: 'badInput' });
  const error = await refusal(value, 'recipients');
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({ detail, errors: [{ pointer }] });
});

it('Accepts as many members as there may be, in a list of any length', async () => {
  const recipients = Array.from({ length: 1_000 }, () => membersOf(MAX_MEMBERS));
  expect(await measured({ ...membersOf(MAX_MEMBERS - 1), recipients }, 'recipients')).toMatchObject({
    items: 1_000,
    shapes: 1,
    shapeMembers: MAX_MEMBERS,
  });
});

it('Refuses what is nested deeply, and what is long besides the list', async () => {
  const deep = `{"a":${'['.repeat(30)}${']'.repeat(30)}}`;
  await expect(measureJson(Buffer.from(deep))).rejects.toThrow('nested more than 20 levels');
  const long = { recipients: [{}], message: 'x'.repeat(MAX_JSON_BYTES) };
  expect(await refusal(long, 'recipients')).toMatchObject({ code: 'tooLarge' });
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
  expect(await call(method, path, { body: { number: 'x'.repeat(MAX_JSON_BYTES) } })).toMatchObject({
    status: 413,
    json: { code: 'tooLarge', detail: 'The limit for a body without a list is 100 kB.' },
  });
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
