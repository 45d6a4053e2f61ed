import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { keysWith } from '../app/forget/find-number.js';
import { testRedis } from '../base/redis/test-redis.js';
import { startFleet } from './fleet.js';
import { startProgram } from './program.js';

const { url, prefix, redis } = testRedis('forget-kill');
const KILLS = Number(process.env['KILLS'] ?? 12);
const ADA = '+447700900123';
const others = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ to: `+4477109${String(10_000 + at)}`, name: `Other ${at}` }));
const ada = { to: ADA, name: 'Zebedea' };

test('A number is forgotten although `volley forget` is killed again and again while campaigns, an import, a schedule, and an outbox have it', {
  timeout: 120_000 + 4_000 * KILLS,
}, async () => {
  const settings = { HOURLY_QUOTA: '600', DEFAULT_COUNTRY: 'GB' };
  const fleet = await startFleet({ redisUrl: url, prefix, workers: ['all', 'all'], settings });
  try {
    await fleet.ready();
    const { volley, simulator } = fleet;
    const created = async (
      recipients: Parameters<typeof volley.enqueue>[0]['recipients'],
      message: string,
    ) => {
      const outcome = await volley.enqueue({ recipients, message });
      if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
      return outcome.id;
    };
    // It is planned last, and forgotten before it is its turn.
    const running = await created([...others(400), ada], 'Running {{name}}');
    const short = await created([ada], 'Short {{name}}');
    await volley.outboxes.create({ name: 'box', message: 'Box {{name}}' });
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    await volley.outbox('box').put({ ...ada, id: 'visit', sendAt });
    const weekly = { id: 'weekly', cron: '0 9 * * 1', zone: 'Europe/London', message: 'Weekly {{name}}' };
    await volley.schedules.add({ ...weekly, recipients: [...others(2), ada] });
    let isImported = false;
    const slowly = async function* () {
      yield ada;
      for (const other of others(60)) {
        yield other;
        await delay(100);
      }
    };
    const importing = created(slowly(), 'Imported {{name}}').finally(() => {
      isImported = true;
    });
    await volley.schedules.run('weekly');

    const environment = {
      REDIS_URL: url,
      REDIS_PREFIX: prefix,
      ...settings,
      API_KEY: 'key',
      LOG_LEVEL: 'error',
    };
    const forget = () => startProgram('src/surfaces/cli/main.js', environment, ['forget', ADA, '--json']);
    for (let kill = 0; kill < KILLS || !isImported; kill += 1) {
      const program = forget();
      // Most of the time is the start of the process.
      await delay(300 + 1_200 * Math.random());
      await program.end('SIGKILL');
    }
    const imported = await importing;
    const state = async () => {
      const program = forget();
      const line = await program.firstLine;
      await program.ended;
      return line;
    };
    // The lease of the last process that was killed ends, the sent message gets its report, and workers look again after a minute.
    for (const deadline = Date.now() + 100_000; Date.now() < deadline; await delay(2_000)) {
      await state();
      if ((await keysWith(redis, prefix, { number: ADA, texts: ['Zebedea'] })).length === 0) break;
    }
    expect(await keysWith(redis, prefix, { number: ADA, texts: ['Zebedea'] })).toEqual([]);
    for (const id of [running, short, imported]) {
      const { counts } = await volley.status(id);
      const { total, ...states } = counts;
      expect(Object.values(states).reduce((sum, count) => sum + count, 0)).toBe(total);
    }
    expect((await volley.outbox('box').status()).counts).toMatchObject({ waiting: 0, cancelled: 1 });
    // No text goes to anyone twice.
    const sent = (await simulator.arrivals()).flatMap(({ text, recipients = [] }) =>
      recipients.map((number) => `${number} ${text}`),
    );
    expect(sent.length).toBe(new Set(sent).size);
  } finally {
    await fleet.close();
  }
});
