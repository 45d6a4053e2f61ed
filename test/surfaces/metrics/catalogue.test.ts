import { expect, onTestFinished, test, vi } from 'vitest';
import { createVolley } from '../../../src/app/runtime.js';
import { laneCallback, loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import type { LaneSnapshot } from '../../../src/reporting/fleet-snapshot.js';
import { createHttp } from '../../../src/surfaces/http/index.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { SOON } from '../../base/soon.js';
import { callbackSettings } from '../../end-to-end/receiver.js';
import { recipients } from '../../end-to-end/recipients.js';
import { launch, startedFleet } from '../../end-to-end/started.js';
import { documentedMetrics } from './documented.js';
import { type Exposed, readExposition, sumOf } from './exposition.js';

const { url, prefix } = testRedis('catalogue');

const QUOTA = 60;
const account = { username: 'anna', password: 'right' };
const lanes = [
  { name: 'known', apiKey: 'key', hourlyQuota: 100_000 },
  { name: 'found', account, hourlyQuota: 'auto' },
];
/** Magic recipients: a 429 first, an unknown outcome, a refusal. */
const ENDINGS = ['13', '22', '40'].map((ending) => ({ to: `+47955501${ending}` }));

/** The subscription of another program with the same key. The service allows only one. */
const FOREIGN = { callback: { url: 'https://elsewhere.example/notify', securityToken: 'a token of theirs' } };

/**
 * Starts a worker, an API, and the simulator, and sends two campaigns: one with every kind of outcome, on a lane with a
 * foreign subscription, and one that receives notifications and waits for its quota.
 */
async function traffic() {
  const settings = {
    METRICS_PORT: '0',
    // A request may take so long on a busy machine, and none may become unknown.
    QUOTA_WINDOW_MS: '3600000',
    REQUEST_TIMEOUT_MS: '30000',
    FOLLOW_UP_FIRST_MS: '500',
    REDIS_MAY_LOSE: '0s',
    ...(await callbackSettings()),
  };
  const fleet = await startedFleet({
    redisUrl: url,
    prefix,
    workers: [],
    lanes,
    settings,
    simulator: {
      keys: [{ key: 'key' }, { account: 'anna', quota: QUOTA }],
      accounts: [account],
      magicRecipients: 'first',
      faultRetryAfterSeconds: 1,
      deliveryTime: 50,
      latency: 20,
    },
  });
  const { messagingBaseUrl } = fleet.simulator;
  const subscribed = await fetch(`${messagingBaseUrl}/outbound/subscriptions`, {
    method: 'POST',
    headers: { authorization: 'Bearer key', 'content-type': 'application/json' },
    body: JSON.stringify(FOREIGN),
  });
  expect(subscribed.status).toBe(201);
  const environment = {
    REDIS_URL: url,
    REDIS_PREFIX: prefix,
    LANES_FILE: 'lanes.json',
    SENDER_ADDRESS: 'ACME',
    ...settings,
  };
  const config = loadLocalConfig(environment, { readFile: () => JSON.stringify(lanes) });
  const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
  const api = createHttp({ volley, config });
  onTestFinished(async () => {
    await api.close();
    await volley.close();
  });
  const origin = await api.listen({ host: '127.0.0.1', port: config.http.port });
  await fleet.add('all');
  await fleet.ready();
  await vi.waitUntil(async () => {
    const { lanes: snapshots, sinceSweep } = await volley.fleetSnapshot();
    return snapshots.every(isChecked) && sinceSweep !== null;
  }, SOON);
  await volley.outboxes.create({ name: 'codes', message: 'Code {{code}}', lane: 'known' });
  const outcome = await volley.enqueue({
    recipients: [...recipients(30), ...ENDINGS],
    message: 'Sale',
    lane: 'known',
  });
  if (outcome.outcome !== 'created') throw new Error(`the import was ${outcome.outcome}`);
  const held = await launch(fleet, { recipients: recipients(120, 1_000), message: 'Sale', lane: 'found' });
  await vi.waitUntil(
    async () => {
      const [one, other] = [await volley.status(outcome.id), await volley.status(held)];
      const isNotified = (await volley.fleetSnapshot()).lanes.some(
        ({ notifications }) => notifications.sinceLast !== null,
      );
      const isThrottled = other.requests.throttled > 0 && other.quota.limit !== null;
      return one.waitingFor === 'resolve' && isThrottled && isNotified;
    },
    { ...SOON, interval: 200 },
  );
  const port = String(fleet.logged('metrics.served')[0]?.['url']);
  await (await fetch(`${origin}/healthz`)).text();
  const { key } = await volley.keys.create({ name: 'prometheus', scopes: ['read'] });
  const segments = lanes.flatMap(({ name }) =>
    config.callback === undefined ? [] : [laneCallback(config.callback, name).segment],
  );
  const page = async (address: string): Promise<Exposed[]> => {
    const text = await (await fetch(address, { headers: { authorization: `Bearer ${key}` } })).text();
    for (const secret of [outcome.id, held, 'anna', 'right', '+46', '+47', ...segments]) {
      expect(text).not.toContain(secret);
    }
    return readExposition(text);
  };
  return {
    fleet,
    volley,
    known: outcome.id,
    pages: {
      worker: () => page(`${port}/metrics`),
      shared: () => page(`${port}/metrics/fleet`),
      api: () => page(`${origin}/metrics`),
    },
  };
}

function isChecked({ notifications }: LaneSnapshot): boolean {
  return notifications.subscription !== null;
}

test('The metrics after real traffic are those in docs/metrics.md, with correct values', async () => {
  const { fleet, volley, known, pages } = await traffic();
  const [worker, shared, api] = [await pages.worker(), await pages.shared(), await pages.api()];

  // The page and the endpoints have the same metrics of Volley, and no endpoint has one twice.
  const documented = documentedMetrics();
  expect(new Set(documented.map(({ name }) => name)).size).toBe(documented.length);
  const exposed = new Map([...api, ...worker, ...shared].map((metric) => [metric.name, metric]));
  const names = documented.map(({ name }) => name);
  const ours = [...exposed.keys()].filter((name) => name.startsWith('volley_') || names.includes(name));
  expect(ours.sort()).toEqual(names.sort());
  expect([...api].map(({ name }) => name).sort()).toEqual([...exposed.keys()].sort());
  for (const { name, type, labels, meaning } of documented) {
    const metric = exposed.get(name);
    expect(metric?.type, name).toBe(type);
    expect(metric?.help, name).toBe(meaning);
    const samples = [...worker, ...shared, ...api].filter((one) => one.name === name);
    const shown = samples.flatMap(({ samples: all }) => all.map((sample) => Object.keys(sample.labels)));
    // No turn fails.
    if (name !== 'volley_lane_failing_seconds') expect(shown.length, name).toBeGreaterThan(0);
    for (const keys of shown) {
      expect(keys.filter((key) => key !== 'le' || labels.includes('le')).sort(), name).toEqual([...labels]);
    }
  }

  // Every lane is in the configuration.
  const named = [...worker, ...shared, ...api].flatMap(({ samples }) =>
    samples.flatMap(({ labels }) => labels['lane'] ?? []),
  );
  expect([...new Set(named)].sort()).toEqual(['found', 'known']);

  // The worker has counted the requests that the service received.
  const accepted = (await fleet.simulator.ledger()).length;
  const sent = sumOf(worker, 'volley_sends_total', { outcome: 'accepted' });
  const ofKnown = { lane: 'known' };
  expect(accepted).toBeGreaterThan(sent);
  expect(sumOf(worker, 'volley_sends_total', { ...ofKnown, outcome: 'accepted' })).toBe(31);
  expect(sumOf(worker, 'volley_sends_total', { ...ofKnown, outcome: 'throttled' })).toBe(1);
  expect(sumOf(worker, 'volley_sends_total', { ...ofKnown, outcome: 'unknown' })).toBe(1);
  expect(sumOf(worker, 'volley_sends_total', { ...ofKnown, outcome: 'refused' })).toBe(1);
  expect(sumOf(worker, 'volley_polls_total', { ...ofKnown, outcome: 'infos' })).toBeGreaterThanOrEqual(31);
  expect(sumOf(worker, 'volley_unknown_outcomes_total', ofKnown)).toBe(1);
  expect(sumOf(worker, 'volley_token_requests_total', { lane: 'found', result: 'loggedIn' })).toBe(1);
  expect(sumOf(worker, 'volley_info', { role: 'send+follow-up+webhooks' })).toBe(1);
  expect(sumOf(worker, 'volley_redis_up')).toBe(1);
  expect(sumOf(api, 'volley_recipients_imported_total')).toBe(33);
  expect(sumOf(api, 'volley_notification_reports_total', { lane: 'found' })).toBeGreaterThan(0);
  expect(sumOf(api, 'volley_notification_reports_total', ofKnown)).toBe(0);

  // The fleet is the same at every endpoint. The counts of campaigns may be a little older.
  const status = await volley.status(known);
  for (const read of [pages.shared, pages.api]) {
    await vi.waitFor(async () => {
      const page = await read();
      for (const [state, count] of Object.entries(status.counts)) {
        if (state !== 'total') expect(sumOf(page, 'volley_recipients', { ...ofKnown, state })).toBe(count);
      }
      const { send } = status.requests;
      expect(sumOf(page, 'volley_campaign_requests', { ...ofKnown, kind: 'send' })).toBe(send);
    }, SOON);
    const page = await read();
    expect(sumOf(page, 'volley_campaigns', { state: 'running' })).toBe(2);
    expect(sumOf(page, 'volley_lane_unknown_outcomes', ofKnown)).toBe(1);
    expect(sumOf(page, 'volley_lane_throttled_total', ofKnown)).toBe(1);
    // After a 429 below the quota, Volley assumes for a while that another program uses the key.
    expect(sumOf(page, 'volley_lane_quota_limit', ofKnown)).toBeGreaterThan(20_000);
    expect(sumOf(page, 'volley_lane_quota_limit', ofKnown)).toBeLessThanOrEqual(100_000);
    expect(sumOf(page, 'volley_lane_state', { lane: 'known', state: 'open' })).toBe(1);
    expect(sumOf(page, 'volley_lane_closed_cause', ofKnown)).toBe(0);
    expect(sumOf(page, 'volley_lane_subscription', { lane: 'known', state: 'foreign' })).toBe(1);
    expect(sumOf(page, 'volley_lane_subscription', { lane: 'found', state: 'ours' })).toBe(1);
    expect(sumOf(page, 'volley_workers', { role: 'send' })).toBe(1);
    expect(sumOf(page, 'volley_workers', { role: 'follow-up' })).toBe(1);
    expect(sumOf(page, 'volley_last_sweep_age_seconds')).toBeLessThan(10);
    expect(sumOf(page, 'volley_jobs', { kind: 'send' })).toBeGreaterThanOrEqual(1);
  }
});
