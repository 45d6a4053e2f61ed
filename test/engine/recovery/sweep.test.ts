import { expect, test, vi } from 'vitest';
import { createEvents, type VolleyEvent } from '../../../src/base/events/events.js';
import { connect } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { createWakers } from '../../../src/engine/jobs/queues.js';
import { openLane } from '../../../src/engine/lane/lane.js';
import { DATA_FORMAT, type WorkerProcess } from '../../../src/engine/recovery/heartbeats.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { startSweep, sweepLane } from '../../../src/engine/recovery/sweep.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { listUnknown, resolveBatches } from '../../../src/engine/sending/unknown.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { keysOf, testRedis } from '../../base/redis/test-redis.js';
import { SOON } from '../../base/soon.js';
import { importFixture, mobile } from '../../intake/import/import-fixture.js';
import { storedLane } from '../../scene/stored.js';
import { laneFixture } from '../lane/lane-fixture.js';
import { usageSums } from '../lane/usage-sums.js';

const { prefix, redis, url } = testRedis('sweep');
const { deps, keys, lanes, lane: name } = importFixture(redis, prefix);
const CAMPAIGNS = 60;

test('One sweep removes the data of many campaigns once their retention is over', async () => {
  const lane = lanes.get(name);
  if (lane === undefined) throw new Error('no lane');
  for (let at = 0; at < CAMPAIGNS; at++) {
    const made = await importCampaign(deps, { recipients: [{ to: mobile(at) }], message: 'Hello' });
    if (made.outcome !== 'created') throw new Error(made.outcome);
    await lane.commands.campaign('cancel', made.id);
  }
  const blocking = connect(url, 'blocking');
  const wakers = createWakers(blocking, keys);
  try {
    await sweepLane(lane, {
      redis,
      keys,
      lanes: () => [lane],
      wakers,
      events: deps.events,
      retentionMs: -1,
      alive: async () => [],
      discardImport: async () => {},
      removeCampaign: (of, id) => removeCampaign(redis, keys, of, id),
    });
  } finally {
    await wakers.close();
    blocking.disconnect();
  }
  expect(await storedLane(lane).campaigns()).toEqual([]);
  expect((await keysOf(redis, prefix)).filter((key) => key.includes(':campaign:'))).toEqual([]);
});

test('A batch that policy would send again is abandoned once it is suppressed, or it would return each time', async () => {
  const [settings] = deps.config.lanes;
  if (settings === undefined) throw new Error('no lane');
  const { campaign, state } = laneFixture(redis, `${prefix}-policy`, name);
  const policy = { ...settings, unknownOutcome: { action: 'resend', afterMs: 60_000 } } as const;
  const lane = openLane(redis, keyNames(`${prefix}-policy`), deps.config, policy, deps.events, () => 0.5);
  await campaign('c', 1);
  const claim = async (call: number, now: number) => {
    const { claims } = await sendClaims(lane).take({ turn: 't', call, want: 1, seen: 0, now });
    expect(claims).toHaveLength(1);
    return claims;
  };
  const began = Date.now() - 3_600_000;
  const first = await claim(1, began);
  await settleSends(
    lane,
    first.map((it) => ({ claim: it, result: 'unknown', reason: 'timed out' }) as const),
    0,
    began,
  );
  await resolveBatches(lane, 'resend', 'x', await listUnknown(lane), began);
  const again = await claim(2, began);
  await settleSends(
    lane,
    again.map((it) => ({ claim: it, result: 'suppressed' }) as const),
    0,
    began,
  );
  const wakers = { wake: async () => {}, close: async () => {} };
  await sweepLane(lane, {
    redis,
    keys,
    lanes: () => [lane],
    wakers,
    events: deps.events,
    retentionMs: 86_400_000,
    alive: async () => [],
    discardImport: async () => {},
    removeCampaign: async () => {},
  });
  expect(await state('c')).toMatchObject({
    state: 'completed',
    counts: { abandoned: 1, unknown: 0, planned: 0 },
  });
});

/** A worker process with this quota window. */
const workerWith = (id: string, windowMs = 3_600_000): WorkerProcess => {
  const settings = { QUOTA_WINDOW_MS: String(windowMs) };
  return { id, roles: ['send'], since: '', host: id, pid: 7, settings, lacks: [], format: DATA_FORMAT };
};

