import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, expect, test } from 'vitest';
import { checkStored } from '../../../src/app/doctor/lanes.js';
import { createEvents, createVolley, loadConfig, loadLocalConfig, type Volley } from '../../../src/index.js';
import { startSimulator } from '../../../src/tools/simulator/index.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { url, prefix, redis } = testRedis('lane-admin');

const QUOTA = 10;
const simulator = await startSimulator({
  keys: ['configured', 'acme', 'beta', 'new'].map((key) => ({ key, quota: 1_000_000 })),
  magicRecipients: 'off',
});
afterAll(() => simulator.close());

const opened: Volley[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((volley) => volley.close()));
  simulator.clear();
});

/** A process with these lanes in its configuration; by default, one with the key `configured`. */
function processOf(
  run: string,
  lanes: readonly object[] = [{ name: 'main', apiKey: 'configured' }],
  more = {},
) {
  const config = loadConfig(
    {
      MESSAGING_BASE_URL: simulator.messagingBaseUrl,
      LANES_FILE: 'lanes.json',
      REDIS_URL: url,
      REDIS_PREFIX: `${prefix}-${run}`,
      SENDER_ADDRESS: 'ACME',
      SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
      FOLLOW_UP_FIRST_MS: '3600000',
      ...more,
    },
    { readFile: () => JSON.stringify(lanes) },
  );
  const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
  opened.push(volley);
  return volley;
}

const recipients = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ to: `+4477009${10_000 + at}` }));

async function create(volley: Volley, lane: string, count: number, message = 'Hi'): Promise<string> {
  const outcome = await volley.enqueue({ lane, recipients: recipients(count), message });
  if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
  return outcome.id;
}

/** How many messages the service has accepted with a key. */
const sentWith = (key: string): number =>
  [...simulator.arrivals()].filter((arrival) => arrival.key === key && arrival.kind === 'send').length;

async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (await isSo()) return;
    await delay(50);
  }
  throw new Error(`it never happened: ${what}`);
}

const usedUp = async (volley: Volley, lane: string): Promise<boolean> => {
  const status = (await volley.lanes()).find(({ name }) => name === lane);
  return status !== undefined && status.quota.used.send + status.quota.used.poll >= QUOTA;
};
/** A lane whose whole quota is for messages. */
const ACME = { apiKey: 'acme', hourlyQuota: QUOTA, pollShare: 0 };

test('A stored lane is served by workers that run, and its key is in Redis only encrypted', async () => {
  const volley = processOf('added');
  const worker = processOf('added');
  await worker.work().ready;
  const lane = await volley.storedLanes.add('acme', {
    ...ACME,
    window: { hours: 'Mon-Sun 00:00-24:00' },
    zone: 'UTC',
  });
  expect(lane).toMatchObject({ name: 'acme', id: 'acme', state: 'active', problem: null });
  expect(lane.settings).toEqual({
    hourlyQuota: QUOTA,
    pollShare: 0,
    window: { hours: 'Mon-Sun 00:00-24:00' },
    zone: 'UTC',
  });
  await create(volley, 'acme', 3);
  await until('sent', () => sentWith('acme') === 3);
  const stored = await redis.hgetall(`{${prefix}-added:lanes:registry}:stored`);
  expect(JSON.stringify(stored)).not.toMatch(/apiKey|"acme"[^,]*key/);
  expect((await worker.lanes()).map(({ name }) => name)).toEqual(['main', 'acme']);
});

test.each([
  [{ apiKey: 'x', baseUrl: 'https://evil.example' }, /baseUrl is taken from the configuration/],
  [{ apiKeyEnv: 'SECRETS_KEY' }, /apiKeyEnv names a variable/],
  [{ account: { username: 'a', passwordEnv: 'SECRETS_KEY' } }, /account.passwordEnv names a variable/],
  [{ apiKey: 'x', hourlyQuota: 0 }, /hourlyQuota must be a whole number/],
  [{ apiKey: 'x', hourlyQouta: 5 }, /did you mean hourlyQuota/],
  [{ apiKey: 'x', window: { hours: 'never' } }, /window.hours is not valid/],
  [{}, /has no credentials/],
] as const)('A stored lane with %j is refused', async (settings, message) => {
  await expect(processOf('invalid').storedLanes.add('acme', settings)).rejects.toThrow(message);
});

test('Without SECRETS_KEY, no lane is stored', async () => {
  const volley = processOf('unsealed', undefined, { SECRETS_KEY: '' });
  await expect(volley.storedLanes.add('acme', ACME)).rejects.toThrow('SECRETS_KEY must be set');
});

