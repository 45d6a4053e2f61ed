import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { connect } from '../../../src/base/redis/connection.js';
import { keyOf } from '../../../src/reporting/webhooks/endpoint.js';
import { inTurns } from '../../../src/reporting/webhooks/watch.js';
import { deliverWebhooks } from '../../../src/reporting/webhooks/work.js';
import { byKey } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { people } from '../results-fixture.js';
import { startReceiver, webhookFixture } from './fixture.js';

const { prefix, redis, url } = testRedis('webhook-work');
const receiver = await startReceiver();
afterAll(() => receiver.close());

test('An event of one tenant arrives while 30 endpoints of another hold all the turns that they may have, before any of them ends', async () => {
  const unanswered = new Set<string>();
  let ended = 0;
  const silent = createServer(({ url: path = '' }, response) => {
    unanswered.add(path);
    response.once('close', () => {
      ended += 1;
    });
  }).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const { campaign, send, webhooks, service, options } = webhookFixture(redis, prefix);
  for (let at = 0; at < 30; at += 1) await webhooks.add({ url: `http://127.0.0.1:${port}/${at}` });
  const blocking = connect(url, 'blocking');
  const work = deliverWebhooks({ ...options, blocking, turnsAtOnce: 20 });
  try {
    await campaign({ recipients: people(1) });
    await send('T');
    await expect.poll(() => unanswered.size).toBe(10);
    const { secret } = await service(byKey('0123456789ab')).add({ url: receiver.url });
    receiver.secrets.push(secret);
    await campaign({ recipients: people(1, 5) });
    await send('T');
    await expect.poll(() => receiver.results().length).toBe(1);
    expect([unanswered.size, ended]).toEqual([10, 0]);
  } finally {
    silent.closeAllConnections();
    silent.close();
    await work.drain();
    blocking.disconnect();
  }
});

test('Endpoints are woken in turns: the first of each owner, then the second of each', async () => {
  const { service, webhooks, store } = webhookFixture(redis, `${prefix}-order`);
  const ofKey = service(byKey('0123456789ab'));
  for (const by of [webhooks, webhooks, webhooks, ofKey, ofKey]) await by.add({ url: receiver.url });
  const woken = inTurns(await store.endpoints()).map(keyOf);
  expect(new Set(woken.slice(0, 2)).size).toBe(2);
  expect(new Set(woken.slice(2, 4)).size).toBe(2);
  expect(woken[4]).toBeNull();
});
