import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { createEvents, createVolley, loadConfig, type Volley } from '../../src/index.js';
import { startSimulator } from '../../src/tools/simulator/index.js';
import { testRedis } from '../base/redis/test-redis.js';
import { commandLine } from '../scene/command-line.js';
import { recipients } from './recipients.js';

const { url, prefix } = testRedis('lane-rename');

const QUOTA = 100;
// The service would accept ten times as many, so that all that leave are counted.
const simulator = await startSimulator({
  keys: [{ key: 'key', quota: 10 * QUOTA }],
  magicRecipients: 'off',
});
afterAll(() => simulator.close());

const opened: Volley[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((volley) => volley.close()));
  simulator.clear();
});

const environment = (run: string) => ({
  MESSAGING_BASE_URL: simulator.messagingBaseUrl,
  LANES_FILE: 'lanes.json',
  HOURLY_QUOTA: String(QUOTA),
  REDIS_URL: url,
  REDIS_PREFIX: `${prefix}-${run}`,
  SENDER_ADDRESS: 'ACME',
  FOLLOW_UP_FIRST_MS: '3600000',
});

const lanesFile = (name: string) => JSON.stringify([{ name, apiKey: 'key', pollShare: 0 }]);

/** A process whose only lane has this name. All of them use the same key. */
function processWith(name: string, run: string): Volley {
  const config = loadConfig(environment(run), { readFile: () => lanesFile(name) });
  const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
  opened.push(volley);
  return volley;
}

/** The command line where the only lane has this name. */
function commandLineWith(name: string, run: string) {
  const cwd = mkdtempSync(join(tmpdir(), 'volley-lane-rename-'));
  writeFileSync(join(cwd, 'lanes.json'), lanesFile(name));
  return commandLine(cwd, { ...environment(run), LANES_FILE: join(cwd, 'lanes.json') });
}

async function create(volley: Volley, message: string): Promise<string> {
  const outcome = await volley.enqueue({ recipients: recipients(2 * QUOTA), message });
  if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
  return outcome.id;
}

/** Resolves when a turn of one of these processes has found the quota used up. A few permits stay reserved for polls. */
const usedUp = (...processes: readonly Volley[]) =>
  Promise.race(
    processes.map(({ events }) =>
      events.next('turn.ended', ({ kind, reason }) => kind === 'send' && reason === 'quota'),
    ),
  );

/** The requests that left; a lane uses at least this many of its quota. */
const AT_LEAST = QUOTA - 5;

test('A lane under another name is refused until it is renamed, and then sends no more than its quota', {
  timeout: 120_000,
}, async () => {
  const run = 'quota';
  const before = processWith('default', run);
  await before.work().ready;
  const firstTurn = usedUp(before);
  const first = await create(before, 'one');
  await firstTurn;
  await before.close();
  const { arrivals } = simulator.summary();
  expect(arrivals).toBeGreaterThan(AT_LEAST);
  expect(arrivals).toBeLessThanOrEqual(QUOTA);

  const refused = processWith('marketing', run);
  await expect(refused.work().ready).rejects.toThrow('volley lane rename default marketing');
  await expect(create(refused, 'two')).rejects.toThrow('volley lane rename default marketing');
  await refused.close();

  const cli = commandLineWith('marketing', run);
  expect((await cli.volley('work')).stderr).toContain('volley lane rename default marketing');
  expect(await cli.json('lane', 'rename', 'default', 'marketing')).toEqual({
    exit: 0,
    output: { lane: 'marketing', from: 'default', id: 'default' },
  });

  const after = processWith('marketing', run);
  await after.work().ready;
  const second = await create(after, 'two');
  // The lane's next turn waits for a permit, in an hour.
  await vi.waitFor(async () => {
    expect((await after.fleetSnapshot()).jobs.send).toEqual({ active: 0, waiting: 0, delayed: 1 });
  }, 15_000);
  expect(await after.status(first)).toMatchObject({ lane: 'marketing', state: 'running' });
  expect(await after.status(second)).toMatchObject({ lane: 'marketing', state: 'running' });
  expect(await after.lanes()).toMatchObject([{ name: 'marketing', id: 'default' }]);
  expect(simulator.summary().arrivals).toBeLessThanOrEqual(QUOTA);
});

