import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { api, write, folder: consoleFolder } = scene('console-page', { settings: { LOG_LEVEL: 'silent' } });
write('index.html', '<!doctype html><title>Volley</title>');
write('assets/index-Ab12.js', 'export {};');
const { app } = await api({ CONSOLE_URL: 'https://volley.example' }, { consoleFolder });

const get = (url: string, host = '127.0.0.1:8080') => app.inject({ url, headers: { host } });

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

test('Every screen of the console is the same page, which browsers ask for again each time', async () => {
  for (const path of ['/console/', '/console/campaigns/01J?status=unknown', '/console/assets']) {
    const { statusCode, headers, body } = await get(path);
    expect([path, statusCode, body]).toEqual([path, 200, '<!doctype html><title>Volley</title>']);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String),
    });
    // All files of a package have the same time, so either would keep a browser on an old page that names files which are gone.
    expect([headers['etag'], headers['last-modified']]).toEqual([undefined, undefined]);
    expect(headers['access-control-allow-origin']).toBeUndefined();
  }
  expect((await get('/console')).headers['location']).toBe('/console/');
});

test('Browsers keep the files whose names contain their digest, and a file that is gone is not found', async () => {
  const { statusCode, headers, body } = await get('/console/assets/index-Ab12.js');
  expect([statusCode, body]).toEqual([200, 'export {};']);
  expect(headers).toMatchObject({
    'content-type': expect.stringContaining('javascript'),
    'cache-control': 'public, max-age=31536000, immutable',
    'content-security-policy': POLICY,
  });
  for (const path of ['/console/assets/index-Old1.js', '/console/assets/../../package.json']) {
    expect([path, (await get(path)).statusCode]).toEqual([path, 404]);
  }
});

test('The console is served under addresses of this machine and CONSOLE_URL, and under no other name', async () => {
  for (const host of [
    '127.0.0.1',
    'localhost:8080',
    '[::1]:8080',
    '127.1.2.3:1',
    'VOLLEY.example',
    'volley.example:443',
  ])
    expect([host, (await get('/console/', host)).statusCode]).toEqual([host, 200]);
  for (const host of [
    'evil.example',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '10.0.0.1',
    'volley',
    'volley.example:8080',
    'evil.example@127.0.0.1',
    '127.0.0.1/',
  ])
    for (const path of ['/console', '/console/', '/console/assets/index-Ab12.js']) {
      const response = await get(path, host);
      expect([host, response.statusCode, response.json()]).toMatchObject([
        host,
        421,
        { code: 'misdirected' },
      ]);
    }
  // Other routes need an API key, or contain nothing of anyone.
  expect((await get('/healthz', 'evil.example')).statusCode).toBe(200);
});

test('A console that was not built says how to build it', async () => {
  const { app: unbuilt } = await api({}, { consoleFolder: join(consoleFolder, 'assets', 'none') });
  const response = await unbuilt.inject({ url: '/console/', headers: { host: '127.0.0.1' } });
  expect([response.statusCode, response.json()]).toMatchObject([
    404,
    { detail: expect.stringContaining('Run `npm run build`') },
  ]);
});
