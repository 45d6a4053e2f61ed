import Fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { createVolley, loadConfig } from '../../../src/index.js';
import { volleyHttp } from '../../../src/surfaces/http/index.js';
import { scene } from '../../scene/scene.js';

const { settings } = scene('http-plugin', { settings: { API_KEY: 'k', SENDER_ADDRESS: 'ACME' } });

test('An app of Fastify serves the API below a prefix, beside its own routes, until it is closed', async () => {
  const config = loadConfig({
    ...settings,
    MESSAGING_BASE_URL: 'http://127.0.0.1:1/v1',
    LOG_LEVEL: 'silent',
  });
  const volley = createVolley({ config });
  onTestFinished(() => volley.close());
  const app = Fastify();
  app.register(volleyHttp, { volley, config, prefix: '/sms' });
  app.post('/own', async ({ body }) => ({ body }));
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const { key } = await volley.keys.create({ name: 'test', scopes: ['read', 'send'] });
  const call = (path: string, body?: object, authorization = `Bearer ${key}`) =>
    fetch(`${origin}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const outbox = { name: 'codes', message: 'Your code is {{code}}' };
  const created = await call('/sms/v1/outboxes', outbox);
  expect([created.status, created.headers.get('location')]).toEqual([
    201,
    '/sms/v1/outboxes/codes?lane=default',
  ]);
  const list = [{ id: 'a', to: '+447700900123', code: '1' }];
  const put = await call('/sms/v1/outboxes/codes/messages', list);
  expect(await put.text()).toContain('"outcome":"created"');
  const location = created.headers.get('location') ?? '';
  expect(await (await call(location)).json()).toMatchObject({ counts: { waiting: 1 } });
  for (const [path, authorization, status, code] of [
    ['/sms/v1/outboxes', 'Bearer x', 401, 'unauthorised'],
    ['/sms/v1/none', `Bearer ${key}`, 404, 'notFound'],
  ] as const) {
    const refused = await call(path, undefined, authorization);
    expect([refused.status, await refused.json()]).toMatchObject([status, { code }]);
  }
  expect(await (await call('/own', { a: 1 })).json()).toEqual({ body: { a: 1 } });
  expect((await call('/v1/outboxes')).status).toBe(404);
  const stream = await call('/sms/v1/events');
  expect(stream.status).toBe(200);
  const reading = stream.text();
  await app.close();
  await reading;
});
