import { expect, test } from 'vitest';
import { z } from 'zod';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { openLane } from '../../../src/engine/lane/lane.js';
import {
  replayClaims,
  reportToBarrier,
  reportToBarriers,
} from '../../../src/engine/recovery/replay-claims.js';
import type { ScriptEvent } from '../../../src/engine/scripts/script-events.js';
import { recentClaims } from '../../../src/engine/sending/recent-claims.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { listUnknown, resolveBatches } from '../../../src/engine/sending/unknown.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture } from '../lane/lane-fixture.js';
import { losableServer } from '../losable-server.js';

const { redis, prefix } = testRedis('reassert');

/** Commands of the test's connection whose reply has not come. */
function commandsInFlight(): number {
  const queue: unknown = Reflect.get(redis, 'commandQueue');
  return z.object({ length: z.number() }).parse(queue).length;
}

/** A lane on a Redis that can lose all writes since `backUp`. */
async function laneThatLosesData(name: string, recipients: number, most = 1) {
  const keys = keyNames(`${prefix}-${name}`);
  const fixture = laneFixture(redis, `${prefix}-${name}`, 'default', {});
  const config = loadLocalConfig({
    HOURLY_QUOTA: '1000',
    REDIS_URL: 'redis://127.0.0.1',
    MAX_RECIPIENTS_PER_REQUEST: String(most),
  });
  const [settings] = config.lanes;
  if (settings === undefined) throw new Error('no lane');
  const lane = openLane(redis, keys, config, settings, createEvents({ level: 'silent' }), () => 0.5);
  const self = { process: 'w', mayLose: () => ({ ms: 0, withReplicaMs: 0 }) };
  const memory = recentClaims(() => performance.now(), self);
  await fixture.campaign('c', recipients);
  await reportToBarrier(lane, 'join', memory.self);
  const server = losableServer(redis, `${prefix}-${name}`);
  let call = 0;
  return {
    fixture,
    lane,
    memory,
    /** The recent claims of another process that serves the lane. */
    another: () => recentClaims(() => performance.now()),
    /** Claims batches of at most `size` recipients. */
    async claim(want: number, most = 1, by = memory): Promise<readonly SendClaim[]> {
      call += 1;
      const sized = { ...lane, rules: { ...lane.rules, maxRecipients: most } };
      const reply = await sendClaims(sized).take({ turn: `t${call}`, call: 1, want, seen: by.self.seen });
      by.claimed(reply.claims);
      return reply.claims;
    },
    async accept(claims: readonly SendClaim[], by = memory): Promise<void> {
      const entries = claims.map(
        (claim) => ({ claim, result: 'accepted', letters: 'N', requestId: 'r' }) as const,
      );
      for (const entry of entries) by.settled(entry);
      await settleSends(lane, entries, 0.5);
    },
    backUp: server.backUp,
    loseData: server.lose,
    state: () => fixture.state('c'),
  };
}

test('Replayed claims return to Redis with their results, and no recipient is claimed twice', async () => {
  const it = await laneThatLosesData('restored', 10);
  await it.backUp();
  const first = await it.claim(3);
  await it.accept(first);
  const inFlight = await it.claim(2);
  await it.loseData();
  expect((await it.state()).counts).toMatchObject({ planned: 10 });
  expect(await replayClaims(it.lane, it.memory)).toBe(5);
  expect((await it.state()).counts).toMatchObject({ planned: 5, sending: 2, deliveredToNetwork: 3 });
  expect((await it.claim(10)).map((claim) => claim.first)).toEqual([5, 6, 7, 8, 9]);
  await it.accept(inFlight);
  expect((await it.state()).counts).toMatchObject({ sending: 5, deliveredToNetwork: 5 });
});

