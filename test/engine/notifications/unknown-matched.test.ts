import { expect, test, vi } from 'vitest';
import { acceptedKey } from '../../../src/engine/recipients/campaign-keys.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { listUnknown, resolveBatches } from '../../../src/engine/sending/unknown.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { SOON } from '../../base/soon.js';
import { receivingLane, report } from './receiving-lane.js';

const server = testRedis('unknown-matched');
const { redis } = server;

test('An unknown outcome is matched to the one request that fits it', async () => {
  const it = receivingLane(server);
  await it.unknown([0, 1], 'unknown');
  const inbox = it.open();
  inbox.offer([report('x', 1, 'DeliveredToNetwork'), { ...report('y', 0), sender: 'OTHER' }, report('z', 7)]);
  await vi.waitFor(() => expect(it.happened('request.matched')).toMatchObject([{ requestId: 'x' }]), SOON);
  const unknown = await listUnknown(it.lane);
  expect(unknown.map(({ first, matchedRequestId }) => [first, matchedRequestId]).sort()).toEqual([
    [0, null],
    [1, 'x'],
  ]);
});

test('A match makes an idle lane due, so that the poll that decides it is made', async () => {
  const it = receivingLane(server);
  await it.unknown([0], 'unknown');
  const { id, keys } = it.lane;
  await redis.zrem(keys.due, id);
  it.open().offer([report('x', 0)]);
  await vi.waitFor(() => expect(it.happened('request.matched')).toHaveLength(1), SOON);
  expect(await redis.zscore(keys.due, id)).toBe('0');
});

test('Of two unknown outcomes with the same number, our correlator selects the right one', async () => {
  const it = receivingLane(server);
  const ids: string[] = [];
  for (const text of ['one', 'two']) ids.push(await it.unknown([0], text));
  const inbox = it.open();
  inbox.offer([{ ...report('x', 0, 'DeliveredToNetwork'), correlator: `${ids[1]}-0-1` }]);
  await vi.waitFor(
    () => expect(it.happened('request.matched')).toMatchObject([{ campaign: ids[1], requestId: 'x' }]),
    SOON,
  );
});

test('A report that names its batch is settled without an index of request ids', async () => {
  const it = receivingLane(server, { left: 10_000 }, { byReference: true });
  const id = await it.campaign([0], 'by reference');
  const claim = await it.claimOne();
  await it.accept(claim, 'r0');
  expect(await it.store.locate(['r0'])).toEqual([null]);
  it.open().offer([{ ...report('r0', 0), correlator: `${id}-0-1` }]);
  await expect.poll(() => it.states(id)).toMatchObject({ deliveredToTerminal: 1 });
});

test('A report that names its batch waits until the response of its request has arrived', async () => {
  const it = receivingLane(server, { left: 10_000 }, { byReference: true });
  const id = await it.campaign([0], 'early by reference');
  const claim = await it.claimOne();
  it.open().offer([{ ...report('r0', 0), correlator: `${id}-0-1` }]);
  await expect.poll(() => it.happened('notifications.settled').at(-1)).toMatchObject({ waiting: 1 });
  await it.accept(claim, 'r0');
  await vi.waitFor(async () => expect(await it.states(id)).toMatchObject({ deliveredToTerminal: 1 }), SOON);
});

test('A report that names a batch but another request than its own changes nothing', async () => {
  const it = receivingLane(server, { left: 10_000 }, { byReference: true });
  const id = await it.campaign([0], 'another request');
  const claim = await it.claimOne();
  await it.accept(claim, 'r0');
  it.open().offer([{ ...report('other', 0), correlator: `${id}-0-1` }]);
  await expect.poll(() => it.happened('notifications.settled').at(-1)).toMatchObject({ waiting: 1 });
  await it.looked();
  expect(await it.states(id)).toMatchObject({ deliveredToNetwork: 1 });
});

test('An unknown outcome is matched to the request whose reports name its batch', async () => {
  const it = receivingLane(server, { left: 10_000 }, { byReference: true });
  const id = await it.unknown([0], 'unknown by reference');
  it.open().offer([{ ...report('x', 0), correlator: `${id}-0-1` }]);
  await vi.waitFor(
    () => expect(it.happened('request.matched')).toMatchObject([{ campaign: id, requestId: 'x' }]),
    SOON,
  );
});

test('A late report of a settled request is not matched to an unknown outcome', async () => {
  const it = receivingLane(server);
  const first = await it.campaign([0], 'first');
  const claim = await it.claimOne();
  await it.accept(claim, 'r0');
  const before = it.open();
  before.offer([report('r0', 0)]);
  await expect.poll(() => it.states(first)).toMatchObject({ deliveredToTerminal: 1 });

  await it.unknown([0], 'second');
  // Another process, which does not remember what the first one settled.
  const inbox = it.open();
  inbox.offer([report('r0', 0, 'DeliveredToNetwork')]);
  await expect.poll(() => it.happened('notifications.settled').at(-1)).toMatchObject({ waiting: 1 });
  await it.looked();
  expect(it.happened('request.matched')).toEqual([]);
  expect(await it.matches()).toEqual([null]);
});

