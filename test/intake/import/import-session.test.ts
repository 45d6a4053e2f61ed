import { expect, test } from 'vitest';
import { keyNames } from '../../../src/base/redis/keys.js';
import { metaKey } from '../../../src/engine/recipients/campaign-keys.js';
import { SLICE } from '../../../src/engine/recipients/slices.js';
import { readSlices } from '../../../src/engine/recipients/stored-slices.js';
import { readState } from '../../../src/engine/store/campaigns.js';
import { beginImport, discardImport, ImportLostError } from '../../../src/intake/import/import-session.js';
import { keysOf, testRedis } from '../../base/redis/test-redis.js';
import { draft } from '../../scene/draft.js';
import { storedLane } from '../../scene/stored.js';

const { prefix, redis } = testRedis('import-session');
const keys = keyNames(prefix);
const lane = 'main';
const stored = storedLane({ redis, keys, id: lane });

async function lost(id: string) {
  const session = await beginImport(redis, keys, draft(id));
  await stored.expireImport(id);
  expect(await discardImport(redis, keys, lane, id)).toBe(true);
  return session;
}

test('An import that was discarded as expired can write nothing more', async () => {
  const session = await lost('writes');
  for (let slice = 0; slice < SLICE; slice += 1)
    session.recipients.add({ number: '+447700900123', values: [] });
  await session.recipients.flushed();
  await expect(session.recipients.rest()).rejects.toBeInstanceOf(ImportLostError);
  expect((await keysOf(redis, prefix)).filter((key) => key.includes('campaign:writes'))).toEqual([]);
});

test('An import that was discarded as expired can never be committed', async () => {
  const session = await lost('commits');
  await expect(session.commit(draft('commits'))).rejects.toBeInstanceOf(ImportLostError);
  expect(await readState(redis, keys, lane, 'commits')).toBeNull();
  expect(await stored.placesOf('commits')).toEqual([]);
});

test('A commit whose reply was lost can be repeated', async () => {
  const session = await beginImport(redis, keys, draft('again'));
  session.recipients.add({ number: '+447700900123', values: [] });
  const first = await session.commit(draft('again'));
  const state = await readState(redis, keys, lane, 'again');
  expect(first.events).toHaveLength(1);
  expect(await session.commit(draft('again'))).toEqual({
    wakeInMs: -1,
    events: [],
  });
  expect(await readState(redis, keys, lane, 'again')).toEqual(state);
});

test('A renewal of the lease that arrives after the commit leaves what it stored as it is', async () => {
  const session = await beginImport(redis, keys, draft('late'));
  session.recipients.add({ number: '+447700900123', values: [] });
  await session.commit(draft('late'));
  const stored = await redis.get(metaKey(keys, lane, 'late'));
  await expect(session.storeCosts(['0', 'late'])).rejects.toBeInstanceOf(ImportLostError);
  expect(await redis.get(metaKey(keys, lane, 'late'))).toBe(stored);
  const at = { lane, campaign: 'late', series: 'slices' } as const;
  expect(await readSlices(redis, keys, at, [0])).not.toContain(null);
});

test('A committed campaign survives the discarding of its import', async () => {
  const session = await beginImport(redis, keys, draft('kept'));
  session.recipients.add({ number: '+447700900123', values: [] });
  await session.commit(draft('kept'));
  await session.discard();
  expect(await readState(redis, keys, lane, 'kept')).toMatchObject({ state: 'running', total: 1 });
});
