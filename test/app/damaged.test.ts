import { expect, test } from 'vitest';
import { keyNames } from '../../src/base/redis/keys.js';
import type { Volley } from '../../src/index.js';
import { scene } from '../scene/scene.js';

const { open, prefix, redis, stored } = scene('damaged', {
  settings: {
    MESSAGING_BASE_URL: 'http://127.0.0.1:9',
    API_KEY: 'k',
    HOURLY_QUOTA: '100',
    SENDER_ADDRESS: '12345',
  },
});
const NUMBER = '+447700900123';
const OTHER = '+447700900124';

/** An installation with one of everything. */
async function installation(name: string) {
  const own = `${prefix}-${name}`;
  const keys = keyNames(own);
  const lane = stored('default', own);
  const volley = open({ REDIS_PREFIX: own });
  const campaign = async (idempotencyKey: string, message = 'Sale'): Promise<string> => {
    const outcome = await volley.enqueue({
      message,
      recipients: [{ to: NUMBER }, { to: OTHER }],
      idempotencyKey,
    });
    return 'id' in outcome ? outcome.id : '';
  };
  for (const outbox of ['bad', 'good'])
    await volley.outboxes.create({ name: outbox, message: 'Hello', sendRule: 'now' });
  for (const id of ['bad', 'good'])
    await volley.schedules.add({
      id,
      cron: '0 9 * * 1',
      zone: 'UTC',
      message: 'Hello',
      recipients: [{ to: NUMBER }],
    });
  return { keys, lane, volley, bad: await campaign('bad'), good: await campaign('good', 'Other'), campaign };
}

type Installation = Awaited<ReturnType<typeof installation>>;

async function all<Row>(rows: AsyncIterable<Row>): Promise<Row[]> {
  const read: Row[] = [];
  for await (const row of rows) read.push(row);
  return read;
}

/** What people and programs read of many records. */
const readAll = async (volley: Volley) => ({
  campaigns: (await volley.list()).map(({ id }) => id),
  page: (await volley.page()).campaigns.length,
  count: (await volley.count()).count,
  found: (await all(volley.find(NUMBER))).map(({ campaign }) => campaign),
  outboxes: (await volley.outboxes.list()).map(({ name }) => name),
  schedules: (await volley.schedules.list()).map(({ id }) => id),
  lanes: (await volley.lanes()).map(({ name }) => name),
  snapshot: (await volley.fleetSnapshot()).lanes.length,
  results: await volley.results().then(() => 'read'),
});

const damagedIn = async (volley: Volley): Promise<string[]> =>
  (await all(volley.examine())).flatMap(({ code, message, advice }) =>
    code === 'damaged' ? [`${message} ${advice}`] : [],
  );

const DAMAGED: readonly (readonly [
  string,
  (of: Installation) => Promise<unknown>,
  'campaigns' | 'outboxes' | 'schedules',
  (of: Installation) => string,
])[] = [
  [
    'the text of a campaign with an unknown priority',
    async ({ keys, bad }) => {
      const key = keys.lane('default', `campaign:${bad}`);
      const meta = JSON.parse((await redis.get(key)) ?? '');
      await redis.set(key, JSON.stringify({ ...meta, priority: 'urgent' }));
    },
    'campaigns',
    ({ bad }) =>
      `campaign ${bad} cannot be read (\`priority\` is invalid). To remove it: volley delete ${bad}`,
  ],
  [
    'the state of a campaign that is no JSON',
    ({ lane, bad }) => lane.damageState(bad),
    'campaigns',
    ({ bad }) => `campaign ${bad} cannot be read (it is not JSON). To remove it: volley delete ${bad}`,
  ],
  [
    'the settings of an outbox with a sender that is a number',
    async ({ keys }) => {
      const key = keys.lane('default', 'outbox:bad');
      const settings = JSON.parse((await redis.hget(key, 'settings')) ?? '');
      await redis.hset(key, 'settings', JSON.stringify({ ...settings, senderName: 17 }));
    },
    'outboxes',
    () => 'outbox bad cannot be read (`senderName` is invalid). To remove it: volley outbox delete bad',
  ],
  [
    'the state of an outbox that is no JSON',
    ({ keys }) => redis.hset(keys.lane('default', 'states'), 'outbox:bad', '{'),
    'outboxes',
    () => 'outbox bad cannot be read (it is not JSON). To remove it: volley outbox delete bad',
  ],
  [
    'a schedule with an unknown overlap',
    async ({ keys }) => {
      const key = keys.schedules.one('bad default');
      const definition = JSON.parse((await redis.hget(key, 'definition')) ?? '');
      await redis.hset(key, 'definition', JSON.stringify({ ...definition, overlap: 'queue' }));
    },
    'schedules',
    () =>
      'schedule bad cannot be read (`definition.overlap` is invalid). To remove it: volley schedule remove bad',
  ],
  [
    'a schedule without its state',
    ({ keys }) => redis.hdel(keys.schedules.one('bad default'), 'state'),
    'schedules',
    () => 'schedule bad cannot be read (`state` is invalid). To remove it: volley schedule remove bad',
  ],
];

test.each(DAMAGED)(
  'Of %s, every reader skips the record, doctor names it, and it can be removed',
  async (name, damage, kind, message) => {
    const own = await installation(String(DAMAGED.findIndex(([each]) => each === name)));
    const { volley } = own;
    const before = await readAll(volley);
    await damage(own);
    const after = await readAll(volley);
    const wanted = kind === 'campaigns' ? [own.good] : ['good'];
    expect(after[kind]).toEqual(wanted);
    expect(await damagedIn(volley)).toEqual([message(own)]);
    for (const other of ['campaigns', 'outboxes', 'schedules', 'lanes', 'results'] as const)
      if (other !== kind) expect([other, after[other]]).toEqual([other, before[other]]);

    if (kind === 'campaigns') await volley.delete(own.bad);
    if (kind === 'outboxes') await volley.outbox('bad').delete();
    if (kind === 'schedules') await volley.schedules.remove('bad');
    expect(await damagedIn(volley)).toEqual([]);
  },
);

test('A campaign that is removed because it cannot be read keeps its idempotency key, its counts, and its claims', async () => {
  const { lane, volley, bad, good, campaign } = await installation('removed');
  await lane.damageState(bad);
  const claim = { campaign: bad, first: 0, count: 1, at: Date.now(), turn: 't', call: 1, epoch: 0 };
  await lane.put('claims', '1', claim);
  await expect(volley.status(bad)).rejects.toMatchObject({
    code: 'damaged',
    message: expect.stringContaining(bad),
  });
  expect(await volley.delete(bad)).toEqual({ recipientCount: 2 });
  const { state, counts } = await volley.status(bad);
  expect({ state, counts }).toMatchObject({
    state: 'cancelled',
    counts: { total: 2, sending: 1, abandoned: 1, planned: 0 },
  });
  expect(await campaign('bad')).toBe(bad);
  expect((await volley.list()).map(({ id }) => id)).toEqual([good, bad]);
});
