import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { startPrivateRedis } from '../../src/base/redis/private-server.js';
import { commandLine } from '../scene/command-line.js';
import type { Fleet } from './fleet.js';
import { recipients } from './recipients.js';
import { launch, startedFleet } from './started.js';

const LANES = [
  { name: 'a', apiKey: 'a', hourlyQuota: 1_000 },
  { name: 'b', apiKey: 'b', hourlyQuota: 1_000 },
];

/** A fleet with a Redis whose data is copied and put back, and a state file outside of it. */
async function restorable() {
  const folder = await mkdtemp(join(tmpdir(), 'volley-restored-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const dir = join(folder, 'redis');
  const options = { dir, appendfsync: 'always', port: undefined } as const;
  const first = await startPrivateRedis({ dir, appendfsync: 'always' });
  let redis = first;
  onTestFinished(() => redis.stop());
  const fleet = await startedFleet({
    redisUrl: first.url,
    prefix: 'restored',
    workers: ['all'],
    lanes: LANES,
    // Enough for a campaign that is not over before its backup.
    settings: { QUOTA_WINDOW_MS: '60000', MAX_RECIPIENTS_PER_REQUEST: '1', REQUEST_TIMEOUT_MS: '3000' },
    own: async (place) => ({ STATE_FILE: join(folder, `state${place}.json`) }),
    // So slow that a campaign is not over before the test has seen that it is sent.
    simulator: { keys: [{ key: 'a' }, { key: 'b' }], latency: 400, magicRecipients: 'off' },
  });
  const password = new URL(first.url).password;
  return {
    fleet,
    folder,
    async backUp(): Promise<void> {
      await rm(join(folder, 'backup'), { recursive: true, force: true });
      await cp(dir, join(folder, 'backup'), { recursive: true });
    },
    /** Stops Redis, puts the copy back, and starts it again. */
    async restore(): Promise<void> {
      await redis.stop();
      await rm(dir, { recursive: true, force: true });
      await cp(join(folder, 'backup'), dir, { recursive: true });
      redis = await startPrivateRedis({ ...options, port: first.port, password });
    },
    /** The highest claims of lane a that the state files know. */
    async known(): Promise<number[]> {
      const names = (await readdir(folder)).filter((name) => /^state\d\.json$/.test(name));
      const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
      return texts.map((text) => JSON.parse(text).claims.a ?? 0);
    },
    settings: { REDIS_URL: first.url, REDIS_PREFIX: 'restored' },
  };
}
type Restorable = Awaited<ReturnType<typeof restorable>>;

const accepted = async ({ simulator }: Fleet): Promise<string[]> =>
  (await simulator.ledger()).flatMap((entry) => entry.recipients);
const acceptedAtLeast = (fleet: Fleet, least: number): Promise<void> =>
  vi.waitFor(async () => expect((await accepted(fleet)).length).toBeGreaterThanOrEqual(least), {
    timeout: 30_000,
    interval: 300,
  });
const twice = (numbers: readonly string[]): string[] =>
  numbers.filter((number, at) => numbers.indexOf(number) !== at);

/** A campaign of lane a is backed up while it is sent, sent on, and restored while no worker runs. */
async function restoredWhileSending({ fleet, backUp, restore, known }: Restorable): Promise<string> {
  const id = await launch(fleet, { lane: 'a', recipients: recipients(600), message: 'Sale' });
  await acceptedAtLeast(fleet, 20);
  await backUp();
  const atBackup = (await accepted(fleet)).length;
  await acceptedAtLeast(fleet, atBackup + 60);
  await vi.waitFor(async () => {
    for (const claim of await known()) expect(claim).toBeGreaterThan(atBackup + 40);
  }, 60_000);
  for (const member of fleet.members) await fleet.end(member, 'SIGTERM');
  await restore();
  return id;
}

const states = async ({ volley }: Fleet): Promise<(string | undefined)[]> =>
  (await volley.lanes()).map(({ state }) => state);

describe('After a backup of Redis was restored', { timeout: 180_000 }, () => {
  test('workers hold all lanes, say why, and send nothing twice once doctor --restored has said what to cancel', async () => {
    const world = await restorable();
    const { fleet, folder, settings } = world;
    const id = await restoredWhileSending(world);
    const before = await accepted(fleet);
    const [member] = fleet.members;
    if (member === undefined) throw new Error('no worker');
    fleet.begin(member);
    await vi.waitFor(async () => expect(await states(fleet)).toEqual(['held', 'held']), 30_000);
    await vi.waitFor(() => expect(fleet.logged('redis.rolledBack')).toHaveLength(1), 15_000);
    expect((await fleet.volley.status(id)).blockedBy).toMatchObject({
      state: 'held',
      reason: expect.stringContaining('Redis has older data than before; run `volley doctor --restored`'),
    });

    await writeFile(join(folder, 'lanes.json'), JSON.stringify(LANES));
    const { json } = commandLine(folder, { ...settings, LANES_FILE: join(folder, 'lanes.json') });
    const found = JSON.stringify((await json('doctor', '--restored')).output);
    expect(found).toContain(`If any was sent after the backup: volley cancel ${id}`);
    await fleet.volley.cancel(id);
    await Promise.all(['a', 'b'].map((lane) => fleet.volley.resumeLane(lane)));
    const next = await launch(fleet, { lane: 'a', recipients: [{ to: '+447700900001' }], message: 'Next' });
    await fleet.volley.finished(next, { signal: AbortSignal.timeout(60_000) });

    // Lanes stay open when the worker starts again, although its file still has numbers that Redis has lost.
    await fleet.end(member, 'SIGTERM');
    fleet.begin(member);
    await fleet.ready();
    const last = await launch(fleet, { lane: 'a', recipients: [{ to: '+447700900002' }], message: 'Last' });
    await fleet.volley.finished(last, { signal: AbortSignal.timeout(60_000) });
    expect(twice(await accepted(fleet))).toEqual([]);
    expect((await accepted(fleet)).length).toBe(before.length + 2);
  });
});
