import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import { type Fleet, startFleet } from './fleet.js';

/** What {@link tenantsRun} does. */
interface TenantsOptions {
  readonly redisUrl: string;
  readonly prefix: string;
  /** Lanes that are added over HTTP. */
  readonly lanes: number;
  readonly workers: number;
  readonly onProgress?: ((line: string) => void) | undefined;
}

/** Requests per window of each lane, and recipients of each campaign: more than one window holds. */
const [QUOTA, RECIPIENTS] = [10, 14];
const WINDOW_MS = 20_000;
/** From the request that creates a lane's first campaign to its first message at the service. */
const FIRST_WITHIN_MS = 5_000;
const AT_ONCE = 8;
const LATER_MS = 120_000;

/** The address of the HTTP API of a fleet, and a key that may do everything. */
export async function apiOf(fleet: Fleet) {
  const { key } = await fleet.volley.keys.create({
    name: 'platform',
    scopes: ['admin', 'send', 'read', 'operate'],
  });
  const url = String(fleet.logged('http.listening')[0]?.['url']);
  return async (method: string, path: string, body?: object) => {
    const response = await fetch(`${url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
  };
}

/** A fleet whose HTTP API adds lanes. Its configured lane is `default`, with the key `key`. */
export const tenantFleet = (options: Omit<TenantsOptions, 'onProgress'>): Promise<Fleet> =>
  startFleet({
    redisUrl: options.redisUrl,
    prefix: options.prefix,
    // The service would accept ten times as many, so that all that leave are counted.
    simulator: {
      keys: ['key', ...keysOf(options.lanes)].map((key) => ({ key, quota: 10 * QUOTA, windowMs: WINDOW_MS })),
    },
    settings: {
      SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
      QUOTA_WINDOW_MS: String(WINDOW_MS),
      REQUEST_TIMEOUT_MS: '2000',
      HTTP_PORT: '0',
      HTTP_REQUESTS_PER_MINUTE: '100000',
      LOG_LEVEL: 'info',
    },
    workers: [...Array.from({ length: options.workers }, () => 'all' as const), 'http'],
  });

const keysOf = (lanes: number): string[] => Array.from({ length: lanes }, (_, at) => `key-${at}`);

/**
 * Adds lanes over HTTP while workers send, and creates a campaign on each at once. Returns what the service has counted, and every promise
 * that was broken.
 */
export async function tenantsRun({ onProgress: note = () => {}, ...options }: TenantsOptions) {
  const fleet = await tenantFleet(options);
  const problems: string[] = [];
  try {
    await fleet.ready();
    const pids = fleet.members.map(({ program }) => program.pid);
    const request = await apiOf(fleet);
    const recipients = Array.from({ length: RECIPIENTS }, (_, at) => ({
      to: `+4477009${String(10_000 + at)}`,
    }));
    const campaign = (lane: string) => ({ lane, message: `Hello from ${lane}`, recipients });
    await request('POST', '/campaigns', campaign('default'));
    const askedAt = new Map<string, number>();
    const began = Date.now();
    await pLimit(AT_ONCE).map(keysOf(options.lanes), async (apiKey, at) => {
      const name = `tenant-${at}`;
      const added = await request('POST', '/lanes', { name, apiKey, hourlyQuota: QUOTA });
      if (added.status !== 201) problems.push(`${name} was not added: ${JSON.stringify(added.body)}`);
      askedAt.set(apiKey, Date.now());
      const created = await request('POST', '/campaigns', campaign(name));
      if (created.status !== 201) problems.push(`no campaign on ${name}: ${JSON.stringify(created.body)}`);
    });
    const addedMs = Date.now() - began;
    note(`${options.lanes} lanes added in ${addedMs} ms`);
    const total = (options.lanes + 1) * RECIPIENTS;
    const deadline = Date.now() + WINDOW_MS + LATER_MS;
    let { recipients: sent } = await fleet.simulator.summary();
    while (sent < total && Date.now() < deadline) {
      await delay(1_000);
      ({ recipients: sent } = await fleet.simulator.summary());
    }
    const [arrivals, summary] = await Promise.all([fleet.simulator.arrivals(), fleet.simulator.summary()]);
    const firstMs = [...askedAt].map(([key, at]) => {
      const first = arrivals.find((arrival) => arrival.key === key && arrival.kind === 'send');
      return { key, ms: first === undefined ? Number.POSITIVE_INFINITY : first.at - at };
    });
    for (const { key, ms } of firstMs)
      if (ms > FIRST_WITHIN_MS) problems.push(`the lane of ${key} sent after ${ms} ms`);
    const windows = summary.maxPerWindow.filter(({ key }) => key !== 'key');
    for (const { key, arrived } of windows)
      if (arrived > QUOTA) problems.push(`${key} had ${arrived} requests in a window of ${QUOTA}`);
    if (sent < total) problems.push(`${total - sent} of ${total} messages were not sent`);
    if (summary.duplicates > 0) problems.push(`${summary.duplicates} numbers got a text twice`);
    const now = fleet.members.map(({ program }) => (program.isRunning ? program.pid : 0));
    if (String(now) !== String(pids)) problems.push(`processes restarted: ${pids} became ${now}`);
    const sorted = firstMs.map(({ ms }) => ms).sort((a, b) => a - b);
    return {
      lanes: options.lanes,
      processes: pids.length,
      addedMs,
      firstMedianMs: sorted[sorted.length >> 1] ?? 0,
      firstMostMs: sorted.at(-1) ?? 0,
      fullestWindow: Math.max(...windows.map(({ arrived }) => arrived)) / QUOTA,
      sent,
      problems,
    };
  } finally {
    await fleet.close();
  }
}
