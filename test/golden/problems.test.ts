import { expect, test } from 'vitest';
import { scene } from '../scene/scene.js';

const { api, storedKeys } = scene('golden-problems', {
  settings: { PRICE_PER_SEGMENT: '0.042 EUR', MAX_SCHEDULE_AHEAD: '36500d' },
});

type Request = readonly [request: string, body?: unknown];
type Part = readonly [name: string, content: string | Buffer<ArrayBuffer>];

const to = '+447700900101';
const CAMPAIGN = { recipients: [{ to, name: 'Anna' }], message: 'Hi', sender: 'ACME' };
const SCHEDULE = { ...CAMPAIGN, id: 'weekly', cron: '0 9 * * 1', zone: 'Europe/London' };
const OUTBOX = { name: 'box', message: 'Hi', sender: 'ACME' };
const REMINDERS = {
  ...{ name: 'dentist', message: 'Hi {{name}}, see you at {{appointment}}', sender: 'ACME' },
  ...{ sendRule: 'appointment - 24h', zone: 'Europe/London', late: '2h' },
};
const REMINDER = { to, name: 'Ada', appointment: '2030-05-01T14:30' };
const each = (path: string, usual: object, ...changes: readonly object[]): Request[] =>
  changes.map((change) => [path, { ...usual, ...change }]);

const PARIS = { zone: 'Europe/Paris' };
const WINDOWS: readonly object[] = [
  { ...PARIS, window: { hours: 'Mon-Sat 9-20' } },
  { ...PARIS, window: { hours: 'Mom 09:00-20:00' } },
  { ...PARIS, window: { hours: 'Mon 09:00-20:00', except: ['1 May'] } },
  { ...PARIS, window: 'Mon-Sat 09:00-20:00' },
  { zone: 'Europe/Pariss', window: { hours: 'Mon-Sat 09:00-20:00' } },
];

