import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../../src/base/redis/connection.js';
import { metaKey } from '../../../src/engine/recipients/campaign-keys.js';
import { readMeta } from '../../../src/engine/store/campaign-meta.js';
import { readState } from '../../../src/engine/store/campaigns.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { commandsRun } from '../../base/redis/commands-run.js';
import { privateRedis } from '../../base/redis/servers/private-redis.js';
import { importFixture, mobile } from './import-fixture.js';

const { url } = await privateRedis();
const redis = connect(url);
const { deps, keys, lane, stored, woken } = importFixture(redis, 'one');

async function enqueue(number: number, idempotencyKey?: string): Promise<string> {
  const made = await importCampaign(deps, {
    recipients: [{ to: mobile(number) }],
    message: 'Your table is booked for tonight.',
    idempotencyKey,
  });
  if (made.outcome !== 'created') throw new Error(`it was ${made.outcome}`);
  return made.id;
}

test('A campaign of one recipient takes at most 26 commands, and less than 700 bytes of its own', async () => {
  await enqueue(0);
  const before = await commandsRun(redis);
  for (let number = 1; number <= 20; number += 1) await enqueue(number);
  // The connection may run a command of its own meanwhile.
  expect(((await commandsRun(redis)) - before - 1) / 20).toBeLessThanOrEqual(26);
  const id = await enqueue(21);
  const own = await redis.keys(`*${id}*`);
  const bytes = await Promise.all(own.map((key) => redis.memory('USAGE', key)));
  const state = (await redis.hget(keys.lane(lane, 'states'), id)) ?? '';
  expect(bytes.reduce<number>((sum, each) => sum + (each ?? 0), state.length)).toBeLessThan(700);
});

test('What most campaigns have is not stored, and is there when a campaign is read', async () => {
  const id = await enqueue(22);
  const state = (await redis.hget(keys.lane(lane, 'states'), id)) ?? '{}';
  const members = ['changes', 'counts', 'launchAt', 'ordinals', 'state', 'total'];
  expect(Object.keys(JSON.parse(state)).sort()).toEqual(members);
  const meta = (await redis.get(metaKey(keys, lane, id))) ?? '{}';
  expect(Object.keys(JSON.parse(meta)).sort()).toEqual(['created', 'createdBy', 'name', 'sender', 'text']);
  expect(await readState(redis, keys, lane, id)).toMatchObject({
    cursor: 0,
    released: [],
    remainder: 'planned',
    counts: { planned: 1 },
  });
  expect(await readMeta(redis, keys, lane, id)).toMatchObject({
    id,
    lane,
    priority: 'normal',
    preview: null,
  });
});

test('Besides the audit trail, creating a campaign waits for Redis twice, and so for two writes to its disk', async () => {
  // The pings of an idle connection are reads, too: the busier the machine, the more of them.
  const reads = async (): Promise<number> => {
    const info = await redis.info('all');
    const count = (field: string): number => Number(new RegExp(`^${field}(\\d+)`, 'm').exec(info)?.[1] ?? 0);
    return count('total_reads_processed:') - count('cmdstat_ping:calls=');
  };
  await enqueue(300);
  const before = await reads();
  for (let number = 301; number <= 320; number += 1) await enqueue(number);
  // Asking is one of them.
  expect((await reads()) - before).toBeLessThan(20 * 2 + 8);
});

test('A campaign is stored before it reserves its content, also on a server that knows no script yet', async () => {
  const seen: string[] = [];
  const watching = new Redis(url);
  onTestFinished(() => watching.disconnect());
  const monitor = await watching.monitor();
  onTestFinished(() => monitor.disconnect());
  monitor.on('monitor', (_time: string, [command = '', key = '']: string[]) => {
    seen.push(`${command.toUpperCase()} ${key}`);
  });
  await redis.script('FLUSH');
  await enqueue(400);
  const stored = () => seen.indexOf(`HSET ${keys.lane(lane, 'states')}`);
  const reserved = () => seen.findIndex((one) => one.startsWith(`SET ${keys.idempotency('content:')}`));
  await expect.poll(() => Math.min(stored(), reserved())).toBeGreaterThan(-1);
  expect(reserved()).toBeGreaterThan(stored());
});

test('Campaigns created at the same time are checked together, and only the suppressed number is left out', async () => {
  const numbers = Array.from({ length: 20 }, (_, at) => 500 + at);
  const by = { kind: 'library', id: null, name: 'test' } as const;
  const operation = { list: null, actor: by, source: 'test', reason: '', at: 0 };
  await deps.suppression.add([mobile(507)], operation);
  const outcomes = await Promise.all(
    numbers.map((number) =>
      importCampaign(deps, { recipients: [{ to: mobile(number) }], message: 'Your table is booked.' }),
    ),
  );
  const suppressed = outcomes.flatMap((outcome, at) =>
    outcome.outcome === 'created' && outcome.suppressed === 1 ? [numbers[at]] : [],
  );
  expect(suppressed).toEqual([507]);
});

test('A lane is woken for the first campaign that waits, and not again for those behind it', async () => {
  await stored.stopAll();
  woken.length = 0;
  await enqueue(100);
  await enqueue(101);
  expect(woken).toEqual([lane]);
});
