import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { formatReport } from '../../../../src/reporting/report-file.js';
import { campaignForm, client } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const { api, stored } = scene('http-report');
const { call, key, log, origin, volley } = await api();
const COUNT = 5_000;

await volley.suppression.add(['+447700000007']);
const csv = Array.from({ length: COUNT }, (_, at) => `+447700${String(at).padStart(6, '0')}`).join('\n');
const created = await call('POST', '/v1/campaigns', {
  form: campaignForm({ message: 'Hi', sendAt: '2999-01-01T00:00:00Z' }, `phone\n${csv}\n`),
});
expect(created).toMatchObject({ status: 201, json: { recipientCount: COUNT - 1, suppressed: 1 } });
const { id } = created.json as { id: string };

test.each(['csv', 'ndjson'] as const)('A report equals the one of the command line: %s', async (format) => {
  const { status, headers, json } = await call('GET', `/v1/campaigns/${id}/report?format=${format}`);
  expect(status).toBe(200);
  expect(headers.get('content-type')).toContain(format === 'csv' ? 'text/csv' : 'application/x-ndjson');
  expect(headers.get('transfer-encoding')).toBe('chunked');
  let whole = '';
  for await (const piece of formatReport(volley.report(id), format)) whole += piece;
  expect(json).toBe(whole);
  expect(whole.trimEnd().split('\n')).toHaveLength(COUNT + (format === 'csv' ? 1 : 0));
});

test('A report can be limited to one status or several', async () => {
  for (const status of ['suppressed', 'failed,suppressed', 'failed&status=suppressed']) {
    const { json } = await call('GET', `/v1/campaigns/${id}/report?format=ndjson&status=${status}`);
    expect(JSON.parse(String(json))).toMatchObject({ to: '+447700000007', status: 'suppressed' });
  }
  for (const status of ['deliveredToTerminal', 'DeliveredToTerminal', 'delivered']) {
    const { status: code, json: rows } = await call(
      'GET',
      `/v1/campaigns/${id}/report?format=ndjson&status=${status}`,
    );
    expect([status, code, rows]).toEqual([status, 200, '']);
  }
  const wrong = await call('GET', `/v1/campaigns/${id}/report?status=arrived`);
  expect([wrong.status, wrong.json]).toMatchObject([400, { errors: [{ pointer: 'query/status/0' }] }]);
  expect((await call('GET', '/v1/campaigns/nowhere/report')).status).toBe(404);
});

test('A report for Excel has the columns of the text, local times, and no formula, and is named after its campaign', async () => {
  const list = 'phone,name,code,town\n+447700900123,=1+1,0049,Bath\n+447700900124,"Bo ""B""",1-2,Hull\n';
  const { json } = await call('POST', '/v1/campaigns', {
    form: campaignForm(
      { name: 'Frühling: 20 %', message: 'Hi {{name}} {{code}}', sendAt: '2999-01-01T00:00:00Z' },
      list,
    ),
  });
  const at = `/v1/campaigns/${(json as { id: string }).id}/report`;
  const report = await call('GET', `${at}?format=excel&separator=semicolon&zone=America/New_York`);
  expect(report.status).toBe(200);
  expect(report.headers.get('content-type')).toContain('text/csv');
  const named = `filename="Fruhling 20 _.csv"; filename*=UTF-8''Fr%C3%BChling%2020%20%25.csv`;
  expect(report.headers.get('content-disposition')).toBe(`attachment; ${named}`);
  const [header, first, second] = String(report.json).replace('\ufeff', '').split('\r\n');
  expect(header).toContain('"number";"status";"reason";"name";"code";"sent at (America/New_York)"');
  expect(header).toMatch(/;"service status";"service code"$/);
  expect(first).toMatch(/^"=""\+447700900123""";"Not sent yet";"";"'=1\+1";"=""0049""";/);
  expect(second).toMatch(/;"Bo ""B""";"=""1-2""";/);
  for (const format of ['csv', 'ndjson']) {
    const plain = await call('GET', `${at}?format=${format}`);
    expect(plain.headers.get('content-disposition')).toContain(`%2020%20%25.${format}`);
  }
  // They are for Excel.
  for (const name of ['separator', 'zone']) {
    const refused = await call('GET', `${at}?${name}=${name === 'zone' ? 'UTC' : 'tab'}`);
    expect(refused).toMatchObject({ status: 400, json: { errors: [{ pointer: `/${name}` }] } });
  }
});

test('A report that fails midway ends as an incomplete response, and the log gives the reason', async () => {
  const other = await call('POST', '/v1/campaigns', {
    form: campaignForm({ message: 'Hello', sendAt: '2999-01-01T00:00:00Z' }, `phone\n${csv}\n`),
  });
  const { id: broken } = other.json as { id: string };
  await stored().damageSlice(broken, 15);
  const reply = await fetch(`${origin}/v1/campaigns/${broken}/report`, {
    headers: { authorization: `Bearer ${await key()}` },
  });
  expect(reply.status).toBe(200);
  await expect(reply.text()).rejects.toThrow();
  const lines = log.filter((line) => line.includes('"http.brokeOff"'));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('/v1/campaigns/:id/report');
});

test('A report ends as an incomplete response when its key is revoked', async () => {
  // More than the socket buffers hold while the client does not read.
  const numbers = Array.from({ length: 120_000 }, (_, at) => `+4477${String(10_000_000 + at)}`);
  const long = await call('POST', '/v1/campaigns', {
    form: campaignForm(
      { message: 'Hi all', sendAt: '2999-01-01T00:00:00Z' },
      `phone\n${numbers.join('\n')}\n`,
    ),
  });
  const own = await key(['read']);
  const socket = client(origin);
  const path = `/v1/campaigns/${(long.json as { id: string }).id}/report?format=ndjson`;
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${own}\r\nConnection: close\r\n\r\n`,
  );
  const [head] = await once(socket, 'data');
  socket.pause();
  await volley.keys.revoke(own.split('_')[1] ?? '');
  const checks = vi.spyOn(volley.keys, 'isActive');
  onTestFinished(() => checks.mockRestore());
  await expect.poll(() => checks.mock.settledResults).toContainEqual({ type: 'fulfilled', value: false });
  let body = String(head);
  for await (const piece of socket) body += String(piece);
  expect(body).toMatch(/^HTTP\/1\.1 200 /);
  expect(body).not.toContain(numbers.at(-1));
  expect(body.endsWith('0\r\n\r\n')).toBe(false);
});