test('Batches between the replayed ones get placeholder claims until another worker replays them', async () => {
  const it = await laneThatLosesData('gap', 10);
  await it.backUp();
  const other = recentClaims(() => 0);
  const reply = await sendClaims(it.lane).take({ turn: 't', call: 1, want: 4, seen: 0 });
  other.claimed(reply.claims);
  const mine = await sendClaims(it.lane).take({ turn: 'u', call: 1, want: 2, seen: 0 });
  it.memory.claimed(mine.claims);
  await it.loseData();
  expect(await replayClaims(it.lane, it.memory)).toBe(2);
  // Two replayed claims, and one placeholder claim for the four batches that only the other process knows.
  expect((await it.state()).counts).toMatchObject({ planned: 4, sending: 6 });
  expect(await replayClaims(it.lane, other)).toBe(4);
  expect((await it.state()).counts).toMatchObject({ planned: 4, sending: 6 });
  const claims = Object.values(await it.fixture.stored.claims());
  expect(claims.filter(({ placeholder }) => placeholder !== undefined)).toEqual([]);
});

test('Claims that an attempt restored before its connection broke count as restored, each once', async () => {
  const it = await laneThatLosesData('broken', 10);
  await it.backUp();
  await it.accept(await it.claim(3));
  await it.claim(2);
  await it.loseData();
  const lane = {
    ...it.lane,
    async retry<Answer>(run: () => Promise<Answer>): Promise<Answer> {
      // The first time, the reply to the last command does not come.
      await run();
      return run();
    },
  };
  expect(await replayClaims(lane, it.memory)).toBe(5);
  expect((await it.state()).counts).toMatchObject({ planned: 5, sending: 2, deliveredToNetwork: 3 });
});

test('One claim that Redis cannot replay does not keep the others from it, and its process counts as lost', async () => {
  const recipients = 300;
  const it = await laneThatLosesData('damaged', recipients);
  const lost = Array.from({ length: recipients }, (_, first) => ({
    turn: 't',
    campaign: 'c',
    first,
    count: 1,
  }));
  it.memory.claimed(lost.map((claim) => ({ ...claim, number: claim.first + 1 })));
  await redis.hset(it.lane.keys.lane(it.lane.id, 'claims'), '1', 'damaged');
  const emitted: ScriptEvent[] = [];
  const lane = { ...it.lane, emit: (events: readonly ScriptEvent[]) => void emitted.push(...events) };
  await expect(replayClaims(lane, it.memory)).rejects.toThrow(/invalid token/);
  expect((await it.state()).counts).toMatchObject({ planned: 0, sending: recipients });
  expect(await redis.hexists(it.lane.keys.lane(it.lane.id, 'claims'), String(recipients))).toBe(1);
  expect(emitted).toContainEqual({ type: 'replayFailed', reason: expect.stringContaining('invalid token') });
  expect(await it.fixture.stored.record()).toMatchObject({ awaited: expect.stringContaining('w') });
});

test('A replay changes nothing when Redis has lost nothing', async () => {
  const it = await laneThatLosesData('nothing', 10);
  await it.accept(await it.claim(4));
  // `changes` counts each time that a script writes the state, also one that is the same.
  const { changes: _before, ...before } = await it.state();
  expect(await replayClaims(it.lane, it.memory)).toBe(0);
  const { changes: _after, ...after } = await it.state();
  expect(after).toEqual(before);
});

test('A replay that began before Redis lost data confirms nothing of that loss: it is repeated', async () => {
  const it = await laneThatLosesData('covers', 10);
  await it.backUp();
  expect(await it.claim(3)).toHaveLength(3);
  let losses = 0;
  const lane = {
    ...it.lane,
    /** Redis fails over as soon as it knows all replayed claims. */
    async retry<Answer>(run: () => Promise<Answer>): Promise<Answer> {
      const answer = await it.lane.retry(run);
      // A report returns the last loss, and a replay nothing.
      if (answer === undefined && losses === 0) {
        losses += 1;
        await it.loseData();
        await it.fixture.stored.changeServer();
      }
      return answer;
    },
  };
  await replayClaims(lane, it.memory);
  expect((await it.claim(10, 1, it.another())).map(({ first }) => first)).toEqual([3, 4, 5, 6, 7, 8, 9]);
});

