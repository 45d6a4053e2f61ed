import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { campaignSentence } from '../../src/surfaces/cli/output/sentence.js';
import { createMetrics } from '../../src/surfaces/metrics/index.js';
import { testRedis } from '../base/redis/test-redis.js';
import { closedPort } from '../interface/raw-server.js';
import { type Exposed, readExposition } from '../surfaces/metrics/exposition.js';
import { recipients } from './recipients.js';
import { finished, launch, startedFleet } from './started.js';

const { url, prefix } = testRedis('no-token');
const ACCOUNT = { username: 'ann', password: 'secret' };

/** Passes the connections to this port on to the service at `target`. */
async function forwardPort(port: number, target: string): Promise<void> {
  const server = createServer((socket) => {
    const onward = connect(Number(new URL(target).port), '127.0.0.1');
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) end.on('error', () => {});
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
}

/** The label values of a metric's samples that are 1. */
function labelsAtOne(families: readonly Exposed[], name: string, label: string): unknown[] {
  const samples = families.find((family) => family.name === name)?.samples ?? [];
  return samples.filter(({ value }) => value === 1).map(({ labels }) => labels[label]);
}

test('a lane whose account service is unreachable says so everywhere, spends no login, and sends when the service is back', {
  timeout: 90_000,
}, async () => {
  const port = await closedPort();
  const fleet = await startedFleet({
    redisUrl: url,
    prefix: `${prefix}-unreachable`,
    workers: ['all'],
    settings: {
      ACCOUNT_USERNAME: ACCOUNT.username,
      ACCOUNT_PASSWORD: ACCOUNT.password,
      ACCOUNT_BASE_URL: `http://127.0.0.1:${port}`,
    },
    simulator: { accepts: 'token', accounts: [ACCOUNT], deliveryTime: 100 },
  });
  const { volley, simulator } = fleet;
  const metrics = createMetrics({ volley, lanes: ['default'], role: 'test' });
  onTestFinished(() => metrics.close());
  const id = await launch(fleet, { recipients: recipients(5), message: 'Sale', lane: 'default' });
  const reason = expect.stringMatching(new RegExp(`^127\\.0\\.0\\.1:${port} refuses connections`));
  await vi.waitFor(
    async () => {
      const status = await volley.status(id);
      expect(status).toMatchObject({
        waitingFor: 'lane',
        blockedBy: { state: 'noToken', reason, until: expect.any(String) },
        eta: { latest: null, reason: 'the account service gives no access token' },
        completion: { latest: null, reason: 'the account service gives no access token' },
      });
      expect(Date.parse(String(status.eta?.earliest))).toBeGreaterThanOrEqual(
        Date.parse(String(status.blockedBy?.until)),
      );
      const { text } = campaignSentence(status, Date.now());
      expect(text).toMatch(
        /^The account service gives no access token; tries again .* Details: .* refuses connections/,
      );
    },
    { timeout: 20_000, interval: 50 },
  );
  expect(await volley.lanes()).toMatchObject([{ state: 'noToken', blockedBy: { reason } }]);
  const shown = readExposition(await metrics.fleet());
  expect(labelsAtOne(shown, 'volley_lane_state', 'state')).toEqual(['noToken']);
  expect(labelsAtOne(shown, 'volley_lane_closed_cause', 'cause')).toEqual(['noToken']);
  // More refused connections than an account may have failed logins: each attempt sets the time of the next one.
  const attempts = new Set<string | null | undefined>();
  await vi.waitFor(
    async () => {
      attempts.add((await volley.status(id)).blockedBy?.until);
      expect(attempts.size).toBeGreaterThanOrEqual(3);
    },
    { timeout: 30_000, interval: 100 },
  );
  expect(await volley.lanes()).toMatchObject([{ state: 'noToken' }]);

  await forwardPort(port, simulator.accountBaseUrl);
  const { counts } = await finished(volley, id, 40_000);
  expect(counts).toMatchObject({ total: 5, deliveredToTerminal: 5 });
  expect(await volley.lanes()).toMatchObject([{ state: 'open', blockedBy: null }]);
  expect(fleet.logged('token.loggedIn')).toHaveLength(1);
});
