import pLimit from 'p-limit';
import type { Fleet } from '../../end-to-end/fleet.js';
import { recipients } from '../../end-to-end/recipients.js';
import type { Attack } from './attack.js';

/** Requests per window of each lane, and recipients of each campaign: more than one window holds. */
const [QUOTA, RECIPIENTS] = [10, 14];
const WINDOW_MS = 20_000;
/** From the request that creates a lane's first campaign to its first message at the service. */
const FIRST_WITHIN_MS = 5_000;
const AT_ONCE = 8;

/** A client of the HTTP API of a fleet, with a key that may do everything. */
async function apiOf(fleet: Fleet) {
  const scopes = ['admin', 'send', 'read', 'operate'] as const;
  const { key } = await fleet.volley.keys.create({ name: 'platform', scopes });
  const url = String(fleet.logged('http.listening')[0]?.['url']);
  return async (path: string, body: object): Promise<Record<string, unknown>> => {
    const response = await fetch(`${url}/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer: Record<string, unknown> = JSON.parse(await response.text());
    if (response.status !== 201) throw new Error(`${path} was answered ${JSON.stringify(answer)}`);
    return answer;
  };
}

/** Adds lanes over HTTP while workers send, and creates a campaign on each at once. */
export const tenants: Attack = {
  name: 'tenants',
  promise:
    'Lanes that are added over HTTP while workers send are served within 5 s and keep their quotas, and nothing restarts',
  times: { of: 'lanes', brief: 5, long: 200 },
  seed: 1,
  fleet(times) {
    const keys = ['key', ...Array.from({ length: times }, (_, at) => `key-${at}`)];
    return {
      // The service would accept ten times as many, so that all that leave are counted.
      simulator: { keys: keys.map((key) => ({ key, quota: 10 * QUOTA, windowMs: WINDOW_MS })) },
      quotas: keys.slice(1).map((key) => ({ key, quota: QUOTA, windowMs: WINDOW_MS })),
      settings: {
        SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
        QUOTA_WINDOW_MS: String(WINDOW_MS),
        REQUEST_TIMEOUT_MS: '2000',
        HTTP_PORT: '0',
        HTTP_REQUESTS_PER_MINUTE: '100000',
      },
      workers: [...Array.from({ length: times < 50 ? 2 : 4 }, () => 'all' as const), 'http'],
    };
  },
  async run({ fleet, recorder, times, note, settled, expect }) {
    const processes = (): string =>
      fleet.members.map(({ program }) => (program.isRunning ? program.pid : 'none')).join(' ');
    const before = processes();
    const request = await apiOf(fleet);
    const list = [...recipients(RECIPIENTS)];
    const launch = async (lane: string, key: string): Promise<void> => {
      const text = `Hello from ${lane}`;
      const { id } = await request('/campaigns', { lane, message: text, recipients: list });
      recorder.launched({ campaign: String(id), key, text, recipients: list.map(({ to }) => to) });
    };
    await launch('default', 'key');
    const askedAt = new Map<string, number>();
    const began = Date.now();
    await pLimit(AT_ONCE).map(Array(times).keys(), async (at) => {
      const key = `key-${at}`;
      await request('/lanes', { name: `tenant-${at}`, apiKey: key, hourlyQuota: QUOTA });
      askedAt.set(key, Date.now());
      await launch(`tenant-${at}`, key);
    });
    note(`${times} lanes added in ${Date.now() - began} ms`);
    await settled();
    expect(processes() === before, `processes restarted: ${before} became ${processes()}`);
    const arrivals = await fleet.simulator.arrivals();
    const firstMs = [...askedAt].map(([key, at]) => {
      const first = arrivals.find((arrival) => arrival.key === key && arrival.kind === 'send');
      return first === undefined ? Number.POSITIVE_INFINITY : first.at - at;
    });
    const sorted = firstMs.sort((a, b) => a - b);
    const most = sorted.at(-1) ?? 0;
    note(`first requests after ${sorted[sorted.length >> 1]} ms in the median, ${most} ms at most`);
    expect(most <= FIRST_WITHIN_MS, `a lane sent after ${most} ms`);
    return { lanes: times };
  },
};