test('A name or credentials in use are refused, of stored and of configured lanes, whichever process has them', async () => {
  const volley = processOf('conflicts');
  const worker = processOf('conflicts', [
    { name: 'main', apiKey: 'configured' },
    { name: 'beta', apiKey: 'beta' },
  ]);
  await worker.work().ready;
  const add = (name: string, apiKey: string) => volley.storedLanes.add(name, { apiKey });
  await add('acme', 'acme');
  await expect(add('acme', 'new')).rejects.toMatchObject({ name: 'LaneTakenError', field: 'name' });
  await expect(add('other', 'acme')).rejects.toThrow('lane acme has these credentials');
  await expect(add('main', 'new')).rejects.toThrow('there is a lane main');
  await expect(add('other', 'configured')).rejects.toThrow('lane main has these credentials');
  await until('the worker has published its lanes', async () => {
    const error = await add('beta', 'new').catch((thrown: Error) => thrown);
    return error instanceof Error && error.message.includes('there is a lane beta');
  });
  await expect(volley.storedLanes.set('acme', { apiKey: 'beta' })).rejects.toThrow(
    'lane beta has these credentials',
  );
  await expect(volley.storedLanes.set('main', { hourlyQuota: 1 })).rejects.toThrow(
    'belongs to the configuration',
  );
});

test('When a change of a lane resolves, no request starts with the earlier quota or key', async () => {
  const volley = processOf('changed');
  await volley.storedLanes.add('acme', { ...ACME, hourlyQuota: 6 });
  const worker = processOf('changed');
  await worker.work().ready;
  await create(volley, 'acme', 40);
  await until('the first quota is used', () => sentWith('acme') === 6);
  await volley.storedLanes.set('acme', { hourlyQuota: QUOTA, apiKey: 'new' });
  const before = sentWith('acme');
  // A permit may be kept for a poll.
  await until('the rest of the new quota is used', () => sentWith('new') >= QUOTA - 7);
  await delay(1_500);
  expect(sentWith('acme')).toBe(before);
  expect(sentWith('acme') + sentWith('new')).toBeLessThanOrEqual(QUOTA);
  await volley.storedLanes.set('acme', { hourlyQuota: null, pacing: 'smooth' });
  expect((await volley.storedLanes.get('acme')).settings).toEqual({ pollShare: 0, pacing: 'smooth' });
});

test('While a lane sends, no request is claimed with the earlier key once a change resolves', async () => {
  const volley = processOf('fast');
  await volley.storedLanes.add('acme', { apiKey: 'acme', hourlyQuota: 100_000 });
  await processOf('fast').work().ready;
  simulator.configure({ latency: 20 });
  const campaign = await create(volley, 'acme', 20_000);
  let before = 'acme';
  for (const key of ['beta', 'new', 'acme', 'beta', 'new']) {
    const from = Date.now();
    const acceptedWith = (at: number) =>
      [...simulator.ledger.entries()].filter((entry) => entry.key === before && entry.at >= at);
    await until(`requests carry ${before}`, () => acceptedWith(from).length > 0);
    await volley.storedLanes.set('acme', { apiKey: key });
    const resolvedAt = Date.now();
    await delay(1_200);
    // A request that was claimed before may start later.
    const late = new Set(acceptedWith(resolvedAt + 1).flatMap(({ recipients: numbers }) => numbers));
    const claimed: number[] = [];
    await until('their responses are stored', async () => {
      claimed.length = 0;
      if (late.size > 0)
        for await (const { to, sentAt } of volley.report(campaign))
          if (late.has(to ?? '') && sentAt !== null) claimed.push(Date.parse(sentAt));
      return claimed.length === late.size;
    });
    expect(claimed.filter((at) => at > resolvedAt)).toEqual([]);
    before = key;
  }
  simulator.configure({ latency: 0 });
});

