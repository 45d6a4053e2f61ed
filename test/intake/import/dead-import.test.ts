import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { slicesKey } from '../../../src/engine/recipients/campaign-keys.js';
import { findLane, readState } from '../../../src/engine/store/campaigns.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { discardImport } from '../../../src/intake/import/import-session.js';
import { keysOf, testRedis } from '../../base/redis/test-redis.js';
import { SOON } from '../../base/soon.js';
import { importFixture, mobile } from './import-fixture.js';

const { url, prefix, redis } = testRedis('dead-import');
const { deps, keys, lane, stored } = importFixture(redis, prefix);
const root = fileURLToPath(new URL('../../..', import.meta.url));
/** So long that a process on a busy machine renews it, and that the first look at it comes before its end. */
const LEASE_MS = 6_000;
let out = '';

beforeAll(async () => {
  // Below node_modules, so that the compiled files find their packages.
  const cache = join(root, 'node_modules', '.cache');
  await mkdir(cache, { recursive: true });
  out = await mkdtemp(join(cache, 'volley-dying-import-'));
  await writeFile(join(out, 'package.json'), '{ "type": "module" }');
  const config = join(root, 'test/intake/import/tsconfig.dying-import.json');
  await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['-p', config, '--outDir', out]);
  await cp(join(root, 'src'), join(out, 'src'), {
    recursive: true,
    filter: (source) => !source.endsWith('.ts'),
  });
  // Compiling takes long on a busy machine.
});
afterAll(() => rm(out, { recursive: true, force: true }));

/** Kills a process in the middle of an import that holds the key; returns the id of the import. */
async function killedImport(idempotencyKey: string): Promise<string> {
  const child = spawn(
    process.execPath,
    [join(out, 'test/intake/import/dying-import.js'), url, prefix, idempotencyKey, String(LEASE_MS)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const [id = ''] = Object.keys(await stored.importing());
  await vi.waitFor(async () => {
    expect(await redis.hlen(slicesKey(keys, lane, id, 'slices'))).toBeGreaterThan(40);
  }, SOON);
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  return id;
}

test('An import whose process was killed is discarded with its idempotency key once its lease expires, not before', async () => {
  const id = await killedImport('killed');
  expect(await readState(redis, keys, lane, id)).toMatchObject({ state: 'importing', total: 0 });
  expect(await discardImport(redis, keys, lane, id)).toBe(false);
  await vi.waitFor(async () => expect(await discardImport(redis, keys, lane, id)).toBe(true), {
    timeout: 2 * LEASE_MS,
  });
  expect(await findLane(redis, keys, id)).toBeNull();
  // The set of lanes stays: retention visits the lanes in it.
  expect((await keysOf(redis, prefix)).sort()).toEqual([keys.due, keys.lanes, keys.removals]);
});

test('A request with the key of a killed import says that it waits until the lease expires, and then creates the campaign', async () => {
  const id = await killedImport('again');
  const waitsFor: string[] = [];
  const outcome = await importCampaign(deps, {
    onWait: (campaign) => void waitsFor.push(campaign),
    recipients: [{ to: mobile(1), name: 'Anna' }],
    message: 'Hi {{name}}',
    idempotencyKey: 'again',
  });
  if (outcome.outcome !== 'created') throw new Error(`it was ${outcome.outcome}`);
  expect(waitsFor).toEqual([id]);
  expect(outcome.id).not.toBe(id);
  expect(await readState(redis, keys, lane, outcome.id)).toMatchObject({ state: 'running', total: 1 });
  expect((await keysOf(redis, prefix)).filter((key) => key.includes(id))).toEqual([]);
});
