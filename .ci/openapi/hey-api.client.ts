import assert from 'node:assert/strict';
import { client } from './hey-api/client.gen.js';
import {
  type CampaignRequest,
  cancelCampaign,
  createCampaign,
  followCampaign,
  getCampaign,
  getReport,
  listCampaigns,
  type ReportRow,
  uploadCampaign,
} from './hey-api/index.js';

/*
 * A client from hey-api: one function per operation, with a reader of server-sent events. Uses a running server.
 */

const { BASE_URL: baseUrl = '', API_KEY: key = '' } = process.env;
client.setConfig({ baseUrl, auth: key });

const orders = [
  { to: '+447700900126', name: 'Ada', reference: 'order-17' },
  { to: '+447700900127', name: 'Grace' },
];
const withReferences: CampaignRequest['recipients'] = orders;
assert.equal(withReferences.length, 2);

const { data: created } = await createCampaign({
  headers: { 'Idempotency-Key': 'hey-api' },
  body: {
    sender: 'ACME',
    message: 'Hi {{name}} from hey-api',
    name: 'Spring sale',
    recipients: [{ to: '+447700900125', name: 'Ada' }],
    sendAt: new Date(Date.now() + 86_400_000).toISOString(),
  },
  throwOnError: true,
});
const { id } = created;

const { data: page } = await listCampaigns({ query: { name: 'spring', limit: 10 }, throwOnError: true });
assert.deepEqual(
  page.campaigns.map((one) => one.id),
  [id],
);

const over = new AbortController();
const { stream } = await followCampaign({
  path: { id },
  query: { type: ['campaign.cancelled', 'campaign.status'] },
  headers: { 'last-event-id': '0-0' },
  signal: over.signal,
});
const seen: string[] = [];
let isCancelled = false;
for await (const data of stream) {
  if ('type' in data && data.type === 'campaign.cancelled') {
    assert.equal(data.name, 'Spring sale');
    assert.equal(data.idempotencyKey, 'hey-api');
    seen.push(data.type);
  } else if ('counts' in data) {
    seen.push(`status ${data.state}`);
  }
  if (!isCancelled) {
    isCancelled = true;
    const { data: cancelled } = await cancelCampaign({ path: { id }, throwOnError: true });
    assert.equal(cancelled.cancelled, 1);
  }
  if (seen.includes('campaign.cancelled')) break;
}
over.abort();
assert.ok(seen.includes('campaign.cancelled'), seen.join());

assert.equal(created.state, 'scheduled');

const { data: uploaded } = await uploadCampaign({
  body: {
    campaign: { message: 'Hi {{name}}, from a form', sender: 'ACME', sendAt: '2999-01-01T00:00:00Z' },
    recipients: new Blob(['phone,name\n+447700900126,Ada\n+447700900127,Grace\n']),
  },
  throwOnError: true,
});
assert.equal(uploaded.recipientCount, 2);
const report = { path: { id: uploaded.id }, parseAs: 'text', throwOnError: true } as const;
const { data: csv } = await getReport({ ...report, query: { format: 'csv' } });
assert.match(csv, /^\w+,status,.*\r?\n\+447700900126,planned,/);
const { data: lines } = await getReport({ ...report, query: { format: 'ndjson' } });
const rows = lines
  .trim()
  .split('\n')
  .map((line): ReportRow => JSON.parse(line));
assert.deepEqual(
  rows.map(({ to, status }) => [to, status]),
  [
    ['+447700900126', 'planned'],
    ['+447700900127', 'planned'],
  ],
);

const { error } = await getCampaign({ path: { id: 'none' } });
assert.equal(error?.code, 'notFound');
console.log('hey-api: created, listed, followed, cancelled, uploaded, and reported', id);