test('A removal needs the number of recipients that it cancels, and frees the name when the last report has arrived', async () => {
  const volley = processOf('removed', undefined, {
    FOLLOW_UP_FIRST_MS: '300',
    // Workers look as often as twice a second for lanes whose removal can end.
    QUOTA_WINDOW_MS: '60000',
    REQUEST_TIMEOUT_MS: '3000',
  });
  await volley.work().ready;
  await volley.storedLanes.add('acme', { ...ACME, hourlyQuota: 100 });
  simulator.configure({ deliveryTime: 4_000 });
  const sent = await create(volley, 'acme', 3);
  await until('it is sent', () => sentWith('acme') === 3);
  const later = { lane: 'acme', recipients: recipients(7), message: 'Later', sendAt: Date.now() + 3_600_000 };
  expect((await volley.enqueue(later)).outcome).toBe('created');
  expect(await volley.storedLanes.remove('acme', 3)).toEqual({ outcome: 'unexpected', recipientCount: 7 });
  expect(await volley.storedLanes.remove('acme', 7)).toEqual({ outcome: 'removed', cancelled: 7 });
  await expect(create(volley, 'acme', 1)).rejects.toThrow('is being removed');
  await expect(volley.storedLanes.add('acme', { apiKey: 'new' })).rejects.toThrow('still being removed');
  const sealed = async () =>
    (await redis.hget(`{${prefix}-removed:lanes:registry}:stored`, 'acme'))?.includes('gcm2:');
  while ((await volley.status(sent)).counts.deliveredToTerminal < 3) {
    // Polls need the credentials.
    expect(await sealed()).toBe(true);
    await delay(100);
  }
  await until('the credentials are deleted', async () => (await sealed()) === false);
  expect(await volley.storedLanes.list()).toEqual([]);
  expect((await volley.status(sent)).lane).toBe('removed~acme');
  // Another tenant may have the name, and sees nothing of the first one.
  expect(await volley.storedLanes.add('acme', { apiKey: 'new' })).toMatchObject({ id: 'acme~2' });
  await create(volley, 'acme', 1, 'From another');
  const listed = await volley.list({ lanes: ['acme'] });
  expect(listed).toHaveLength(1);
  simulator.configure({ deliveryTime: 1_000 });
});

/** A campaign that waits. */
async function schedule(volley: Volley, count: number, message: string): Promise<string> {
  const sendAt = Date.now() + 3_600_000;
  const outcome = await volley.enqueue({ lane: 'acme', recipients: recipients(count), message, sendAt });
  if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
  return outcome.id;
}
const isClosed = (run: string) => async () =>
  / leaving /.test((await redis.hget(`{${prefix}-${run}:lanes:registry}:stored`, 'acme')) ?? '');

test('A campaign whose list another process has begun to read before a lane is removed is not cancelled with it', async () => {
  const [volley, other] = [processOf('closing'), processOf('closing')];
  await volley.storedLanes.add('acme', ACME);
  await schedule(volley, 7, 'Before');
  let begun = (): void => {};
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const importing = other.enqueue({
    lane: 'acme',
    message: 'Meanwhile',
    sendAt: Date.now() + 3_600_000,
    recipients: (async function* () {
      yield* recipients(4);
      begun();
      await until('it is closed', isClosed('closing'));
      yield { to: '+447700900999' };
    })(),
  });
  await isBegun;
  const removing = volley.storedLanes.remove('acme', 7);
  const outcome = await importing;
  const late = outcome.outcome === 'created' ? outcome.id : '';
  expect(await removing).toEqual({ outcome: 'unexpected', recipientCount: 12 });
  expect((await volley.storedLanes.get('acme')).state).toBe('active');
  expect((await volley.status(late)).counts.planned).toBe(5);
  await schedule(other, 1, 'Afterwards');
  expect(await volley.storedLanes.remove('acme', 13)).toEqual({ outcome: 'removed', cancelled: 13 });
});

test('If a process dies while it removes a lane, nothing is cancelled before the removal is repeated', async () => {
  const more = { QUOTA_WINDOW_MS: '60000', REQUEST_TIMEOUT_MS: '3000' };
  const worker = processOf('died', undefined, more);
  await worker.work().ready;
  for (const [repeated, outcome] of [
    [3, { outcome: 'unexpected', recipientCount: 7 }],
    [7, { outcome: 'removed', cancelled: 7 }],
  ] as const) {
    const dying = processOf('died', undefined, more);
    if (repeated === 3) {
      await dying.storedLanes.add('acme', ACME);
      await schedule(dying, 7, 'Later');
    }
    const removing = dying.storedLanes.remove('acme', 7).catch(() => {});
    await until('it is closed', isClosed('died'));
    await dying.close();
    await removing;
    // The worker looks at it several times.
    await delay(2_000);
    expect(await isClosed('died')()).toBe(true);
    const details = await worker.storedLanes.get('acme');
    expect(checkStored(details)).toMatchObject([
      { state: 'warn', message: expect.stringContaining('removal') },
    ]);
    expect(await worker.storedLanes.remove('acme', repeated)).toEqual(outcome);
    const state = outcome.outcome === 'removed' ? 'leaving' : 'active';
    expect(await worker.storedLanes.get('acme')).toMatchObject({ state });
  }
});