test('While processes with the old and the new name run together, both use one quota and serve one lane', {
  timeout: 120_000,
}, async () => {
  const run = 'rolling';
  const old = processWith('default', run);
  await old.work().ready;
  const renamed = processWith('marketing', run);
  await old.renameLane('default', 'marketing');
  await renamed.work().ready;
  const turn = usedUp(old, renamed);
  const ids = [await create(old, 'one'), await create(renamed, 'two')];
  await turn;
  expect(simulator.summary().arrivals).toBeGreaterThan(AT_LEAST);
  expect(simulator.summary().arrivals).toBeLessThanOrEqual(QUOTA);
  for (const id of ids) {
    expect((await old.status(id)).lane).toBe('default');
    expect((await renamed.status(id)).lane).toBe('marketing');
  }
  await old.holdLane('default');
  expect(await renamed.lanes()).toMatchObject([{ name: 'marketing', state: 'held' }]);
});

test('API keys and events stay with their lane when it is renamed, even if another lane takes its name', async () => {
  const run = 'keys';
  const old = processWith('default', run);
  const { key } = await old.keys.create({ name: 'shop', scopes: ['read'], lanes: ['default'] });
  const id = await create(old, 'one');
  await old.cancel(id);
  await old.close();

  const renamed = processWith('marketing', run);
  await renamed.renameLane('default', 'marketing');
  const config = loadConfig(environment(run), {
    readFile: () => '[{ "name": "default", "apiKey": "another" }]',
  });
  const another = createVolley({ config, events: createEvents({ level: 'silent' }) });
  opened.push(another);
  const other = await create(another, 'two');
  for (const volley of [renamed, another]) {
    expect((await volley.keys.check(key))?.lanes).toEqual(['marketing']);
    expect((await volley.page({ lanes: ['marketing'] })).campaigns.map((campaign) => campaign.id)).toEqual([
      id,
    ]);
    const found: { lane: string; campaign: string | null }[] = [];
    const ended = new AbortController();
    for await (const item of volley.follow({ after: '0-0', signal: ended.signal })) {
      if (item.kind !== 'event' || !('campaign' in item.event)) continue;
      found.push({ lane: item.event.lane, campaign: item.event.campaign });
      if (item.event.campaign === other) break;
    }
    expect(found.at(0)).toEqual({ lane: 'marketing', campaign: id });
    expect(found.at(-1)).toEqual({ lane: 'default', campaign: other });
  }
});

test('Campaigns of a lane that is not configured are listed, shown, reported, and cancelled, and doctor names the lane', async () => {
  const run = 'unconfigured';
  const id = await create(processWith('default', run), 'one');
  const cli = commandLineWith('marketing', run);
  expect((await cli.json('list')).output).toMatchObject({ campaigns: [{ id, lane: 'default' }] });
  expect((await cli.json('status', id)).output).toMatchObject({
    id,
    lane: 'default',
    blockedBy: { reason: 'lane default is not configured', until: null },
    waitingFor: 'workers',
    eta: { latest: null, reason: 'its lane is not configured' },
  });
  expect((await cli.volley('report', id)).stdout.trim().split('\n')).toHaveLength(1 + 2 * QUOTA);
  expect((await cli.volley('doctor')).stdout).toMatch(
    /warn {2}lane default: not configured here, and 1 campaign has not ended\n.*`volley lane rename` with both names/,
  );
  expect((await cli.json('cancel', id, '--yes')).output).toMatchObject({
    state: 'cancelled',
    cancelled: 2 * QUOTA,
  });
  expect((await cli.json('status', id)).output).toMatchObject({ state: 'cancelled', waitingFor: null });
  expect((await cli.volley('doctor')).stdout).toContain('lane default: not configured; 1 campaign ended');
  const [fail] = (await cli.volley('doctor')).stdout
    .split('\n')
    .filter((line) => line.includes('lane names'));
  expect(fail).toContain('lane marketing has the credentials of lane default');
});

test('Doctor names an outbox whose lane is not configured, as long as messages wait in it', async () => {
  const run = 'outbox';
  const before = processWith('default', run);
  await before.outboxes.create({ name: 'dentist', message: 'See you', zone: 'UTC' });
  await before.outboxes.create({ name: 'empty', message: 'See you', zone: 'UTC' });
  const sendAt = new Date(Date.now() + 86_400_000).toISOString();
  for (const id of ['a', 'b']) await before.outbox('dentist').put({ id, to: '+447700900123', sendAt });
  const doctor = async (lane: string) => (await commandLineWith(lane, run).volley('doctor')).stdout;
  expect(await doctor('default')).not.toContain('outbox');
  const warnings = (await doctor('marketing')).match(/^.* outbox .*\n.*$/gm);
  expect(warnings).toEqual([
    'warn  outbox dentist: its lane default is not configured here, and 2 messages wait\n      → If the lane has a new name, run `volley lane rename` with both names. Otherwise configure it again, or run `volley outbox cancel-all dentist --lane default`',
  ]);
  await before.outbox('dentist').cancelAll();
  expect(await doctor('marketing')).not.toContain('outbox dentist');
});
