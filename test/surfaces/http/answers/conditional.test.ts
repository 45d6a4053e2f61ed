import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { campaignForm } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const { call, app, key } = await scene('http-conditional').api();
const list = Array.from({ length: 2_000 }, (_, at) => `+4477009${String(at).padStart(5, '0')}`);
const { json } = await call('POST', '/v1/campaigns', {
  form: campaignForm({ message: 'Hi', sendAt: '2999-01-01T00:00:00Z' }, `phone\n${list.join('\n')}\n`),
});
const { id } = json as { id: string };

test('A client that has the current report or status receives no body', async () => {
  const report = `/v1/campaigns/${id}/report`;
  for (const path of [report, `${report}?format=ndjson`, `${report}?status=planned`, `/v1/campaigns/${id}`]) {
    const first = await call('GET', path);
    const etag = first.headers.get('etag') ?? '';
    expect([path, first.status, etag]).toEqual([path, 200, expect.stringMatching(/^W\/"[\w-]{22}"$/)]);
    for (const method of ['GET', 'HEAD']) {
      const again = await call(method, path, { headers: { 'if-none-match': `"other", ${etag}` } });
      expect([path, again.status, again.json, again.headers.get('etag')]).toEqual([path, 304, '', etag]);
    }
    expect((await call('GET', path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  }
  const tags = [report, `${report}?format=ndjson`, `${report}?status=planned`].map(async (path) =>
    (await call('HEAD', path)).headers.get('etag'),
  );
  expect(new Set(await Promise.all(tags)).size).toBe(3);
});

test('The tag of an unfinished campaign stays the same while only the clock moves', async () => {
  const form = campaignForm({ message: 'Hi now' }, 'phone\n+447700900123\n');
  const created = (await call('POST', '/v1/campaigns', { form })).json as { id: string };
  const look = async () => {
    const { headers, json } = await call('GET', `/v1/campaigns/${created.id}`);
    return { tag: headers.get('etag'), ...(json as { completion: { earliest: string } }) };
  };
  const first = await look();
  let later = await look();
  while (later.completion.earliest === first.completion.earliest) later = await look();
  expect(later.tag).toBe(first.tag);
});

test('A change of the campaign changes the tags of its report and status', async () => {
  const paths = [`/v1/campaigns/${id}/report`, `/v1/campaigns/${id}`];
  const before = await Promise.all(paths.map(async (path) => (await call('GET', path)).headers.get('etag')));
  expect((await call('POST', `/v1/campaigns/${id}/cancel`)).status).toBe(200);
  for (const [at, path] of paths.entries()) {
    const { status } = await call('GET', path, { headers: { 'if-none-match': before[at] ?? '' } });
    expect([path, status]).toEqual([path, 200]);
  }
});

test.each([
  ['gzip, deflate, br', 'gzip'],
  ['gzip;q=0.5', 'gzip'],
  ['*', 'gzip'],
  ['identity', undefined],
  ['gzip;q=0, *', undefined],
  ['br', undefined],
] as const)('A report is compressed if the client accepts it: %s', async (accepted, encoding) => {
  const reply = await app.inject({
    url: `/v1/campaigns/${id}/report`,
    headers: { authorization: `Bearer ${await key()}`, 'accept-encoding': accepted },
  });
  expect([reply.headers['content-encoding'], reply.headers['vary']]).toEqual([encoding, 'accept-encoding']);
  const text = encoding === 'gzip' ? gunzipSync(reply.rawPayload).toString() : reply.body;
  expect(text.trim().split('\n')).toHaveLength(list.length + 1);
  if (encoding === 'gzip') expect(reply.rawPayload.length).toBeLessThan(text.length / 4);
});

test('A report that fails before its first line is a problem document, not compressed', async () => {
  const reply = await app.inject({
    url: '/v1/campaigns/mwrwtvlrlfo07/report',
    headers: { authorization: `Bearer ${await key()}`, 'accept-encoding': 'gzip' },
  });
  expect([reply.statusCode, reply.headers['content-encoding'], reply.json().code]).toEqual([
    404,
    undefined,
    'notFound',
  ]);
});

test('The root links to the documentation', async () => {
  const { status, headers, json: html } = await call('GET', '/');
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(html).toContain('<a href="docs">');
  expect(headers.get('link')).toContain('<docs>; rel="service-doc"');
});
