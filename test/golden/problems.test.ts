import stringify from 'json-stringify-pretty-compact';
import { expect, test } from 'vitest';
import { campaignForm } from '../scene/api.js';
import { scene } from '../scene/scene.js';

const { api } = scene('golden-problems');

const recipients = [{ to: '+447700900101', values: { name: 'Anna' } }];
/** Requests with one mistake each. */
const REQUESTS: readonly (readonly [request: string, body?: unknown])[] = [
  ['GET /v1/nothing'],
  ['DELETE /v1/campaigns'],
  ['GET /v1/campaigns?limit=0'],
  ['GET /v1/campaigns?sate=running'],
  ['GET /v1/campaigns?cursor=nonsense'],
  ['GET /v1/campaigns/nothing'],
  ['POST /v1/campaigns/nothing/pause'],
  ['GET /v1/campaigns/nothing/report'],
  ['POST /v1/campaigns', {}],
  ['POST /v1/campaigns', { recipients, message: 'Hi' }],
  ['POST /v1/campaigns', { recipients: [], message: 'Hi', sender: 'ACME' }],
  ['POST /v1/campaigns', { recipients, message: 7, sender: 'ACME', a: 1 }],
  ['POST /v1/campaigns', { recipients: [{ to: '0770' }], message: 'Hi', sender: 'ACME' }],
  ['POST /v1/campaigns', { recipients, message: 'Hi {{nmae}}', sender: 'ACME' }],
  ['POST /v1/campaigns', { recipients, message: 'Hi', sender: 'A name that is too long' }],
  ['POST /v1/campaigns', { recipients, message: 'Hi', sender: 'ACME', lane: 'nowhere' }],
  ['POST /v1/campaigns', { recipients, message: 'Hi', sender: 'ACME', sendAt: 'soon' }],
  ['POST /v1/campaigns', { recipients, message: 'Hi', sender: 'ACME', maxCost: '5,00' }],
  ['POST /v1/campaigns', { recipients, message: 'Hi', sender: 'ACME', country: 'UK' }],
  [
    'POST /v1/campaigns',
    { recipients, message: 'Hi', sender: 'ACME', window: { hours: 'soon' }, zone: 'UTC' },
  ],
  ['POST /v1/find', { number: '0770' }],
  ['POST /v1/find', { number: '+447700900101', nubmer: 1 }],
  ['GET /v1/lanes/nowhere'],
  ['POST /v1/suppressions', { numbers: ['nobody'] }],
  ['PUT /v1/outboxes/nothing/messages/m1', { to: '+447700900101', sendAt: '2030-05-01T09:00:00Z' }],
  ['POST /v1/outboxes', { name: 'box' }],
  ['GET /v1/outboxes/nothing'],
  ['POST /v1/schedules', { id: 'weekly' }],
  ['GET /v1/schedules/nothing'],
  ['GET /v1/results?after=nonsense'],
  ['GET /v1/records/nothing'],
];

test('The problems that the HTTP API answers are those in problems.txt', async () => {
  const { call } = await api();
  const entries: string[] = [];
  const record = (request: string, status: number, json: unknown): void =>
    void entries.push(`${request}\n${status} ${stringify(json, { indent: 1, maxLength: 100 })}\n`);
  for (const [request, body] of REQUESTS) {
    const [method = '', path = ''] = request.split(' ');
    const { status, json } = await call(method, path, body === undefined ? {} : { body });
    expect(status, request).toBeGreaterThanOrEqual(400);
    record(`${request}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`, status, json);
  }
  const form = campaignForm({ message: 'Hi', sender: 'ACME' }, 'name,phone\nAnna,+44 12\n,07700 900102\n');
  const upload = await call('POST', '/v1/campaigns', { form });
  record('POST /v1/campaigns, a form with invalid rows', upload.status, upload.json);
  const without = await call('GET', '/v1/campaigns', { key: 'vk_none' });
  record('GET /v1/campaigns with an unknown key', without.status, without.json);
  const text = entries.join('\n').replace(/"requestId": "[^"]*"/g, '"requestId": "<request>"');
  await expect(text).toMatchFileSnapshot('files/problems.txt');
});