/** Requests with one mistake each. */
const REQUESTS: readonly Request[] = [
  ['GET /v1/nothing'],
  ['DELETE /v1/campaigns'],
  ['GET /v1/campaigns?limit=0'],
  ['GET /v1/campaigns?limit=201'],
  ['GET /v1/campaigns?limit=x'],
  ['GET /v1/campaigns?sate=running'],
  ['GET /v1/campaigns?state=gone'],
  ['GET /v1/campaigns?createdFrom=yesterday'],
  ['GET /v1/campaigns?cursor=nonsense'],
  ['GET /v1/campaigns?cursor='],
  ['GET /v1/campaigns/nothing'],
  [`GET /v1/campaigns/${'x'.repeat(41)}`],
  ['POST /v1/campaigns/nothing/pause'],
  ['GET /v1/campaigns/nothing/recipients'],
  ['GET /v1/campaigns/nothing/report'],
  ['GET /v1/campaigns/nothing/report?format=excel&separator=pipe'],
  ['GET /v1/campaigns/nothing/report?format=excel&zone=Mars'],
  ['POST /v1/campaigns', {}],
  ['POST /v1/preview', []],
  ...each(
    'POST /v1/campaigns',
    CAMPAIGN,
    { recipients: [] },
    { recipients: [{ to: '0770' }] },
    { recipients: [to] },
    { recipients: [{ to }, { to: true }] },
    { recipients: [{ to: '1', a: {} }] },
    { recipients: [{ to, sendAt: 'at nine' }] },
    { recipients: [{ to, sendAt: '2030-05-01T09:00' }] },
    { recipients: [{ to, send_at: '2030-05-01T09:00Z' }] },
    { recipients: [{ to, reference: 'é'.repeat(65) }] },
    { metadata: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`m${at}`, 'x'])) },
    { message: '' },
    { message: 7, a: 1, b: 2 },
    { message: 'Hi {{nmae}}' },
    { mesage: 'Hi' },
    { idempotencyKey: 'a' },
    { ...PARIS, window: { hour: 'Mon' } },
    { sender: ' ' },
    { sender: 'A name that is too long' },
    { lane: 'nowhere' },
    { lane: 'nowhere', validFor: 'soon' },
    { sendAt: 'soon' },
    { sendAt: '2999-01-01T00:00:00' },
    { sendAt: '2001-01-01T00:00:00Z' },
    { ...PARIS, sendAt: '2001-05-01T09:00' },
    { ...PARIS, sendAt: '2030-03-31T02:30' },
    { ...PARIS, sendAt: '2030-10-27T02:30' },
    { ...PARIS, sendAt: 'tomorrow 9:00' },
    ...[-1, '5,00', '1e3', '5 USD', true, null].map((maxCost) => ({ maxCost })),
    { country: 'UK' },
    { country: 'UK!' },
    { priority: 'urgent' },
    ...[['a b'], Array.from({ length: 11 }, (_, at) => `t${at}`), 'vip'].map((tags) => ({ tags })),
    ...WINDOWS,
  ),
  ['POST /v1/preview?partail=true', CAMPAIGN],
  ['PATCH /v1/campaigns/nothing', { metadata: { shop: '17' }, lane: 'main' }],
  ['POST /v1/keys', { name: 'shop', scopes: ['read'] }],
  ...each(
    'PUT /v1/keys/nothing',
    {},
    { scope: ['read'] },
    { senders: null },
    { maxSegments: '1' },
    { maxSegments: 1, lift: ['maxSegments'] },
  ),
  ['GET /v1/me?x=1'],
  ['POST /v1/find'],
  ['POST /v1/find', { number: '0770' }],
  ['POST /v1/find', { number: '07700 900101', country: 'ZZ' }],
  ['POST /v1/find', { number: to, nubmer: 1 }],
  ['GET /v1/lanes/nowhere'],
  ['POST /v1/suppressions', { numbers: ['nobody'] }],
  ['POST /v1/suppressions', { numbers: [7] }],
  ['POST /v1/suppressions', { numbers: [to, '07700 900102'] }],
  ['POST /v1/suppressions/remove', { numbers: [to, '07700 900102'] }],
  ['POST /v1/outboxes', { name: 'box' }],
  ...each(
    'POST /v1/outboxes',
    OUTBOX,
    { name: 'a b' },
    { message: 'Hi {{#name}}' },
    { sender: 'A name that is too long' },
    { sendRule: 'appointment - 1w', ...PARIS },
    { sendRule: 'appointment - 1h' },
    { window: { hours: 'Mon-Sat 09:00-20:00' } },
    ...WINDOWS,
  ),
  ['GET /v1/outboxes/nothing'],
  ['GET /v1/outboxes?limits=1'],
  ['PUT /v1/outboxes/nothing/messages/m1', REMINDER],
  ...each(
    'PUT /v1/outboxes/dentist/messages/m1',
    REMINDER,
    { to: 'Ada' },
    { id: 'm2' },
    { name: undefined },
    { name: { first: 'Ada' } },
    { appointment: undefined },
    { appointment: '2030-03-31T01:30' },
    { appointment: '2030-10-27T01:30' },
    { appointment: '2020-01-01T00:00' },
    { appointment: '2999-01-01T00:00' },
    { sendAt: '2020-01-01T00:00Z' },
    { version: -1 },
    { version: 1.5 },
    { reference: 'x'.repeat(129) },
    { to: 'Ada', name: undefined, version: -1, appointment: 'tomorrow', reference: 'é'.repeat(80) },
  ),
  ['PUT /v1/outboxes/dentist/messages/m1', []],
  ['PUT /v1/outboxes/dentist/messages/m1?lane=default&lane=another', {}],
  ['POST /v1/schedules', { id: 'weekly' }],
  ...each(
    'POST /v1/schedules',
    SCHEDULE,
    { id: 'Not an id' },
    { cron: '0 0 30 2 *' },
    { cron: '* * * * * *' },
    { zone: 'Europe/Lundon' },
    { catchUp: '8d' },
    { catchUp: 'soon' },
    { message: 'Hi {{nme}}' },
    { recipients: [{ to: 'not a number' }] },
    { recipients: undefined },
    { provided: 'customers' },
    { id: 'Not an id', cron: '* *', zone: 'Europe/Lundon', catchUp: '8d', sender: 'far too long' },
    ...WINDOWS.slice(0, 4),
  ),
  ['GET /v1/schedules/nothing'],
  ['GET /v1/results?after=nonsense'],
  ['GET /v1/results?cursor=bm9uc2Vuc2U'],
  ['GET /v1/records/nothing'],
  ...each(
    'POST /v1/inbound',
    { lane: 'default', messageId: 'm1', from: to, to: '+447700900999', text: 'Hello' },
    { lane: undefined },
    { messageId: undefined },
    { messageId: 'é'.repeat(65) },
    { part: { reference: 1, number: 3, total: 2 } },
    { part: { reference: 1, number: 1, total: 256 } },
  ),
];

const JSON_TYPE = 'application/json';
const MESSAGES = 'POST /v1/outboxes/dentist/messages';

/** Bodies as they are. */
const BODIES: readonly (readonly [request: string, type: string, text: string | Buffer<ArrayBuffer>])[] = [
  ['POST /v1/campaigns', JSON_TYPE, '{"message":'],
  ['POST /v1/campaigns', JSON_TYPE, '{"__proto__":{"a":1}}'],
  ['POST /v1/campaigns', JSON_TYPE, JSON.stringify({ ...CAMPAIGN, message: 'x'.repeat(10_000_001) })],
  ...['text/plain', 'application/xml', 'application/x-www-form-urlencoded'].map(
    (type) => ['POST /v1/campaigns', type, 'Hi'] as const,
  ),
  ['POST /v1/preview', JSON_TYPE, Buffer.from('{"message":"Hi José"}', 'latin1')],
  ['POST /v1/find', JSON_TYPE, ''],
  ['POST /v1/find', 'text/plain', 'Hi'],
  ['POST /v1/lanes/default/resume', 'text/plain', 'Hi'],
  ['POST /v1/lanes/default/resume', JSON_TYPE, '{"dryRun":true}'],
  [MESSAGES, 'application/x-ndjson', '\n'],
  [MESSAGES, 'text/csv', '\n'],
  [MESSAGES, 'text/plain', 'a'],
  [MESSAGES, JSON_TYPE, '[]'],
  [MESSAGES, JSON_TYPE, '{"id":"a"}'],
  [MESSAGES, JSON_TYPE, '[{"id":"a"'],
  [MESSAGES, JSON_TYPE, '[] []'],
];

