import { expect, onTestFinished, test } from 'vitest';
import { startTcpProxy } from '../faults/tcp-proxy.js';
import { scene } from '../scene/scene.js';

const { open, url } = scene('lost-connection', { settings: { SENDER_ADDRESS: 'ACME' } });

test('A query that loses its Redis connection rejects and causes no unhandled rejection', async () => {
  const target = new URL(url);
  const proxy = await startTcpProxy(Number(target.port || 6379));
  target.host = `127.0.0.1:${proxy.port}`;
  onTestFinished(() => proxy.close());
  const volley = open({ REDIS_URL: target.toString() });
  const unseen: unknown[] = [];
  const see = (error: unknown): void => void unseen.push(error);
  process.on('unhandledRejection', see);
  onTestFinished(() => void process.off('unhandledRejection', see));
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
