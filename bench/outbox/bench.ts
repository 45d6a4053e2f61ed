import { setTimeout as delay } from 'node:timers/promises';
import { createVolley, type Volley } from '../../src/app/runtime.js';
import { loadConfig } from '../../src/base/config/index.js';
import { createEvents } from '../../src/base/events/events.js';
import { connect } from '../../src/base/redis/connection.js';
import { keyNames } from '../../src/base/redis/keys.js';
import { startPrivateRedis } from '../../src/base/redis/private-server.js';
import type { Outbox } from '../../src/intake/outbox/outbox-methods.js';
import { type SimulatorProcess, startSimulatorProcess } from '../../test/end-to-end/simulator-process.js';
import { type Cost, costBetween, meter, usedMemory } from '../cost.js';

/** The name of the outbox of a bench. */
export const OUTBOX = 'bench';

/** A number as people read it. */
export const grouped = (value: number): string => Math.round(value).toLocaleString('en');
/** Prints a line of the results. */
export const say = (what: string, found: string): void =>
  void process.stdout.write(`${what.padEnd(11)} ${found}\n`);

/** Volley with one outbox, and what it costs. */
export interface Bench {
  readonly env: Readonly<Record<string, string>>;
  readonly volley: Volley;
  /** Redis commands since the start, those in scripts included. */
  spent(run: () => Promise<unknown>): Promise<Cost>;
  /** Memory that the data takes, without BullMQ's log of events, which does not grow further. */
  memory(): Promise<number>;
}

/** Runs with a Redis of its own. `change`: settings that differ. */
export async function withBench(
  run: (bench: Bench) => Promise<void>,
  change: Readonly<Record<string, string>> = {},
) {
  const server = await startPrivateRedis({ appendfsync: 'always' });
  const redis = connect(server.url);
  const env = {
    REDIS_URL: server.url,
    API_KEY: 'k',
    MESSAGING_BASE_URL: 'http://127.0.0.1:9/messaging',
    HOURLY_QUOTA: '10000000',
    SENDER_ADDRESS: '12345',
    LOG_LEVEL: 'silent',
    FOLLOW_UP_FIRST_MS: '500',
    HTTP_REQUESTS_PER_MINUTE: '1000000',
    ...change,
  };
  const volley = createVolley({ config: loadConfig(env), events: createEvents({ level: 'silent' }) });
  const figures = meter(server.url);
  try {
    await volley.outboxes.create({ name: OUTBOX, message: 'Hi {{name}}', zone: 'Europe/London' });
    await run({
      env,
      volley,
      async spent(work) {
        const before = await figures.read();
        await work();
        return costBetween(before, await figures.read());
      },
      async memory() {
        const logs = ['{volley-send}:send:events', '{volley-poll}:poll:events', keyNames('volley').events];
        const sizes = await Promise.all(logs.map((key) => redis.memory('USAGE', key, 'SAMPLES', 0)));
        const logged = sizes.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
        return (await usedMemory(redis)) - logged;
      },
    });
  } finally {
    figures.close();
    await volley.close();
    redis.disconnect();
    await server.stop();
  }
}

/** Runs with a simulator and a worker in this process. */
export async function withWorker(
  run: (bench: Bench, simulator: SimulatorProcess) => Promise<void>,
  { latency = 0, change = {} }: { latency?: number; change?: Readonly<Record<string, string>> } = {},
): Promise<void> {
  const simulator = await startSimulatorProcess({
    keys: [{ key: 'k' }],
    magicRecipients: 'off',
    deliveryTime: 200,
    latency,
  });
  try {
    await withBench(
      async (bench) => {
        await bench.volley.work().ready;
        await run(bench, simulator);
      },
      { MESSAGING_BASE_URL: simulator.messagingBaseUrl, ...change },
    );
  } finally {
    await simulator.stop();
  }
}

/** Waits until every message has a final state. */
export async function allFinal(outbox: Outbox): Promise<void> {
  for (;;) {
    const { total, deliveredToTerminal, cancelled, lapsed } = (await outbox.status()).counts;
    if (deliveredToTerminal + cancelled + lapsed === total) return;
    await delay(250);
  }
}
