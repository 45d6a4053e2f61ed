/**
 * How well quotas are kept and used: ten lanes, one for each way the service may count, with N known and N unknown, on
 * four worker processes, six windows long. Counted from what arrived at the simulator.
 *
 *   npm run -s bench:quota -- [N] [window in ms]
 */
import { startPrivateRedis } from '../src/base/redis/private-server.js';
import { QUOTA_MODELS } from '../src/tools/simulator/quota-models.js';
import { startFleet } from '../test/end-to-end/fleet.js';
import { recipients } from '../test/end-to-end/recipients.js';

const quota = Number(process.argv[2] ?? 300);
const windowMs = Number(process.argv[3] ?? 10_000);
const WINDOWS = 6;

const cases = QUOTA_MODELS.flatMap((model) =>
  (['known', 'auto'] as const).map((kind) => ({ model, kind, name: `${model}-${kind}` })),
);
const redis = await startPrivateRedis({ appendfsync: 'always' });
const fleet = await startFleet({
  redisUrl: redis.url,
  prefix: 'quota',
  workers: ['all', 'all', 'all', 'all'],
  settings: {
    QUOTA_WINDOW_MS: String(windowMs),
    REQUEST_TIMEOUT_MS: String(Math.floor(windowMs / 20)),
    FOLLOW_UP_FIRST_MS: String(WINDOWS * windowMs * 2),
  },
  lanes: cases.map(({ name, kind }) => ({
    name,
    apiKey: `key-${name}`,
    hourlyQuota: kind === 'known' ? quota : 'auto',
  })),
  simulator: {
    keys: cases.map(({ name, model }) => ({ key: `key-${name}`, quota, model, windowMs })),
    arrivalDelay: { kind: 'uniform', minMs: 0, maxMs: windowMs / 50 },
    deliveryTime: 0,
  },
});
try {
  await fleet.ready();
  for (const { name } of cases) {
    await fleet.volley.enqueue({
      recipients: recipients(quota * (WINDOWS + 2)),
      message: `Sale on ${name}`,
      lane: name,
    });
  }
  await new Promise((later) => setTimeout(later, (WINDOWS + 0.5) * windowMs));
  const arrivals = await fleet.simulator.arrivals();
  console.log(
    '| counts by | N | 429s in each window | most | accepted ÷ (N × windows) |\n|---|---|---|---|---|',
  );
  for (const { model, kind, name } of cases) {
    const own = arrivals.filter(({ key }) => key === `key-${name}`);
    const begin = Math.min(...own.map(({ at }) => at));
    const windows = Array.from({ length: WINDOWS }, () => ({ accepted: 0, refused: 0 }));
    for (const { at, outcome } of own) {
      const window = windows[Math.floor((at - begin) / windowMs)];
      if (window === undefined) continue;
      if (outcome === 'quotaExceeded') window.refused += 1;
      else window.accepted += 1;
    }
    // An unknown quota is learned during the first window.
    const counted = kind === 'known' ? windows : windows.slice(1);
    const accepted = counted.reduce((sum, window) => sum + window.accepted, 0);
    const refused = windows.map((window) => window.refused);
    const ratio = ((100 * accepted) / (quota * counted.length)).toFixed(1);
    console.log(`| ${model} | ${kind} | ${refused.join(', ')} | ${Math.max(...refused)} | ${ratio} % |`);
  }
} finally {
  await fleet.close();
  await redis.stop();
}
