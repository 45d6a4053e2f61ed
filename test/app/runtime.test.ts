import { afterAll, expect, test } from 'vitest';
import { freePort } from '../../src/base/redis/private-server.js';
import { createEvents, createVolley, loadConfig, RedisUnavailableError } from '../../src/index.js';

const config = loadConfig({
  MESSAGING_BASE_URL: 'https://messaging.example',
  ACCOUNT_USERNAME: 'anna',
  ACCOUNT_PASSWORD: 'secret',
  HOURLY_QUOTA: '100',
  REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
});
const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
afterAll(() => volley.close());

async function all<Row>(rows: AsyncIterable<Row>): Promise<Row[]> {
  const read: Row[] = [];
  for await (const row of rows) read.push(row);
  return read;
}

const campaign = { recipients: [{ to: '+4915123456789' }], sender: 'ACME', message: 'Sale' };
const CALLS: Readonly<Record<string, () => Promise<unknown>>> = {
  enqueue: () => volley.enqueue(campaign),
  status: () => volley.status('c'),
  list: () => volley.list(),
  cancel: () => volley.cancel('c'),
  lanes: () => volley.lanes(),
  report: () => all(volley.report('c')),
  find: () => all(volley.find('+4915123456789')),
  'suppression.add': () => volley.suppression.add(['+4915123456789']),
  'suppression.list': () => all(volley.suppression.list()),
  'keys.list': () => volley.keys.list(),
  'subscription.get': () => volley.notifications.subscription('default').get(),
  'token.bearer': async () => volley.token('default')?.get(),
};

test('While Redis is unavailable, every call rejects with an error that says so', async () => {
  const said = await Promise.all(
    Object.entries(CALLS).map(async ([name, call]) => {
      const error = await call().catch((thrown: unknown) => thrown);
      return [name, error instanceof RedisUnavailableError, String(error)];
    }),
  );
  const words =
    'RedisUnavailableError: Redis does not answer: check that it is running, and check REDIS_URL if it is set';
  expect(said).toEqual(Object.keys(CALLS).map((name) => [name, true, words]));
});
