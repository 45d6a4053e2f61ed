/*
 * How fast webhooks are delivered, and what endpoints that do not answer cost others and sending:
 *
 *   npm run -s bench:webhooks -- deliver [recipients]   final results to an endpoint that takes 50 ms for each response
 *   npm run -s bench:webhooks -- dead [endpoints]       how much later an endpoint gets results because others do not answer
 *   npm run -s bench:webhooks -- quota [seconds]        messages sent under a quota, with an endpoint that does not answer and without
 *   npm run -s bench:webhooks -- sending [pairs]        the same without a quota, in interleaved pairs
 *
 * Each runs on a private Redis, with processes of their own for workers and the simulator.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { startPrivateRedis } from '../src/base/redis/private-server.js';
import { type FleetOptions, startFleet } from '../test/end-to-end/fleet.js';
import { mobile } from '../test/intake/import/import-fixture.js';

const SETTINGS = { SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'), WEBHOOK_ALLOW: '127.0.0.1' };
const RESPONSE_MS = 50;
const MOBILES = 10_000_000;

/** A receiver that counts results, and notes when the first ones arrive. `answers`: after how long, ms; null: never. */
async function receiver(answers: number | null) {
  const counted = { results: 0, firstAt: 0 };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const count = JSON.parse(body).data.results?.length ?? 0;
    counted.results += count;
    if (count > 0) counted.firstAt ||= performance.now();
    if (answers === null) return;
    await delay(answers);
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { counted, url: `http://127.0.0.1:${port}/`, close: () => server.close().closeAllConnections() };
}

function* people(count: number): Generator<{ to: string; reference: string }> {
  for (let at = 0; at < count; at += 1) yield { to: mobile(at % MOBILES), reference: `order-${at}` };
}

async function withFleet<Result>(
  options: Pick<FleetOptions, 'workers' | 'settings' | 'simulator'>,
  run: (fleet: Awaited<ReturnType<typeof startFleet>>) => Promise<Result>,
): Promise<Result> {
  const redis = await startPrivateRedis({ appendfsync: 'everysec' });
  const settings = { ...SETTINGS, ...options.settings };
  const fleet = await startFleet({ ...options, redisUrl: redis.url, prefix: 'bench', settings });
  try {
    await fleet.ready();
    return await run(fleet);
  } finally {
    await fleet.close();
    await redis.stop();
  }
}

type Volley = Awaited<ReturnType<typeof startFleet>>['volley'];

/** Gives recipients a final state at once: cancels their campaign. */
async function cancelled(volley: Volley, recipients: number): Promise<void> {
  const campaign = { message: 'Hi', again: true, sendAt: Date.now() + 3_600_000 } as const;
  const outcome = await volley.enqueue({ ...campaign, recipients: [...people(recipients)] });
  if (!('id' in outcome)) throw new Error(`no campaign: ${JSON.stringify(outcome)}`);
  await volley.cancel(outcome.id);
}

async function deliverAll(recipients: number): Promise<object> {
  const target = await receiver(RESPONSE_MS);
  return withFleet({ workers: ['webhooks'] }, async ({ volley }) => {
    await volley.webhooks.add({ url: target.url });
    await cancelled(volley, recipients);
    const began = performance.now();
    while (target.counted.results < recipients) await delay(100);
    const seconds = (performance.now() - began) / 1_000;
    target.close();
    return { recipients, results: target.counted.results, seconds: Math.round(seconds * 10) / 10 };
  });
}

const LATENCIES = 10;

/** The times from a final state to its request, ms: before, while, and after so many endpoints do not answer. */
async function latencies(dead: number): Promise<object> {
  const [hanging, target] = await Promise.all([receiver(null), receiver(RESPONSE_MS)]);
  return withFleet({ workers: ['webhooks'] }, async ({ volley }) => {
    await volley.webhooks.add({ url: target.url });
    const measure = async (): Promise<number[]> => {
      const times: number[] = [];
      while (times.length < LATENCIES) {
        await delay(RESPONSE_MS * 4);
        target.counted.firstAt = 0;
        await cancelled(volley, 10);
        // The results are final at some time before.
        const began = performance.now();
        while (target.counted.firstAt === 0) await delay(5);
        times.push(Math.max(0, target.counted.firstAt - began));
      }
      return times;
    };
    const before = await measure();
    const added: string[] = [];
    for (let at = 0; at < dead; at += 1) added.push((await volley.webhooks.add({ url: hanging.url })).id);
    // So that they are busy, with more requests than may be in flight.
    await cancelled(volley, 2_000);
    await delay(2_000);
    const beside = await measure();
    for (const id of added) await volley.webhooks.remove(id);
    hanging.close();
    const after = await measure();
    target.close();
    const shown = (times: readonly number[]) => ({
      median: Math.round(median(times)),
      most: Math.round(Math.max(...times)),
    });
    return { dead, before: shown(before), beside: shown(beside), after: shown(after) };
  });
}

async function sent(quota: string, seconds: number, isHanging: boolean): Promise<number> {
  const hanging = await receiver(null);
  const workers = ['send', 'follow-up', 'webhooks'] as const;
  const simulator = { keys: [{ key: 'key' }], deliveryTime: 100, latency: 5 };
  const settings = { HOURLY_QUOTA: quota, QUOTA_WINDOW_MS: '10000', REQUEST_TIMEOUT_MS: '1000' };
  return withFleet({ workers, simulator, settings }, async ({ volley, simulator: service }) => {
    if (isHanging) await volley.webhooks.add({ url: hanging.url });
    const recipients = [...people(quota === '1000000' ? 60_000 : 4_000)];
    await volley.enqueue({ recipients, message: 'Hi', again: true });
    const before = (await service.ledger()).length;
    await delay(seconds * 1_000);
    const count = (await service.ledger()).length - before;
    hanging.close();
    return count;
  });
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const [mode = 'deliver', amount] = process.argv.slice(2);
switch (mode) {
  case 'deliver':
    console.log(JSON.stringify(await deliverAll(Number(amount ?? 1_000_000))));
    break;
  case 'dead':
    console.log(JSON.stringify(await latencies(Number(amount ?? 10))));
    break;
  case 'quota':
  case 'sending': {
    const isLimited = mode === 'quota';
    const pairs = isLimited ? 1 : Number(amount ?? 10);
    const seconds = isLimited ? Number(amount ?? 25) : 10;
    const ratios: number[] = [];
    for (let at = 0; at < pairs; at += 1) {
      const runs = new Map<boolean, number>();
      // Each is the first of a pair as often as the other.
      for (const isHanging of at % 2 === 0 ? [false, true] : [true, false])
        runs.set(isHanging, await sent(isLimited ? '500' : '1000000', seconds, isHanging));
      const [without = 0, beside = 0] = [runs.get(false), runs.get(true)];
      ratios.push(beside / without);
      console.log(JSON.stringify({ without, beside, ratio: Math.round((1_000 * beside) / without) / 1_000 }));
    }
    console.log(JSON.stringify({ mode, pairs, median: Math.round(1_000 * median(ratios)) / 1_000 }));
    break;
  }
  default:
    throw new TypeError(`there is no mode ${mode}: use deliver, dead, quota, or sending`);
}
