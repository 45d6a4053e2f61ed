import { expect, onTestFinished, test } from 'vitest';
import { loadLocalConfig } from '../../src/config/index.js';
import { createEvents } from '../../src/events/events.js';
import { createVolley } from '../../src/runtime.js';
import { testRedis } from '../redis/test-redis.js';
import { openLink } from './link.js';

const { url, prefix } = testRedis('operator');

test('a question that Redis breaks off fails, and nothing else of the process does', async () => {
  const target = new URL(url);
  const link = await openLink(Number(target.port || 6379));
  target.host = `127.0.0.1:${link.port}`;
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
    await link.close();
  });
  const made = await volley.enqueue({ recipients: [{ to: '+46700000001' }], message: 'Sale' });
  const id = made.kind === 'created' ? made.id : '';
  const asks: readonly (() => Promise<unknown>)[] = [() => volley.status(id), () => volley.list()];
  for (const ask of asks) {
    await expect.poll(ask).toBeTruthy();
    const sprung = link.trap({ on: 'request', holding: /evalsha/i, deed: 'cutBefore' });
    await expect(ask()).rejects.toThrow();
    await sprung;
  }
  expect(unseen).toEqual([]);
});
