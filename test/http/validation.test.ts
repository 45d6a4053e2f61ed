import { expect, test } from 'vitest';
import { testRedis } from '../redis/test-redis.js';
import { serveApi } from './api.js';

const { url, prefix } = testRedis('http-validation');
const { call } = await serveApi({ REDIS_URL: url, REDIS_PREFIX: prefix });

const recipients = [{ to: '+447700900123' }];
const notString = 'Invalid input: expected string, received';

test.each([
  ['POST', '/v1/campaigns', { recipients }, '/message', `${notString} undefined`],
  [
    'POST',
    '/v1/campaigns',
    { recipients, message: '' },
    '/message',
    'Too small: expected string to have >=1 characters',
  ],
  [
    'POST',
    '/v1/campaigns',
    { recipients, message: 'Hi', mesage: '' },
    '/mesage',
    'Unrecognized key: "mesage"',
  ],
  [
    'POST',
    '/v1/campaigns',
    { recipients, message: 'Hi', sender: ' ' },
    '/sender',
    'Too small: expected string to have >=1 characters',
  ],
  [
    'POST',
    '/v1/campaigns',
    { recipients, message: 'Hi', country: 'UK!' },
    '/country',
    'Use two letters of ISO 3166, such as GB',
  ],
  ['POST', '/v1/preview', [], '', 'Invalid input: expected object, received array'],
  ['POST', '/v1/suppressions', { numbers: [7] }, '/numbers/0', `${notString} number`],
  ['POST', '/v1/find', undefined, '', 'Invalid input: expected object, received null'],
  [
    'GET',
    '/v1/campaigns?limit=abc',
    undefined,
    'query/limit',
    'Invalid input: expected number, received NaN',
  ],
  [
    'GET',
    '/v1/campaigns?state=gone',
    undefined,
    'query/state',
    'Invalid option: expected one of "importing"|"scheduled"|"running"|"paused"|"cancelled"|"completed"',
  ],
  ['GET', '/v1/campaigns?stat=x', undefined, 'query/stat', 'Unrecognized key: "stat"'],
  [
    'GET',
    `/v1/campaigns/${'x'.repeat(41)}`,
    undefined,
    'path/id',
    'Too big: expected string to have <=40 characters',
  ],
] as const)(
  'The problem of an invalid request names the invalid part: %s %s %o',
  async (method, path, body, pointer, message) => {
    const { status, json } = await call(method, path, { body });
    const where = pointer === '' ? 'The body' : `\`${pointer}\``;
    expect([status, json]).toMatchObject([
      400,
      { detail: `${where} is invalid. ${message}.`, errors: [{ pointer, message }] },
    ]);
  },
);

test('Every error of a request is listed, not only the first', async () => {
  const { json } = await call('POST', '/v1/preview', { body: { recipients: [], a: 1, b: 2 } });
  const { errors } = json as { errors: { pointer: string }[] };
  expect(errors.map(({ pointer }) => pointer).sort()).toEqual(['/a', '/b', '/message', '/recipients']);
});

test('The JSON part of a form is validated in the same way', async () => {
  const form = new FormData();
  form.append('campaign', JSON.stringify({ message: '' }));
  form.append('recipients', new Blob(['phone\n+447700900123\n']), 'list.csv');
  const { status, json } = await call('POST', '/v1/campaigns', { form });
  const message = 'Too small: expected string to have >=1 characters';
  expect([status, json]).toMatchObject([400, { errors: [{ pointer: '/message', message }] }]);
});
