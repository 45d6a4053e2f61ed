import { expect, test } from 'vitest';
import type { Volley } from '../../../src/index.js';
import { scene } from '../../scene/scene.js';
import { ACME, laneProcesses, QUOTA } from './lane-processes.js';

const server = scene('lane-admin');
const { prefix, redis } = server;
const { create, environmentOf, processOf, sentWith, simulator, until, waitsForPermits } =
  await laneProcesses(server);

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
  const campaign = await create(volley, 'acme', 40);
  await until('the first quota is used', () => sentWith('acme') === 6);
  await volley.storedLanes.set('acme', { hourlyQuota: QUOTA, apiKey: 'new' });
  const before = sentWith('acme');
  // A permit may be kept for a poll.
  await until(
    'the rest of the new quota is used',
    () => sentWith('new') > 0 && waitsForPermits(volley, campaign),
  );
  // Ends what it has begun.
  await worker.close();
  expect(sentWith('acme')).toBe(before);
  expect(sentWith('acme') + sentWith('new')).toBeLessThanOrEqual(QUOTA);
  await volley.storedLanes.set('acme', { hourlyQuota: null, pacing: 'smooth' });
  expect((await volley.storedLanes.get('acme')).settings).toEqual({ pollShare: 0, pacing: 'smooth' });
});

/** The requests that the service has accepted with a key since then. */
const acceptedWith = (key: string, from: number) =>
  [...simulator.ledger.entries()].filter((entry) => entry.key === key && entry.at >= from);

test('While a lane sends, no request is claimed with the earlier key once a change resolves', async () => {
  const volley = processOf('fast');
  await volley.storedLanes.add('acme', { apiKey: 'acme', hourlyQuota: 100_000 });
  await processOf('fast').work().ready;
  simulator.configure({ latency: 20 });
  const campaign = await create(volley, 'acme', 3_000);
  let before = 'acme';
  for (const key of ['beta', 'new', 'acme']) {
    const from = Date.now();
    await until(`requests carry ${before}`, () => acceptedWith(before, from).length > 0);
    await volley.storedLanes.set('acme', { apiKey: key });
    const resolvedAt = Date.now();
    // By then, requests that were claimed before have ended, though they may start after the change.
    await until(`requests carry ${key}`, () => acceptedWith(key, resolvedAt).length > 100);
    const late = acceptedWith(before, resolvedAt + 1).flatMap(({ recipients: numbers }) => numbers);
    const claimed: number[] = [];
    await until('their responses are stored', async () => {
      claimed.length = 0;
      if (late.length > 0)
        for await (const { to, sentAt } of volley.report(campaign))
          if (late.includes(to ?? '') && sentAt !== null) claimed.push(Date.parse(sentAt));
      return claimed.length === late.length;
    });
    expect(claimed.filter((at) => at > resolvedAt)).toEqual([]);
    before = key;
  }
  simulator.configure({ latency: 0 });
});

test('A configured lane with the name or the credentials of a stored one disables it, and the worker starts', async () => {
  const volley = processOf('start');
  await volley.storedLanes.add('acme', ACME);
  await volley.storedLanes.add('beta', { apiKey: 'beta' });
  await processOf('start').work().ready;
  await create(volley, 'acme', QUOTA);
  await until('the quota is used', () => sentWith('acme') === QUOTA);
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
  await until('the worker knows all lanes', async () => (await worker.lanes()).length === lanes.length);
  expect((await worker.lanes()).map(({ name, id }) => [name, id])).toEqual([
    ['main', 'main'],
    ['renamed', 'acme'],
    ['beta', 'beta'],
  ]);
  // The configured lane continues the quota of the stored one, because it is the same at the service.
  await create(worker, 'renamed', 5, 'More');
  await served(worker);
  expect(sentWith('acme')).toBe(QUOTA);
});

/** Resolves when a process has served every lane whose campaigns were created before, and is closed. */
async function served(volley: Volley): Promise<void> {
  await create(volley, 'main', 1, 'Last');
  await until('the last campaign is sent', () => sentWith('configured') > 0);
  await volley.close();
}

test('After a change of SECRETS_KEY, a worker seals the credentials of lanes again', async () => {
  const [old, current] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'));
  await processOf('sealed', undefined, { SECRETS_KEY: old ?? '' }).storedLanes.add('acme', ACME);
  const unsealed = processOf('sealed', undefined, { SECRETS_KEY: current ?? '' });
  expect((await unsealed.storedLanes.get('acme')).problem).toMatch(/do not open with the SECRETS_KEY/);
  const both = { SECRETS_KEY: current ?? '', SECRETS_KEY_PREVIOUS: old ?? '' };
  await processOf('sealed', undefined, both).work().ready;
  const sealed = processOf('sealed', undefined, { SECRETS_KEY: current ?? '' });
  expect((await sealed.storedLanes.get('acme')).problem).toBeNull();
});

test('A lane whose SECRETS_KEY is lost is shown as stopped, and gets new credentials', async () => {
  const [lost, current] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'));
  await processOf('lost', undefined, { SECRETS_KEY: lost ?? '' }).storedLanes.add('acme', ACME);
  const volley = processOf('lost', undefined, { SECRETS_KEY: current ?? '' });
  /** What a process shows that opens no credentials, such as the command line. */
  const shown = async () => {
    const environment = { ...environmentOf('lost'), MESSAGING_BASE_URL: '', SECRETS_KEY: current ?? '' };
    const lanes = await server.open({ ...environment, LANES_FILE: server.lanesFile(['main']) }).lanes();
    return lanes.find(({ name }) => name === 'acme');
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
