import { fileURLToPath } from 'node:url';
import Fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { createVolley, loadConfig } from '../../../src/index.js';
import { volleyHttp } from '../../../src/surfaces/http/index.js';
import { scene } from '../../scene/scene.js';

const { settings } = scene('http-plugin', { settings: { API_KEY: 'k', SENDER_ADDRESS: 'ACME' } });

const CONSOLE = fileURLToPath(new URL('../../../dist/src/surfaces/console', import.meta.url));

/** An app of Fastify that serves the API below `/sms`. */
async function serve() {
  const config = loadConfig({
    ...settings,
    MESSAGING_BASE_URL: 'http://127.0.0.1:1/v1',
    LOG_LEVEL: 'silent',
  });
  const volley = createVolley({ config });
  onTestFinished(() => volley.close());
  const app = Fastify();
  app.register(volleyHttp, { volley, config, prefix: '/sms', consoleFolder: CONSOLE });
  app.post('/own', async ({ body }) => ({ body }));
  return { app, volley, origin: await app.listen({ host: '127.0.0.1', port: 0 }) };
}

test('An app of Fastify serves the API below a prefix, beside its own routes, until it is closed', async () => {
  const { app, volley, origin } = await serve();
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
    expect([refused.status, await refused.json()]).toMatchObject([
      status,
      { code, type: `/sms/docs#problem-${code}` },
    ]);
  }
  expect(await (await call('/own', { a: 1 })).json()).toEqual({ body: { a: 1 } });
  expect((await call('/v1/outboxes')).status).toBe(404);
  const stream = await call('/sms/v1/events');
  expect(stream.status).toBe(200);
  const reading = stream.text();
  await app.close();
  await reading;
});

test('Below a prefix, the pages and the OpenAPI document name addresses that the app serves', async () => {
  const { app, origin } = await serve();
  onTestFinished(() => app.close());
  for (const path of ['/sms/', '/sms/docs', '/sms/console/', '/sms/console/campaigns/01J']) {
    const page = await fetch(`${origin}${path}`);
    const addresses = [...(await page.text()).matchAll(/ (?:src|href|spec-url)="([^"]+)"/g)]
      .map(([, address = '']) => new URL(address, page.url))
      .filter(({ protocol }) => protocol !== 'data:');
    expect(addresses.length, path).toBeGreaterThan(1);
    for (const { href } of addresses)
      expect([path, href, (await fetch(href)).status]).toEqual([path, href, 200]);
  }
  expect((await fetch(`${origin}/sms/console`)).url).toBe(`${origin}/sms/console/`);
  const document = await fetch(`${origin}/sms/openapi.json`);
  expect(await document.json()).toMatchObject({ servers: [{ url: '/sms' }] });
});
