import { expect, onTestFinished, test, vi } from 'vitest';
import { parseDuration } from '../../src/base/duration.js';
import { keyNames } from '../../src/base/redis/keys.js';
import { countCampaigns } from '../../src/reporting/fleet-snapshot.js';
import { laneFixture } from '../engine/lane/lane-fixture.js';
import { outboxFixture } from '../intake/outbox/outbox-fixture.js';
import { scene } from '../scene/scene.js';

const { lanesFile, open, prefix, redis, stored } = scene('fleet-snapshot', {
  settings: { MESSAGING_BASE_URL: 'http://127.0.0.1:9' },
});

function opened(name: string) {
  const own = `${prefix}-${name}`;
  const volley = open({ API_KEY: 'key', REDIS_PREFIX: own, HOURLY_QUOTA: '100' });
  return { volley, lane: stored('default', own), prefix: own };
}

test('Every stored campaign is counted once, however many there are', async () => {
  const { keys, campaign } = laneFixture(redis, prefix, 'many');
  // Enough that Redis returns the hash in several parts.
  const made = Array.from({ length: 1_300 }, (_, at) => {
    const isOver = at % 10 === 0;
    const n = isOver ? { deliveredToTerminal: 2, rejected: 1 } : { planned: 3 };
    return campaign(`c${at}`, 3, {
      state: isOver ? 'completed' : 'running',
      counts: n,
      requests: { send: 1, poll: 2 },
    });
  });
  await Promise.all(made);
  const counts = await countCampaigns(redis, keys, 'many');
  expect(counts.campaigns).toMatchObject({ completed: 130, running: 1_170, paused: 0, importing: 0 });
  expect(counts.counts).toMatchObject({ deliveredToTerminal: 260, rejected: 130, planned: 3_510 });
  expect(Object.values(counts.counts).reduce((sum, one) => sum + one)).toBe(3_900);
  expect(counts.requests).toEqual({ send: 1_300, poll: 2_600 });
});

test('An outbox is no campaign of the totals, and its messages count once they are sent', async () => {
  const own = await outboxFixture(redis, prefix);
  await own.putAllNow(['a', 'b']);
  await own.put('later', 60_000);
  await own.settle(await own.claim(), 'unknown');
  const seen: (string | undefined)[] = [];
  const { campaigns, counts, requests } = await countCampaigns(redis, own.keys, own.laneId, (_, { outbox }) =>
    seen.push(outbox),
  );
  expect(seen).toEqual(['dentist']);
  expect(Object.values(campaigns).every((count) => count === 0)).toBe(true);
  expect(counts).toMatchObject({ planned: 0, unknown: 2 });
  expect(requests.send).toBe(2);
});

test('The messages of all outboxes are counted for their lane, however many outboxes there are', async () => {
  const volley = open({
    LANES_FILE: lanesFile(['one', 'two']),
    REDIS_PREFIX: `${prefix}-outboxes`,
    SENDER_ADDRESS: 'ACME',
  });
  const sendAt = new Date(Date.now() + 86_400_000).toISOString();
  // More than are read at a time, with the same names on both lanes.
  const names = Array.from({ length: 130 }, (_, at) => `box-${String(at).padStart(3, '0')}`);
  await Promise.all(
    names.flatMap((name, at) =>
      (at % 2 === 0 ? ['one', 'two'] : ['one']).map(async (lane) => {
        await volley.outboxes.create({ name, lane, message: 'See you', zone: 'UTC' });
        await volley.outbox(name, { lanes: [lane] }).put({ id: 'a', to: '+447700900123', sendAt });
      }),
    ),
  );
  const { lanes } = await volley.fleetSnapshot();
  expect(lanes.map(({ status: { name }, outboxes }) => [name, outboxes])).toEqual([
    ['one', { waiting: 130, lapsed: 0, late: null }],
    ['two', { waiting: 65, lapsed: 0, late: null }],
  ]);
});

test('The snapshot of an empty fleet is all zeros', async () => {
  const { volley } = opened('empty');
  const snapshot = await volley.fleetSnapshot();
  expect(snapshot).toMatchObject({
    jobs: { send: { active: 0, waiting: 0, delayed: 0 }, poll: { active: 0, waiting: 0, delayed: 0 } },
    workers: { send: 0, 'follow-up': 0 },
    sinceSweep: null,
  });
  expect(snapshot.lanes).toMatchObject([{ status: { name: 'default' }, cause: null, pollOverdue: null }]);
});

test('The delay of polls is that of the request that is due first', async () => {
  const { volley, lane } = opened('late');
  const overdue = async () => (await volley.fleetSnapshot()).lanes[0]?.pollOverdue ?? null;
  await lane.setFirstPoll('c1:0', Date.now() + 60_000);
  expect(await overdue()).toBeNull();
  await lane.setNextPoll('c1:128', Date.now() - 5_000);
  const overdueMs = parseDuration((await overdue()) ?? '');
  expect(overdueMs).toBeGreaterThanOrEqual(5_000);
  expect(overdueMs).toBeLessThan(15_000);
});

test('The cause of a closed lane is one of a closed set', async () => {
  const { volley, lane } = opened('closed');
  const cause = async () => (await volley.fleetSnapshot()).lanes[0]?.cause;
  const close = (causes: Readonly<Record<string, object>>) =>
    lane.changeRecord({
      closed: JSON.stringify(
        Object.fromEntries(Object.entries(causes).map(([name, entry]) => [name, { since: 1, ...entry }])),
      ),
    });
  await volley.holdLane('default');
  expect(await cause()).toBe('operator');
  await volley.resumeLane('default');
  expect(await cause()).toBeNull();
  const soon = Date.now() + 60_000;
  await close({ throttled: { until: soon } });
  expect(await cause()).toBe('throttled');
  // The backoff is over, and one request probes the service.
  await close({ unreachable: { until: 1 } });
  expect(await cause()).toBe('unreachable');
  expect((await volley.fleetSnapshot()).lanes[0]?.status.state).toBe('probing');
  await close({ stopped: { why: 'the service answered 403' } });
  expect(await cause()).toBe('stopped');
  await close({ recovering: { until: soon } });
  expect(await cause()).toBe('recovery');
});

test('The snapshot includes the workers and the sweeps of other processes', async () => {
  const { volley, prefix: own } = opened('swept');
  const other = open({ API_KEY: 'key', REDIS_PREFIX: own });
  const working = other.work({ roles: ['follow-up'] });
  await working.ready;
  await expect
    .poll(async () => parseDuration((await volley.fleetSnapshot()).sinceSweep ?? ''))
    .toBeLessThan(5_000);
  expect((await volley.fleetSnapshot()).workers).toEqual({ send: 0, 'follow-up': 1, webhooks: 0 });
});

test('Reading campaigns takes at most a twentieth of the time, however often snapshots are taken', async () => {
  const { volley, prefix: own } = opened('often');
  const lane = laneFixture(redis, own, 'default');
  await Promise.all(Array.from({ length: 600 }, (_, at) => lane.campaign(`c${at}`, 1)));
  const running = async () => (await volley.fleetSnapshot()).lanes[0]?.campaigns.running;
  // A clock that passes a millisecond whenever it is read, so that it does not matter how busy the machine is.
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 1;
    return now;
  });
  onTestFinished(() => clock.mockRestore());
  expect(await running()).toBe(600);
  const tookMs = now;
  await redis.del(keyNames(own).lane('default', 'states'));
  // The last counts are reused for a while, but not forever.
  expect(await running()).toBe(600);
  now += 20 * tookMs;
  expect(await running()).toBe(0);
});
