import { once } from 'node:events';
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { testRedis } from '../base/redis/test-redis.js';
import { recipients } from './recipients.js';
import { startSimulatorProcess } from './simulator-process.js';
import { launch, startedFleet } from './started.js';

const { url, prefix } = testRedis('refused-sends');
const ACCEPTED = 8;

/** A proxy that answers 401 to each send after the first eight, as soon as it has answered the next poll. */
async function refusingProxy(target: string) {
  const { port } = new URL(target);
  let sends = 0;
  const held: ServerResponse[] = [];
  const pass = (request: IncomingMessage, response: ServerResponse, then: () => void): void => {
    const { method, url: path, headers } = request;
    const out = forward({ host: '127.0.0.1', port, method, path, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(response).on('finish', then);
    });
    request.pipe(out);
  };
  const server = createServer((request, response) => {
    if (request.method !== 'POST' || !/\/requests$/.test(request.url ?? '')) {
      const isPoll = /deliveryInfos$/.test(request.url ?? '');
      return pass(request, response, () => {
        // The process reads the reply to the poll first.
        if (isPoll) setTimeout(() => held.shift()?.writeHead(401).end(), 100);
      });
    }
    sends += 1;
    if (sends <= ACCEPTED) return pass(request, response, () => {});
    request.resume();
    return void held.push(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const own = new URL(target);
  own.port = String((server.address() as AddressInfo).port);
  return own.toString();
}

test('a lane whose sends are refused stops, although its polls are answered', {
  timeout: 120_000,
}, async () => {
  const account = { username: 'ann', password: 'secret' };
  const simulator = await startSimulatorProcess({
    accepts: 'both',
    keys: [{ key: 'key' }],
    accounts: [account],
    deliveryTime: 60_000,
    magicRecipients: 'off',
  });
  onTestFinished(() => simulator.stop());
  const proxy = await refusingProxy(simulator.messagingBaseUrl);
  const lane = {
    name: 'main',
    apiKey: 'key',
    account,
    authorization: 'apiKey',
    xAuthorization: 'accessToken',
  };
  const fleet = await startedFleet({
    redisUrl: url,
    prefix,
    workers: ['all'],
    lanes: [{ ...lane, maxRecipientsPerRequest: 1 }],
    settings: { MESSAGING_BASE_URL: proxy, REQUEST_TIMEOUT_MS: '20000', QUOTA_WINDOW_MS: '200000' },
  });
  await launch(fleet, { recipients: recipients(400), message: 'Sale', lane: 'main' });
  await vi.waitFor(
    async () => expect((await fleet.volley.lanes())[0]).toMatchObject({ name: 'main', state: 'stopped' }),
    { timeout: 40_000, interval: 100 },
  );
});