const CAMPAIGN_PART: Part = ['campaign', '{"message":"Hi","sender":"ACME"}'];
const LIST_PART: Part = ['recipients', `name,phone\nAnna,${to}\n`];

const FORMS: Readonly<Record<string, readonly Part[]>> = {
  'invalid rows': [CAMPAIGN_PART, ['recipients', 'name,phone\nAnna,+44 12\n,07700 900102\n']],
  'no parts': [],
  'no list': [CAMPAIGN_PART],
  'the list first': [LIST_PART, CAMPAIGN_PART],
  'another part instead of the list': [CAMPAIGN_PART, ['other', 'a']],
  'a campaign that is not JSON': [['campaign', '{'], LIST_PART],
  'a campaign that is not UTF-8': [['campaign', Buffer.from('{"message":"José"}', 'latin1')], LIST_PART],
  'a campaign that is too long': [['campaign', ' '.repeat(1_000_000)], LIST_PART],
  'an invalid member': [['campaign', '{"message":""}'], LIST_PART],
  'an unknown member': [['campaign', '{"message":"Hi","a":1}'], LIST_PART],
  'another part after the list': [CAMPAIGN_PART, LIST_PART, ['more', 'a'], ['other', 'a']],
  'another file after the list': [CAMPAIGN_PART, LIST_PART, ['more', Buffer.from('a')]],
  'a second list': [CAMPAIGN_PART, LIST_PART, LIST_PART],
  'a second campaign': [CAMPAIGN_PART, LIST_PART, CAMPAIGN_PART],
};

/** A form of these parts; a list and what is not text are files. */
function formOf(parts: readonly Part[]): FormData {
  const form = new FormData();
  for (const [name, content] of parts) {
    if (name !== 'recipients' && typeof content === 'string') form.append(name, content);
    else form.append(name, new Blob([content]), 'list.csv');
  }
  return form;
}

interface Problem {
  readonly code: string;
  readonly detail: string;
  readonly errors: readonly Readonly<Record<'pointer' | 'code' | 'message' | 'line' | 'column', unknown>>[];
}

/** What is particular to a problem: not its title and type, which belong to its code. */
function written({ code, detail, errors, ...rest }: Problem): string {
  const { type: _type, title: _title, status: _status, requestId: _id, ...members } = Object(rest);
  const items = errors.map(({ pointer, code: itemCode, message, line, column }) => {
    const row = line === null ? '' : `, line ${line}, column ${column}`;
    return `  ${pointer || 'body'}${row}: ${itemCode}: ${message}`;
  });
  const more = Object.entries(members).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`);
  return [`${code}: ${detail}`, ...items, ...more].join('\n');
}

test('The problems that the HTTP API answers are those in problems.txt, and nothing is stored', async () => {
  const { call } = await api();
  await call('POST', '/v1/outboxes', { body: REMINDERS });
  const stored = await storedKeys();
  const entries: string[] = [];
  const record = (request: string, status: number, json: unknown): void =>
    void entries.push(`${request}\n${status} ${written(json as Problem)}\n`);
  for (const [request, body] of REQUESTS) {
    const [method = '', path = ''] = request.split(' ');
    const { status, json } = await call(method, path, body === undefined ? {} : { body });
    expect(status, request).toBeGreaterThanOrEqual(400);
    record(`${request}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`, status, json);
  }
  for (const [request, type, text] of BODIES) {
    const [method = '', path = ''] = request.split(' ');
    const { status, json } = await call(method, path, { text, headers: { 'content-type': type } });
    const body = String(text);
    const shown = body.length > 100 ? `${body.slice(0, 50)}…` : JSON.stringify(body);
    record(`${request} ${type}: ${shown}`, status, json);
  }
  for (const [title, parts] of Object.entries(FORMS)) {
    const { status, json } = await call('POST', '/v1/campaigns', { form: formOf(parts) });
    record(`POST /v1/campaigns, a form with ${title}`, status, json);
  }
  expect(await storedKeys()).toEqual(stored);
  const without = await call('GET', '/v1/campaigns', { key: 'vk_none' });
  record('GET /v1/campaigns with an unknown key', without.status, without.json);
  await expect(entries.join('\n')).toMatchFileSnapshot('files/problems.txt');
});