test('A lane stops claiming for a grace period when Redis knows fewer claim numbers than a worker', async () => {
  const it = await laneThatLosesData('grace', 10);
  await it.backUp();
  await it.claim(3);
  await it.loseData();
  const reply = await sendClaims(it.lane).take({ turn: 'u', call: 1, want: 1, seen: it.memory.self.seen });
  expect(reply.why).toBe('recovering');
  expect(reply.events).toMatchObject([{ type: 'dataLoss', sign: 'sequence' }]);
});

test.each([
  ['of the halves first', [1, 0]],
  ['of the whole first', [0, 1]],
])(
  'A refused batch that was sent in halves is not released by a replay, in the order %s',
  async (_, order) => {
    const it = await laneThatLosesData(`halves-${order.join('')}`, 2, 2);
    const [whole] = await it.claim(1, 2);
    await it.backUp();
    if (whole === undefined) throw new Error('nothing was claimed');
    const other = it.another();
    const refused = { claim: whole, result: 'refused', reason: 'x' } as const;
    it.memory.settled(refused);
    await settleSends(it.lane, [refused], 0.5);
    const halves = await it.claim(2, 1, other);
    expect(halves.map(({ first, count }) => [first, count])).toEqual([
      [0, 1],
      [1, 1],
    ]);
    await it.accept(halves.slice(1), other);
    await it.loseData();
    for (const at of order) await replayClaims(it.lane, at === 0 ? it.memory : other);
    expect((await it.state()).counts).toMatchObject({ deliveredToNetwork: 1, sending: 1, planned: 0 });
  },
);

test('The later of two claims of one batch decides, whichever is replayed first', async () => {
  const it = await laneThatLosesData('reclaimed', 1);
  const [early] = await it.claim(1);
  await it.backUp();
  if (early === undefined) throw new Error('nothing was claimed');
  const other = it.another();
  const released = { claim: early, result: 'unauthorised', reason: 'x' } as const;
  it.memory.settled(released);
  await settleSends(it.lane, [released], 0.5);
  await it.accept(await it.claim(1, 1, other), other);
  await it.loseData();
  await replayClaims(it.lane, other);
  await replayClaims(it.lane, it.memory);
  expect((await it.state()).counts).toMatchObject({ deliveredToNetwork: 1, planned: 0, sending: 0 });
});

test('A replayed claim still records that an earlier request may have been accepted', async () => {
  const it = await laneThatLosesData('doubt', 1);
  const [early] = await it.claim(1);
  if (early === undefined) throw new Error('nothing was claimed');
  await settleSends(it.lane, [{ claim: early, result: 'unknown', reason: 'x' }], 0.5);
  await resolveBatches(it.lane, 'resend', 'x', await listUnknown(it.lane));
  await it.backUp();
  const [again] = await it.claim(1, 1, it.another());
  if (again === undefined) throw new Error('nothing was claimed again');
  const other = it.another();
  other.claimed([again]);
  await it.loseData();
  await replayClaims(it.lane, other);
  await settleSends(it.lane, [{ claim: again, result: 'notSent', reason: 'x' }], 0.5);
  await it.lane.commands.campaign('cancel', 'c');
  expect((await it.state()).counts).toMatchObject({ planned: 0, sending: 1 });
});