/** A sweep of one lane, in a Redis of its own prefix. */
function sweepOf(test: string, retentionMs = 86_400_000) {
  const [settings] = deps.config.lanes;
  if (settings === undefined) throw new Error('no lane');
  const own = keyNames(`${prefix}-${test}`);
  const lane = openLane(redis, own, deps.config, settings, deps.events, () => 0.5);
  const options = {
    redis,
    keys: own,
    lanes: () => [lane],
    wakers: { wake: async () => {}, close: async () => {} },
    events: deps.events,
    retentionMs,
    alive: async () => [workerWith('one')],
    discardImport: async () => {},
    removeCampaign: async () => {},
  };
  return { ...laneFixture(redis, `${prefix}-${test}`, name), lane, options };
}

test('A batch whose process has died is charged for once it is known to be accepted', async () => {
  const { lane, options, campaign, claimOne } = sweepOf('charge');
  await campaign('c', 1);
  const { first, count } = await claimOne(Date.now() - 3_600_000);
  await sweepLane(lane, {
    ...options,
    chargeOf: async (_, batch) => {
      expect(batch).toMatchObject({ campaign: 'c', first, count });
      return [2, 84_000];
    },
  });
  await resolveBatches(lane, 'accepted', 'x', await listUnknown(lane));
  // Messages, segments, micros, and one that is unconfirmed.
  expect(await usageSums(redis, `${prefix}-charge`, name)).toEqual([1, 2, 84_000, 0, 0, 1, 0, 0, 0, 0, 0]);
});

test('A lane with nothing to do is due for no sweep', async () => {
  const { lane, options } = sweepOf('idle');
  expect(await sweepLane(lane, options)).toBe(Number.POSITIVE_INFINITY);
});

test('A lane with something to send or in flight is due within seconds', async () => {
  const { lane, options, campaign } = sweepOf('busy');
  await campaign('c', 1);
  expect((await sweepLane(lane, options)) - Date.now()).toBeLessThan(5_000);
  const { claims } = await sendClaims(lane).take({ turn: 't', call: 1, want: 1, seen: 0 });
  expect(claims).toHaveLength(1);
  expect((await sweepLane(lane, options)) - Date.now()).toBeLessThan(5_000);
});

test('A lane whose campaign has ended is due when the retention of the campaign is over', async () => {
  const { lane, options, campaign } = sweepOf('ended', 60_000);
  await campaign('c', 1);
  await lane.commands.campaign('cancel', 'c');
  const inMs = (await sweepLane(lane, options)) - Date.now();
  expect(inMs).toBeGreaterThan(50_000);
  expect(inMs).toBeLessThanOrEqual(60_000);
});

test('A process sweeps its lanes at its start, and then leaves an idle one alone for minutes', async () => {
  const { options } = sweepOf('start');
  const sweep = startSweep(options);
  try {
    const dueInMs = async () => Number(await redis.zscore(options.keys.due, name)) - Date.now();
    await vi.waitFor(async () => expect(await dueInMs()).toBeGreaterThan(400_000), SOON);
  } finally {
    await sweep.stop();
  }
});

test('A process sweeps all of its lanes again when another worker has died', async () => {
  const { options } = sweepOf('death');
  let alive = [workerWith('one'), workerWith('two')];
  const sweep = startSweep({ ...options, alive: async () => alive });
  const dueAt = async () => Number(await redis.zscore(options.keys.due, name));
  try {
    await vi.waitFor(async () => expect(await dueAt()).toBeGreaterThan(Date.now() + 400_000), SOON);
    const before = await dueAt();
    alive = [workerWith('one')];
    await vi.waitFor(async () => expect(await dueAt()).toBeGreaterThan(before), SOON);
  } finally {
    await sweep.stop();
  }
});

test('A sweep reports once which processes have which quota window, and keeps the longest while it is in use', async () => {
  const { lane, options } = sweepOf('quota-windows');
  const events = createEvents({ level: 'silent' });
  const reported: VolleyEvent[] = [];
  events.onAny((event) => void reported.push(event));
  let alive = [workerWith('one', 30_000), workerWith('two', 60_000)];
  const sweep = startSweep({ ...options, events, alive: async () => alive });
  const { windowMs } = storedLane(lane);
  try {
    await vi.waitFor(async () => expect(await windowMs()).toBe(60_000), SOON);
    alive = [workerWith('one', 30_000)];
    await vi.waitFor(async () => expect(await windowMs()).toBe(30_000), SOON);
  } finally {
    await sweep.stop();
  }
  expect(reported).toEqual([
    { type: 'workers.windowsDiffer', processes: 'one 7 (30000 ms), two 7 (60000 ms)', used: '1m' },
  ]);
});
