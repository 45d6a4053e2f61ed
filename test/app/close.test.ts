import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { ClosedError, createVolley, loadConfig, type Volley, type Workers } from '../../src/index.js';
import { testRedis } from '../base/redis/test-redis.js';
import { json, startService } from '../engine/sending/local-service.js';

const { prefix, url } = testRedis('close');

function volleyOf(name: string, baseUrl = 'http://127.0.0.1:9') {
  const config = loadConfig({
    REDIS_URL: url,
    REDIS_PREFIX: `${prefix}-${name}`,
    MESSAGING_BASE_URL: baseUrl,
    API_KEY: 'k',
    HOURLY_QUOTA: '1000',
    SENDER_ADDRESS: '12345',
    LOG_LEVEL: 'silent',
  });
  const volley = createVolley({ config });
  onTestFinished(() => volley.close());
  return volley;
}

const ENDS: readonly (readonly [string, (volley: Volley, workers: Workers) => readonly Promise<void>[]])[] = [
  ['close twice', (volley) => [volley.close(), volley.close()]],
  ['drain and close', (volley, workers) => [workers.drain(), volley.close()]],
  ['close and drain twice', (volley, workers) => [volley.close(), workers.drain(), workers.drain()]],
];

test.each(ENDS)(
  'With 32 requests in flight, %s settles all of them before anything is disconnected',
  async (name, end) => {
    const waiting: ServerResponse[] = [];
    let arrived = (): void => {};
    const all = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const service = await startService((_request, response) => {
      if (waiting.push(response) === 32) arrived();
    });
    const own = name.replaceAll(' ', '-');
    const [volley, other] = [volleyOf(own, service.baseUrl), volleyOf(own)];
    const workers = volley.work();
    await workers.ready;
    const recipients = Array.from({ length: 32 }, (_, at) => ({
      to: `+44770090${1000 + at}`,
      at: String(at),
    }));
    const outcome = await volley.enqueue({ message: 'Hello {{at}}', recipients });
    const id = 'id' in outcome ? outcome.id : '';
    await all;

    let ended = 0;
    const ending = end(volley, workers).map((one) =>
      one.then(() => {
        ended += 1;
      }),
    );
    expect((await other.status(id)).counts.sending).toBe(32);
    expect(ended).toBe(0);
    for (const response of waiting) json(400, {})(response.req, response, 1);
    await Promise.all(ending);
    expect((await other.status(id)).counts).toMatchObject({ sending: 0, unknown: 0, rejected: 32 });
  },
);

async function all(rows: AsyncIterable<unknown>): Promise<unknown[]> {
  const read: unknown[] = [];
  for await (const row of rows) read.push(row);
  return read;
}

test('A Volley that is closed says so in every call, and starts nothing', async () => {
  const volley = volleyOf('closed');
  await volley.close();
  const recipients = [{ to: '+447700900123' }];
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    enqueue: () => volley.enqueue({ message: 'Sale', recipients }),
    list: () => volley.list(),
    report: () => all(volley.report('c')),
    results: () => volley.results(),
    follow: () => all(volley.follow()),
    'as, outboxes.list': () => volley.as({ kind: 'cli', id: null, name: 'ada' }).outboxes.list(),
    'outbox.status': () => volley.outbox('reminders').status(),
    'suppression.list': () => all(volley.suppression.list()),
    'subscription.get': () => volley.notifications.subscription('default').get(),
    ping: () => volley.ping('3s'),
    examine: () => all(volley.examine()),
    watchLive: async () => volley.watchLive({ allowed: undefined, lanes: [], campaigns: [] }, () => {}),
    work: async () => volley.work(),
  };
  for (const [name, call] of Object.entries(calls))
    expect([name, await call().catch((error: unknown) => error)]).toEqual([name, expect.any(ClosedError)]);
  await volley.close();
});