test('A late report of a campaign that was deleted is not matched to an unknown outcome', async () => {
  const it = receivingLane(server);
  const first = await it.campaign([0], 'first');
  await it.accept(await it.claimOne(), 'r0');
  const before = it.open();
  before.offer([report('r0', 0)]);
  await expect.poll(() => it.states(first)).toMatchObject({ deliveredToTerminal: 1 });
  expect(await removeCampaign(redis, it.keys, 'default', first, 60_000)).toBe(1);

  await it.unknown([0], 'second');
  const inbox = it.open();
  inbox.offer([report('r0', 0, 'DeliveredToNetwork')]);
  await expect.poll(() => it.happened('notifications.settled').at(-1)).toMatchObject({ waiting: 1 });
  await it.looked();
  expect(it.happened('request.matched')).toEqual([]);
  // It is kept no longer than the campaign would have been.
  expect(await redis.pttl(acceptedKey(it.keys, 'default', first))).toBeGreaterThan(50_000);
  await removeCampaign(redis, it.keys, 'default', first);
  expect(await redis.exists(acceptedKey(it.keys, 'default', first))).toBe(0);
});

test('A report of a request that was accepted while notifications were off is not matched to an unknown outcome', async () => {
  const it = receivingLane(server);
  await it.campaign([0], 'before');
  const claim = await it.claimOne();
  const { notify: _, ...before } = it.lane.rules;
  const unheard = { redis, keys: it.keys, id: 'default', rules: before };
  await settleSends(unheard, [{ claim, result: 'accepted', letters: 'N', requestId: 'r0' }], 0);

  await it.unknown([0], 'after');
  it.open().offer([report('r0', 0)]);
  await expect.poll(() => it.happened('notifications.settled').at(-1)).toMatchObject({ waiting: 1 });
  await it.looked();
  expect(it.happened('request.matched')).toEqual([]);
});

test('A request whose send is still in flight is not matched to an unknown outcome with the same number', async () => {
  const it = receivingLane(server);
  await it.unknown([0], 'unknown one');
  const second = await it.campaign([0], 'in flight');
  const inFlight = await it.claimOne();
  const inbox = it.open();
  inbox.offer([report('r0', 0)]);
  await it.looked();
  expect(it.happened('request.matched')).toEqual([]);
  await it.accept(inFlight, 'r0');
  await vi.waitFor(
    async () => expect(await it.states(second)).toMatchObject({ deliveredToTerminal: 1 }),
    SOON,
  );
  expect(await it.matches()).toEqual([null]);
});

test('A request that is matched to one batch is not matched to another one with the same number', async () => {
  const it = receivingLane(server);
  await it.unknown([0], 'one');
  const inbox = it.open();
  inbox.offer([report('x', 0)]);
  await vi.waitFor(() => expect(it.happened('request.matched')).toHaveLength(1), SOON);
  // Long before the first match can be polled.
  await it.unknown([0], 'two');
  await it.looked();
  expect(it.happened('request.matched')).toHaveLength(1);
  expect((await it.matches()).sort()).toEqual([null, 'x'].sort());
});

test('A report is not matched to a batch that was claimed after it came', async () => {
  const it = receivingLane(server);
  const inbox = it.open();
  inbox.offer([report('x', 0)]);
  await expect.poll(() => it.happened('notifications.settled')).toHaveLength(1);
  await it.unknown([0], 'later');
  await it.looked();
  expect(it.happened('request.matched')).toEqual([]);
});

test.each(['abandon', 'accepted', 'resend'] as const)(
  'A late report of a batch that was resolved with %s is not matched to another unknown outcome',
  async (word) => {
    const it = receivingLane(server);
    await it.unknown([0], 'first');
    await resolveBatches(it.lane, word, 'by hand', await listUnknown(it.lane));
    if (word === 'resend') await it.accept(await it.claimOne(), 'r0');
    await it.unknown([0], 'second');
    const inbox = it.open();
    inbox.offer([report('x', 0)]);
    await it.looked();
    expect(it.happened('request.matched')).toEqual([]);
  },
);

test('A report of a request that was accepted without an id is not matched to another unknown outcome', async () => {
  const it = receivingLane(server);
  await it.campaign([0], 'without an id');
  const unnamed = await it.claim(1);
  await settleSends(
    it.lane,
    unnamed.map((claim) => ({ claim, result: 'accepted', letters: 'C', requestId: '' }) as const),
    0,
  );
  await it.unknown([0], 'unknown');
  const inbox = it.open();
  inbox.offer([report('x', 0)]);
  await it.looked();
  expect(it.happened('request.matched')).toEqual([]);
});

test('A batch that was resent and is unknown again is matched by a report of either request', async () => {
  const it = receivingLane(server);
  await it.campaign([0], 'twice');
  await it.fail();
  await resolveBatches(it.lane, 'resend', 'by hand', await listUnknown(it.lane));
  await it.fail();
  const inbox = it.open();
  inbox.offer([report('x', 0)]);
  await vi.waitFor(() => expect(it.happened('request.matched')).toMatchObject([{ requestId: 'x' }]), SOON);
});

test('No match is made while a send is in flight, however old it is', async () => {
  const it = receivingLane(server, { left: 10_000 });
  await it.unknown([0], 'unknown one');
  await it.campaign([0], 'left in flight without a worker');
  await it.claim(1);
  // By these rules it is long overdue.
  const inbox = it.open({ ...it.lane, rules: { ...it.lane.rules, timeout: -10_000 } });
  inbox.offer([report('x', 0)]);
  await it.looked();
  expect(it.happened('request.matched')).toEqual([]);
});