test.each([
  ['before its last report', 'leaving', 'acme'],
  ['after it was removed', 'removed', 'acme'],
  ['under another name', 'removed', 'other'],
])('A lane that is added again %s continues the quota of its credentials', async (_, state, name) => {
  const volley = processOf(`again-${state}-${name}`, undefined, {
    FOLLOW_UP_FIRST_MS: state === 'leaving' ? '50000' : '2000',
    QUOTA_WINDOW_MS: '60000',
    REQUEST_TIMEOUT_MS: '3000',
  });
  await volley.work().ready;
  const quota = 2 * QUOTA;
  await volley.storedLanes.add('acme', { ...ACME, hourlyQuota: quota });
  await create(volley, 'acme', 6);
  await until('it is sent', () => sentWith('acme') === 6);
  expect(await volley.storedLanes.remove('acme', 0)).toMatchObject({ outcome: 'removed' });
  if (state === 'removed')
    await until('it is gone', async () => (await volley.storedLanes.list()).length === 0);
  await volley.storedLanes.add(name, { ...ACME, hourlyQuota: quota });
  await create(volley, name, 2 * quota, 'Again');
  await until('the rest of the quota is used', () => sentWith('acme') >= quota / 2);
  await delay(3_000);
  const requests = [...simulator.arrivals()].filter(({ key }) => key === 'acme').length;
  expect(requests).toBeLessThanOrEqual(quota);
});

test('A configured lane with the name or the credentials of a stored one disables it, and the worker starts', async () => {
  const volley = processOf('start');
  await volley.storedLanes.add('acme', ACME);
  await volley.storedLanes.add('beta', { apiKey: 'beta' });
  const first = processOf('start');
  await first.work().ready;
  await create(volley, 'acme', QUOTA);
  await until('the quota is used', () => usedUp(volley, 'acme'));
  const lanes = [
    { name: 'main', apiKey: 'configured' },
    { name: 'renamed', apiKey: 'acme', hourlyQuota: QUOTA, pollShare: 0 },
    { name: 'beta', apiKey: 'new' },
  ];
  const worker = processOf('start', lanes);
  await worker.work().ready;
  expect(await volley.storedLanes.list()).toMatchObject([
    {
      name: 'acme',
      state: 'disabled',
      problem: 'the configured lane renamed has its name or its credentials',
    },
    { name: 'beta', state: 'disabled' },
  ]);
  // The configured lane continues the quota of the stored one, because it is the same at the service.
  await create(worker, 'renamed', 5, 'More');
  await delay(1_500);
  expect(sentWith('acme')).toBe(QUOTA);
  expect((await worker.lanes()).map(({ name, id }) => [name, id])).toEqual([
    ['main', 'main'],
    ['renamed', 'acme'],
    ['beta', 'beta'],
  ]);
});

test('After a change of SECRETS_KEY, a worker seals the credentials of lanes again', async () => {
  const [old, current] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'));
  await processOf('sealed', undefined, { SECRETS_KEY: old }).storedLanes.add('acme', ACME);
  const unsealed = processOf('sealed', undefined, { SECRETS_KEY: current });
  expect((await unsealed.storedLanes.get('acme')).problem).toMatch(/do not open with the SECRETS_KEY/);
  const both = { SECRETS_KEY: current, SECRETS_KEY_PREVIOUS: old };
  await processOf('sealed', undefined, both).work().ready;
  const sealed = processOf('sealed', undefined, { SECRETS_KEY: current });
  expect((await sealed.storedLanes.get('acme')).problem).toBeNull();
});

test('A lane whose SECRETS_KEY is lost is shown as stopped, and gets new credentials', async () => {
  const [lost, current] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'));
  await processOf('lost', undefined, { SECRETS_KEY: lost }).storedLanes.add('acme', ACME);
  const volley = processOf('lost', undefined, { SECRETS_KEY: current });
  /** What a process shows that opens no credentials, such as the command line. */
  const shown = async () => {
    const environment = {
      MESSAGING_BASE_URL: simulator.messagingBaseUrl,
      LANES_FILE: 'lanes.json',
      REDIS_URL: url,
      REDIS_PREFIX: `${prefix}-lost`,
      SECRETS_KEY: current,
    };
    const config = loadLocalConfig(environment, {
      readFile: () => '[{ "name": "main", "apiKey": "configured" }]',
    });
    const local = createVolley({ config, events: createEvents({ level: 'silent' }) });
    opened.push(local);
    return (await local.lanes()).find(({ name }) => name === 'acme');
  };
  expect(await shown()).toMatchObject({
    state: 'stopped',
    blockedBy: {
      code: 'noCredentials',
      reason: expect.stringContaining('give it new ones with `volley lane set`'),
    },
  });
  await expect(volley.storedLanes.set('acme', { hourlyQuota: 5 })).rejects.toThrow('give it new ones');
  expect(await volley.storedLanes.set('acme', { apiKey: 'new' })).toMatchObject({
    problem: null,
    settings: { hourlyQuota: QUOTA },
  });
  expect(await shown()).toMatchObject({ state: 'open', blockedBy: null });
  await volley.work().ready;
  await create(volley, 'acme', 1);
  await until('the new key is used', () => sentWith('new') === 1);
});
