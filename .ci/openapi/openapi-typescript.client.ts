import assert from 'node:assert/strict';
import createClient from 'openapi-fetch';
import type { components, paths } from './volley.js';

/*
 * A client from openapi-typescript: the types of the paths, with openapi-fetch. Uses a running server.
 */

const { BASE_URL: baseUrl = '', API_KEY: key = '' } = process.env;
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } });

const recipients: components['schemas']['CampaignRequest']['recipients'] = [
  { to: '+447700900123', name: 'Ada' },
  { to: '+447700900124', name: 'Grace' },
];
// @ts-expect-error: `to` is required.
recipients.push({ name: 'Alan' });
recipients.pop();

// A list in which only some rows have a reference, as a program collects it.
const orders = [
  { to: '+447700900123', name: 'Ada', reference: 'order-17' },
  { to: '+447700900124', name: 'Grace' },
];
const withReferences: components['schemas']['CampaignRequest']['recipients'] = orders;
assert.equal(withReferences.length, 2);
const messages = [
  { to: '+447700900123', name: 'Ada' },
  { to: '+447700900124', reference: 'r' },
];
const ofOutbox: components['schemas']['MessageInput'][] = messages;
assert.equal(ofOutbox.length, 2);

const created = await client.POST('/v1/campaigns', {
  params: { header: { 'Idempotency-Key': 'openapi-typescript' } },
  body: {
    sender: 'ACME',
    message: 'Hi {{name}}',
    recipients,
    sendAt: new Date(Date.now() + 86_400_000).toISOString(),
  },
});
assert.equal(created.response.status, 201, JSON.stringify(created.error));
const { id = '' } = created.data ?? {};
assert.equal(created.response.headers.get('location'), `/v1/campaigns/${id}`);

const status = await client.GET('/v1/campaigns/{id}', { params: { path: { id } } });
const state: 'scheduled' | undefined = status.data?.state === 'scheduled' ? status.data.state : undefined;
assert.equal(state, 'scheduled');
assert.equal(status.data?.counts.planned, 2);

const report = await client.GET('/v1/campaigns/{id}/report', {
  params: { path: { id }, query: { format: 'ndjson' } },
  parseAs: 'text',
});
const rows = String(report.data)
  .trim()
  .split('\n')
  .map((line): components['schemas']['ReportRow'] => JSON.parse(line));
assert.deepEqual(
  rows.map(({ to, status }) => [to, status]),
  [
    ['+447700900123', 'planned'],
    ['+447700900124', 'planned'],
  ],
);

assert.equal(created.data?.state, 'scheduled');
assert.equal(created.data?.sendAt, status.data?.sendAt);

const csv = await client.GET('/v1/campaigns/{id}/report', { params: { path: { id } }, parseAs: 'text' });
assert.match(String(csv.data), /^\w+,status,.*\r?\n\+447700900123,planned,/);

const uploaded = await client.POST('/v1/campaigns/upload', {
  body: {
    campaign: { message: 'Hi {{name}}, from a form', sender: 'ACME', sendAt: '2999-01-01T00:00:00Z' },
    recipients: 'phone,name\n+447700900123,Ada\n',
  },
  bodySerializer({ campaign, recipients: list }) {
    const form = new FormData();
    form.append('campaign', JSON.stringify(campaign));
    form.append('recipients', list);
    return form;
  },
});
assert.equal(uploaded.response.status, 201, JSON.stringify(uploaded.error));
assert.equal(uploaded.data?.recipientCount, 1);

const refused = await client.GET('/v1/campaigns/{id}', { params: { path: { id: 'none' } } });
assert.equal(refused.error?.code, 'notFound');
console.log('openapi-typescript: created, read, reported, and uploaded', id);