test.each([
  ['release', { result: 'released' }],
  ['acceptance', { result: 'accepted', letters: 'N', requestId: 'r' }],
  ['timeout', { result: 'unknown', letters: 'U', reason: 'x' }],
] as const)(
  'After a rollback, a late %s changes nothing if another turn has claimed the same batch under the same number',
  async (_, late) => {
    const it = await laneThatLosesData(`same-number-${late.result}`, 3);
    await it.backUp();
    const [lost] = await it.claim(1);
    await it.loseData();
    const [claimed] = await it.claim(1, 1, it.another());
    if (lost === undefined || claimed === undefined) throw new Error('nothing was claimed');
    expect(claimed).toEqual({ ...lost, turn: claimed.turn, firstAt: claimed.firstAt });
    const { settled } = await settleSends(it.lane, [{ claim: lost, ...late }], 0.5);
    expect(settled).toBe(0);
    expect((await it.state()).counts).toMatchObject({ planned: 2, sending: 1 });
    expect((await it.claim(1, 1, it.another())).map(({ first }) => first)).toEqual([1]);
    // Nor does it settle the claim after its outcome has become unknown.
    await settleSends(it.lane, [{ claim: claimed, result: 'unknown', letters: 'U', reason: 'x' }], 0.5);
    await settleSends(it.lane, [{ claim: lost, ...late }], 0.5);
    expect((await it.state()).counts).toMatchObject({ unknown: 1 });
  },
);

test('After a rollback, a late poll settles no other poll with its number', async () => {
  const it = await laneThatLosesData('same-poll', 1);
  await it.accept(await it.claim(1));
  const { poll } = it.fixture.claims;
  const later = Date.now() + 60_000;
  await it.backUp();
  const [lost] = (await poll({ turn: 'p', call: 1, want: 1, now: later })).claims;
  await it.loseData();
  const [claimed] = (await poll({ turn: 'q', call: 1, want: 1, now: later })).claims;
  if (lost === undefined || claimed === undefined) throw new Error('nothing was claimed');
  expect(claimed).toEqual({ ...lost, turn: 'q' });
  const { settled } = await it.fixture.settlements.poll([{ claim: lost, result: 'released' }], 0.5, later);
  expect(settled).toBe(0);
  const own = await it.fixture.settlements.poll([{ claim: claimed, result: 'released' }], 0.5, later);
  expect(own.settled).toBe(1);
});

test('A replayed claim whose number belongs to another claim gets a new number, and becomes unknown', async () => {
  const it = await laneThatLosesData('taken-number', 3);
  await it.backUp();
  const [, second] = await it.claim(2);
  await it.loseData();
  const [first, other] = await it.claim(2, 1, it.another());
  if (first === undefined || second === undefined || other === undefined)
    throw new Error('nothing was claimed');
  // The other turn has settled its second batch, so that only the number of the first one is taken.
  const lost = { ...second, number: first.number, first: 2 };
  const memory = it.another();
  memory.claimed([lost]);
  expect(await replayClaims(it.lane, memory)).toBe(1);
  expect((await it.state()).counts).toMatchObject({ planned: 0, sending: 3 });
  expect((await settleSends(it.lane, [{ claim: first, result: 'released' }], 0.5)).settled).toBe(1);
  expect((await settleSends(it.lane, [{ claim: lost, result: 'released' }], 0.5)).settled).toBe(0);
  expect((await it.state()).counts).toMatchObject({ planned: 1, sending: 2 });
});

test('A process that has made two claims of one number remembers both', async () => {
  const it = await laneThatLosesData('both-remembered', 3);
  const claim = { number: 1, turn: 't', campaign: 'c', first: 0, count: 1 };
  it.memory.claimed([claim, { ...claim, turn: 'u', first: 1 }]);
  it.memory.settled({ claim, result: 'released' });
  expect(it.memory.all().map(({ settlement }) => settlement?.result)).toEqual(['released', undefined]);
});

test('A process that joins 200 lanes has at most 50 reports in flight', async () => {
  const [{ lane }, recent] = [await laneThatLosesData('barriers', 1), recentClaims(() => performance.now())];
  const inFlight: number[] = [];
  const served = Array.from({ length: 200 }, () => ({
    recent,
    lane: { ...lane, emit: () => void inFlight.push(commandsInFlight()) },
  }));
  await reportToBarriers(served, 'join');
  expect(inFlight).toHaveLength(200);
  expect(Math.max(...inFlight)).toBeLessThanOrEqual(50);
});
