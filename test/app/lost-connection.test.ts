import { expect, onTestFinished, test } from 'vitest';
import { createVolley } from '../../src/app/runtime.js';
import { loadLocalConfig } from '../../src/base/config/index.js';
import { createEvents } from '../../src/base/events/events.js';
import { testRedis } from '../base/redis/test-redis.js';
import { startTcpProxy } from '../faults/tcp-proxy.js';

const { url, prefix } = testRedis('operator');

test('A query that loses its Redis connection rejects and causes no unhandled rejection', async () => {
  const target = new URL(url);
  const proxy = await startTcpProxy(Number(target.port || 6379));
  target.host = `127.0.0.1:${proxy.port}`;
  const environment = { REDIS_URL: target.toString(), REDIS_PREFIX: prefix, SENDER_ADDRESS: 'ACME' };
  const volley = createVolley({
    config: loadLocalConfig(environment),
    events: createEvents({ level: 'silent' }),
  });
  const unseen: unknown[] = [];
  const see = (error: unknown): void => void unseen.push(error);
  process.on('unhandledRejection', see);
  onTestFinished(async () => {
    process.off('unhandledRejection', see);
    await volley.close();
    await proxy.close();
  });
  const made = await volley.enqueue({ recipients: [{ to: '+46700000001' }], message: 'Sale' });
  const id = made.outcome === 'created' ? made.id : '';
  const asks: readonly (() => Promise<unknown>)[] = [() => volley.status(id), () => volley.list()];
  for (const ask of asks) {
    await expect.poll(ask).toBeTruthy();
    const triggered = proxy.trap({ on: 'request', matching: /evalsha/i, action: 'cutBefore' });
    await expect(ask()).rejects.toThrow();
    await triggered;
  }
  expect(unseen).toEqual([]);
});
