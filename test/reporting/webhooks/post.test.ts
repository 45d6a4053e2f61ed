import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { checkedUrl } from '../../../src/reporting/webhooks/endpoint.js';
import { openPoster } from '../../../src/reporting/webhooks/post.js';
import { PRIVATE_ADDRESS } from '../../../src/service/client/reason.js';

/** A service on this machine that no endpoint may reach. */
let reached = 0;
const inner = createServer((_request, response) => {
  response.end();
});
inner.on('connection', () => {
  reached += 1;
});
inner.listen(0, '::');
await once(inner, 'listening');
const { port } = inner.address() as AddressInfo;
afterAll(() => void inner.close());
beforeEach(() => {
  reached = 0;
});

const post = (url: string, options: Partial<Parameters<typeof openPoster>[0]> = {}) =>
  openPoster({ allowed: [], ...options }).post(url, {}, '{}');

test.each([
  '127.0.0.1',
  '2130706433',
  '0x7f.1',
  '0',
  'localhost',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::7f00:1]',
  '[::127.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
  '[2a00:1450::5efe:127.0.0.1]',
  '[2a00:1450::200:5efe:127.0.0.1]',
  '[fec0::1]',
  '[4000::1]',
  '169.254.169.254',
  '10.0.0.1',
  '100.64.0.1',
  '192.168.0.1',
  '[fd00::1]',
])('%s is not reached', async (host) => {
  expect(await post(`http://${host}:${port}/`)).toMatchObject({ kind: 'failure', code: PRIVATE_ADDRESS });
  expect(reached).toBe(0);
});

test('A name that leads to a public address first and to this machine later is never reached there', async () => {
  const answers = ['93.184.215.14', '127.0.0.1', '127.0.0.1', '::1'];
  let asked = 0;
  const lookup: LookupFunction = (_host, { all }, callback) => {
    const address = answers[asked++] ?? '127.0.0.1';
    const family = address.includes(':') ? 6 : 4;
    if (all) callback(null, [{ address, family }]);
    else callback(null, address, family);
  };
  for (let at = 0; at < 4; at += 1)
    await post(`http://rebinding.example:${port}/`, { lookup, timeoutMs: 500 });
  expect(asked).toBe(4);
  expect(reached).toBe(0);
});

test.each(['::127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::', '2a00:1450::5efe:7f00:1'])(
  'A name that leads to %s is not reached',
  async (address) => {
    const lookup: LookupFunction = (_host, { all }, callback) =>
      all ? callback(null, [{ address, family: 6 }]) : callback(null, address, 6);
    expect(await post(`http://embedded.example:${port}/`, { lookup })).toMatchObject({
      code: PRIVATE_ADDRESS,
    });
  },
);

test('A redirect is not followed, not even from an address that is allowed', async () => {
  const outer = createServer((_request, response) => {
    response.writeHead(307, { location: `http://localhost:${port}/` }).end();
  });
  outer.listen(0, '127.0.0.1');
  await once(outer, 'listening');
  const { port: outerPort } = outer.address() as AddressInfo;
  const exchange = await post(`http://127.0.0.1:${outerPort}/`, { allowed: ['127.0.0.0/8', '::1'] });
  expect(exchange).toMatchObject({ kind: 'reply', status: 307 });
  expect(reached).toBe(0);
  outer.close();
});

test.each([
  ['127.0.0.1', '127.0.0.0/8'],
  ['[::1]', '::1'],
  ['[::1]', '::/64'],
])('The address %s, which WEBHOOK_ALLOW lists, is reached', async (host, allowed) => {
  expect(await post(`http://${host}:${port}/`, { allowed: [allowed] })).toMatchObject({ status: 200 });
  expect(reached).toBe(1);
});

test.each([
  ['ftp://shop.example/', 'must be an https address'],
  ['shop.example', 'must be an https address'],
  ['https://user:password@shop.example/', 'must not contain a user or a password'],
  ['https://shop.example/#part', 'must not contain a fragment'],
  ['http://shop.example/', 'must begin with https://'],
  ['http://10.0.0.1/', 'must begin with https://'],
])('The address %s is refused when it is added: it %s', (url, problem) => {
  expect(() => checkedUrl(url)).toThrow(problem);
});
