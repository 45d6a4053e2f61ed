import { expect, onTestFinished, test, vi } from 'vitest';
import { monotonicClock, systemAlarm } from '../../../src/base/clock.js';
import { readMeta } from '../../../src/engine/lane/campaign-meta.js';
import { readState } from '../../../src/engine/lane/campaigns.js';
import type { ScriptRules } from '../../../src/engine/lane/rules.js';
import { recentlySettled } from '../../../src/engine/notifications/batch-lookup.js';
import { createInbox, type Inbox } from '../../../src/engine/notifications/inbox.js';
import { matchStore } from '../../../src/engine/notifications/match-store.js';
import {
  type NotificationStore,
  notificationStore,
} from '../../../src/engine/notifications/notification-store.js';
import { ordinalNumbers } from '../../../src/engine/recipients/slices.js';
import { sendClaims } from '../../../src/engine/sending/claims.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { listUnknown, resolveBatches } from '../../../src/engine/sending/unknown.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import type { DeliveryReport } from '../../../src/service/client/notification.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { importFixture, mobile } from '../../intake/import/import-fixture.js';

const { redis, prefix } = testRedis('inbox');
let fixtures = 0;

/** A lane with notifications, and a way to open inboxes for it. */
function receiving(capacity = { left: 10_000 }, rules: Partial<ScriptRules> = {}) {
  fixtures += 1;
  const fixture = importFixture(redis, `${prefix}-${fixtures}`, {
    CALLBACK_URL: 'https://volley.example/in',
    CALLBACK_SECURITY_TOKEN: 'a-token-of-some-length',
    HOURLY_QUOTA: '10000',
  });
  const { deps, keys, lanes, emitted } = fixture;
  const opened = lanes.get('default');
  if (opened === undefined) throw new Error('no lane');
  const lane = { ...opened, rules: { ...opened.rules, ...rules } };
  let looks = 0;
  const store = notificationStore(lane);
  const matches = matchStore(lane);
  const open = (as = lane, change: Partial<NotificationStore> = {}): Inbox => {
    const waiting: NotificationStore['waiting'] = (earlyMs) => {
      looks += 1;
      return store.waiting(earlyMs);
    };
    const inbox = createInbox(as, {
      store: { ...store, waiting, ...change },
      matches,
      events: deps.events,
      numbers: ordinalNumbers(redis, keys),
      senderOf: async (of, campaign) => (await readMeta(redis, keys, of, campaign))?.sender ?? null,
      alarm: systemAlarm,
      monotonic: monotonicClock,
      capacity,
      recentlySettled: recentlySettled(1_000),
      lookMs: 50,
    });
    inbox.start();
    onTestFinished(() => inbox.stop());
    return inbox;
  };
  let turns = 0;
  return {
    ...fixture,
    lane,
    store,
    open,
    /** Resolves after at least two complete looks at the waiting reports. */
    async looked(): Promise<void> {
      const from = looks;
      await vi.waitFor(() => expect(looks).toBeGreaterThanOrEqual(from + 3), 15_000);
    },
    async campaign(numbers: readonly number[], text: string): Promise<string> {
      const recipients = numbers.map((number) => ({ to: mobile(number) }));
      const outcome = await importCampaign(deps, { recipients, message: text, again: true });
      if (outcome.kind !== 'created') throw new Error(`the import was ${outcome.kind}`);
      return outcome.id;
    },
    async claim(want: number): Promise<readonly SendClaim[]> {
      turns += 1;
      return (await sendClaims(lane).take({ turn: `t${turns}`, call: 1, want, seen: 0 })).claims;
    },
    async accept(claim: SendClaim, requestId: string): Promise<void> {
      const entry = { claim, result: 'accepted', letters: 'N'.repeat(claim.count), requestId } as const;
      await settleSends(lane, [entry], 0);
    },
    async states(id: string): Promise<Record<string, number | undefined>> {
      return (await readState(redis, keys, 'default', id))?.counts ?? {};
    },
    happened: (type: string) => emitted.filter((event) => event.type === type),
  };
}

const report = (
  requestId: string,
  number: number,
  status: DeliveryReport['status'] = 'DeliveredToTerminal',
): DeliveryReport => ({ requestId, sender: '12345', correlator: null, number: mobile(number), status });

test('A burst is settled in one call, whatever its order', async () => {
  const it = receiving();
  const id = await it.campaign([0, 1, 2, 3], 'burst');
  const claims = await it.claim(4);
  for (const [at, claim] of claims.entries()) await it.accept(claim, `r${at}`);
  const inbox = it.open();
  for (const at of [2, 0, 3, 1]) {
    expect(inbox.offer([report(`r${at}`, at), report(`r${at}`, at, 'DeliveredToNetwork')])).toBe(true);
  }
  const settled = [{ reports: 8, requests: 4, waiting: 0 }];
  await vi.waitFor(() => expect(it.happened('notifications.settled')).toMatchObject(settled));
  expect(await it.states(id)).toMatchObject({ deliveredToTerminal: 4 });
  expect(it.happened('campaign.completed')).toHaveLength(1);
});

test('A report that comes before the response that names its request waits for it', async () => {
  const it = receiving();
  const id = await it.campaign([0], 'early');
  const [claim] = await it.claim(1);
  if (claim === undefined) throw new Error('nothing to send');
  const inbox = it.open();
  inbox.offer([report('r0', 0)]);
  await vi.waitFor(() => expect(it.happened('notifications.settled')).toMatchObject([{ waiting: 1 }]));
  await it.accept(claim, 'r0');
  await vi.waitFor(async () => expect(await it.states(id)).toMatchObject({ deliveredToTerminal: 1 }), 5_000);
});

test('A report that comes during a look at the waiting reports is found by the next look', {
  timeout: 60_000,
}, async () => {
  const it = receiving();
  const id = await it.campaign([0, 1], 'meanwhile');
  const [first, second] = await it.claim(2);
  if (first === undefined || second === undefined) throw new Error('nothing to send');
  let inbox: Inbox | undefined;
  let isFirstLook = true;
  // The second report begins to wait after the look got its counts, and before the look is over.
  const settle: NotificationStore['settle'] = async (known, early, now) => {
    const done = await it.store.settle(known, early, now);
    if (known.length === 0 || !isFirstLook) return done;
    isFirstLook = false;
    inbox?.offer([report('r1', 1)]);
    await vi.waitFor(() => expect(it.happened('notifications.settled')).toHaveLength(2));
    return done;
  };
  inbox = it.open(it.lane, { settle });
  inbox.offer([report('r0', 0)]);
  await vi.waitFor(() => expect(it.happened('notifications.settled')).toHaveLength(1));
  await it.accept(first, 'r0');
  await vi.waitFor(() => expect(it.happened('notifications.settled')).toHaveLength(2), 20_000);
  await it.accept(second, 'r1');
  // A long rest follows a look that took long, as on a busy machine.
  await vi.waitFor(async () => expect(await it.states(id)).toMatchObject({ deliveredToTerminal: 2 }), 20_000);
});

test('The next process settles the reports that wait', async () => {
  const it = receiving();
  const id = await it.campaign([0], 'next');
  const [claim] = await it.claim(1);
  if (claim === undefined) throw new Error('nothing to send');
  const first = it.open();
  first.offer([report('r0', 0)]);
  await first.stop();
  await it.accept(claim, 'r0');
  it.open();
  await vi.waitFor(async () => expect(await it.states(id)).toMatchObject({ deliveredToTerminal: 1 }), 5_000);
});

test('Reports that were accepted before the inbox stops are settled', async () => {
  const it = receiving();
  const id = await it.campaign([0], 'stop');
  const [claim] = await it.claim(1);
  if (claim === undefined) throw new Error('nothing to send');
  await it.accept(claim, 'r0');
  const inbox = it.open();
  inbox.offer([report('r0', 0)]);
  await inbox.stop();
  expect(await it.states(id)).toMatchObject({ deliveredToTerminal: 1 });
  expect(inbox.offer([report('r0', 0)])).toBe(false);
});

test('The inbox stops only after it has settled everything, as long as Redis responds', {
  timeout: 20_000,
}, async () => {
  const it = receiving({ left: 100_000 });
  // The server is slow, so reports remain after two seconds. The inbox waits as long as it settles some of them.
  const settle: NotificationStore['settle'] = async (known, early, now) => {
    await new Promise((later) => setTimeout(later, 300));
    return it.store.settle(known, early, now);
  };
  const inbox = it.open(it.lane, { settle });
  inbox.offer(Array.from({ length: 5_000 }, (_, at) => report(`r${at}`, 0)));
  await inbox.stop();
  const waiting = await redis.zcard(it.keys.lane('default', 'waiting'));
  expect(waiting).toBe(5_000);
  expect(it.happened('notifications.failed')).toEqual([]);
});

test('Reports that Redis does not settle before the inbox stops are emitted as lost', {
  timeout: 20_000,
}, async () => {
  const it = receiving();
  const settle = () => new Promise<never>(() => {});
  const inbox = it.open(it.lane, { settle });
  inbox.offer(Array.from({ length: 1_200 }, (_, at) => report(`r${at}`, 0)));
  await inbox.stop();
  expect(it.happened('notifications.failed')).toMatchObject([{ reports: 1_200 }]);
});

test('An unknown outcome is matched to the one request that fits it', async () => {
  const it = receiving();
  await it.campaign([0, 1], 'unknown');
  const claims = await it.claim(2);
  await settleSends(
    it.lane,
    claims.map((claim) => ({ claim, result: 'unknown', reason: 'no answer' }) as const),
    0,
  );
  const inbox = it.open();
  inbox.offer([report('x', 1, 'DeliveredToNetwork'), { ...report('y', 0), sender: 'OTHER' }, report('z', 7)]);
  await vi.waitFor(() => expect(it.happened('request.matched')).toMatchObject([{ requestId: 'x' }]), 5_000);
  const unknown = await listUnknown(it.lane);
  expect(unknown.map(({ first, matchedRequestId }) => [first, matchedRequestId]).sort()).toEqual([
    [0, null],
    [1, 'x'],
  ]);
});

test('A match makes an idle lane due, so that the poll that decides it is made', async () => {
  const it = receiving();
  await it.campaign([0], 'unknown');
  const claims = await it.claim(1);
  const results = claims.map((claim) => ({ claim, result: 'unknown', reason: 'no answer' }) as const);
  await settleSends(it.lane, results, 0);
  const { id, keys } = it.lane;
  await redis.zrem(keys.due, id);
  it.open().offer([report('x', 0)]);
  await vi.waitFor(() => expect(it.happened('request.matched')).toHaveLength(1), 5_000);
  expect(await redis.zscore(keys.due, id)).toBe('0');
});

test('Of two unknown outcomes with the same number, our correlator selects the right one', async () => {
  const it = receiving();
  const ids: string[] = [];
  for (const text of ['one', 'two']) {
    ids.push(await it.campaign([0], text));
    const claims = await it.claim(1);
    await settleSends(
      it.lane,
      claims.map((claim) => ({ claim, result: 'unknown', reason: 'no answer' }) as const),
      0,
    );
  }
  const inbox = it.open();
  inbox.offer([{ ...report('x', 0, 'DeliveredToNetwork'), correlator: `${ids[1]}-0-1` }]);
  await vi.waitFor(
    () => expect(it.happened('request.matched')).toMatchObject([{ campaign: ids[1], requestId: 'x' }]),
    5_000,
  );
});

test('A report that names its batch is settled without an index of request ids', async () => {
  const it = receiving({ left: 10_000 }, { byReference: true });
  const id = await it.campaign([0], 'by reference');
  const [claim] = await it.claim(1);
  if (claim === undefined) throw new Error('nothing to send');
  await it.accept(claim, 'r0');
  expect(await it.store.locate(['r0'])).toEqual([null]);
  it.open().offer([{ ...report('r0', 0), correlator: `${id}-0-1` }]);
  await vi.waitFor(async () => expect(await it.states(id)).toMatchObject({ deliveredToTerminal: 1 }));
});

test('A report that names its batch waits until the response of its request has arrived', async () => {
  const it = receiving({ left: 10_000 }, { byReference: true });
  const id = await it.campaign([0], 'early by reference');
  const [claim] = await it.claim(1);
  if (claim === undefined) throw new Error('nothing to send');
  it.open().offer([{ ...report('r0', 0), correlator: `${id}-0-1` }]);
  await vi.waitFor(() => expect(it.happened('notifications.settled').at(-1)).toMatchObject({ waiting: 1 }));
  await it.accept(claim, 'r0');
  await vi.waitFor(async () => expect(await it.states(id)).toMatchObject({ deliveredToTerminal: 1 }), 5_000);
});

test('A report that names a batch but another request than its own changes nothing', async () => {
  const it = receiving({ left: 10_000 }, { byReference: true });
  const id = await it.campaign([0], 'another request');
  const [claim] = await it.claim(1);
  if (claim === undefined) throw new Error('nothing to send');
  await it.accept(claim, 'r0');
  it.open().offer([{ ...report('other', 0), correlator: `${id}-0-1` }]);
  await vi.waitFor(() => expect(it.happened('notifications.settled').at(-1)).toMatchObject({ waiting: 1 }));
  await it.looked();
  expect(await it.states(id)).toMatchObject({ deliveredToNetwork: 1 });
});

test('An unknown outcome is matched to the request whose reports name its batch', async () => {
  const it = receiving({ left: 10_000 }, { byReference: true });
  const id = await it.campaign([0], 'unknown by reference');
  const claims = await it.claim(1);
  await settleSends(
    it.lane,
    claims.map((claim) => ({ claim, result: 'unknown', reason: 'no answer' }) as const),
    0,
  );
  it.open().offer([{ ...report('x', 0), correlator: `${id}-0-1` }]);
  await vi.waitFor(
    () => expect(it.happened('request.matched')).toMatchObject([{ campaign: id, requestId: 'x' }]),
    5_000,
  );
});

test('A late report of a settled request is not matched to an unknown outcome', async () => {
  const it = receiving();
  const first = await it.campaign([0], 'first');
  const [claim] = await it.claim(1);
  if (claim === undefined) throw new Error('nothing to send');
  await it.accept(claim, 'r0');
  const before = it.open();
  before.offer([report('r0', 0)]);
  await vi.waitFor(async () => expect(await it.states(first)).toMatchObject({ deliveredToTerminal: 1 }));

  await it.campaign([0], 'second');
  const again = await it.claim(1);
  await settleSends(
    it.lane,
    again.map((other) => ({ claim: other, result: 'unknown', reason: 'no answer' }) as const),
    0,
  );
  // Another process, which does not remember what the first one settled.
  const inbox = it.open();
  inbox.offer([report('r0', 0, 'DeliveredToNetwork')]);
  await vi.waitFor(() => expect(it.happened('notifications.settled').at(-1)).toMatchObject({ waiting: 1 }));
  await it.looked();
  expect(it.happened('request.matched')).toEqual([]);
  expect((await listUnknown(it.lane)).map(({ matchedRequestId }) => matchedRequestId)).toEqual([null]);
});

test('A report of a request that was accepted while notifications were off is not matched to an unknown outcome', async () => {
  const it = receiving();
  await it.campaign([0], 'before');
  const [claim] = await it.claim(1);
  if (claim === undefined) throw new Error('nothing to send');
  const { notify: _, ...before } = it.lane.rules;
  const unheard = { redis, keys: it.keys, id: 'default', rules: before };
  await settleSends(unheard, [{ claim, result: 'accepted', letters: 'N', requestId: 'r0' }], 0);

  await it.campaign([0], 'after');
  const again = await it.claim(1);
  await settleSends(
    it.lane,
    again.map((other) => ({ claim: other, result: 'unknown', reason: 'no answer' }) as const),
    0,
  );
  it.open().offer([report('r0', 0)]);
  await vi.waitFor(() => expect(it.happened('notifications.settled').at(-1)).toMatchObject({ waiting: 1 }));
  await it.looked();
  expect(it.happened('request.matched')).toEqual([]);
});

test('A request whose send is still in flight is not matched to an unknown outcome with the same number', async () => {
  const it = receiving();
  await it.campaign([0], 'unknown one');
  await settleSends(
    it.lane,
    (await it.claim(1)).map((claim) => ({ claim, result: 'unknown', reason: 'no answer' }) as const),
    0,
  );
  const second = await it.campaign([0], 'in flight');
  const [inFlight] = await it.claim(1);
  if (inFlight === undefined) throw new Error('nothing to send');
  const inbox = it.open();
  inbox.offer([report('r0', 0)]);
  await it.looked();
  expect(it.happened('request.matched')).toEqual([]);
  await it.accept(inFlight, 'r0');
  await vi.waitFor(
    async () => expect(await it.states(second)).toMatchObject({ deliveredToTerminal: 1 }),
    5_000,
  );
  expect((await listUnknown(it.lane)).map(({ matchedRequestId }) => matchedRequestId)).toEqual([null]);
});

test('A request that is matched to one batch is not matched to another one with the same number', async () => {
  const it = receiving();
  const unknown = async (text: string) => {
    await it.campaign([0], text);
    const claims = await it.claim(1);
    return () =>
      settleSends(
        it.lane,
        claims.map((claim) => ({ claim, result: 'unknown', reason: 'no answer' }) as const),
        0,
      );
  };
  await (await unknown('one'))();
  const inbox = it.open();
  inbox.offer([report('x', 0)]);
  await vi.waitFor(() => expect(it.happened('request.matched')).toHaveLength(1), 5_000);
  // Long before the first match can be polled.
  await (await unknown('two'))();
  await it.looked();
  expect(it.happened('request.matched')).toHaveLength(1);
  expect((await listUnknown(it.lane)).map(({ matchedRequestId }) => matchedRequestId).sort()).toEqual(
    [null, 'x'].sort(),
  );
});

test('A report is not matched to a batch that was claimed after it came', async () => {
  const it = receiving();
  const inbox = it.open();
  inbox.offer([report('x', 0)]);
  await vi.waitFor(() => expect(it.happened('notifications.settled')).toHaveLength(1));
  await it.campaign([0], 'later');
  await settleSends(
    it.lane,
    (await it.claim(1)).map((claim) => ({ claim, result: 'unknown', reason: 'no answer' }) as const),
    0,
  );
  await it.looked();
  expect(it.happened('request.matched')).toEqual([]);
});

test.each(['abandon', 'accepted', 'resend'] as const)(
  'A late report of a batch that was resolved with %s is not matched to another unknown outcome',
  async (word) => {
    const it = receiving();
    const unknown = async (text: string) => {
      await it.campaign([0], text);
      const claims = await it.claim(1);
      const entries = claims.map((claim) => ({ claim, result: 'unknown', reason: 'no answer' }) as const);
      await settleSends(it.lane, entries, 0);
    };
    await unknown('first');
    await resolveBatches(it.lane, word, 'by hand', await listUnknown(it.lane));
    if (word === 'resend') await it.accept((await it.claim(1))[0] ?? expect.unreachable(), 'r0');
    await unknown('second');
    const inbox = it.open();
    inbox.offer([report('x', 0)]);
    await it.looked();
    expect(it.happened('request.matched')).toEqual([]);
  },
);

test('A report of a request that was accepted without an id is not matched to another unknown outcome', async () => {
  const it = receiving();
  await it.campaign([0], 'without an id');
  const unnamed = await it.claim(1);
  await settleSends(
    it.lane,
    unnamed.map((claim) => ({ claim, result: 'accepted', letters: 'C', requestId: '' }) as const),
    0,
  );
  await it.campaign([0], 'unknown');
  const claims = await it.claim(1);
  await settleSends(
    it.lane,
    claims.map((claim) => ({ claim, result: 'unknown', reason: 'no answer' }) as const),
    0,
  );
  const inbox = it.open();
  inbox.offer([report('x', 0)]);
  await it.looked();
  expect(it.happened('request.matched')).toEqual([]);
});

test('A batch that was resent and is unknown again is matched by a report of either request', async () => {
  const it = receiving();
  await it.campaign([0], 'twice');
  const fail = async () => {
    const claims = await it.claim(1);
    const entries = claims.map((claim) => ({ claim, result: 'unknown', reason: 'no answer' }) as const);
    await settleSends(it.lane, entries, 0);
  };
  await fail();
  await resolveBatches(it.lane, 'resend', 'by hand', await listUnknown(it.lane));
  await fail();
  const inbox = it.open();
  inbox.offer([report('x', 0)]);
  await vi.waitFor(() => expect(it.happened('request.matched')).toMatchObject([{ requestId: 'x' }]), 5_000);
});

test('No match is made while a send is in flight, however old it is', async () => {
  const it = receiving({ left: 10_000 });
  await it.campaign([0], 'unknown one');
  await settleSends(
    it.lane,
    (await it.claim(1)).map((claim) => ({ claim, result: 'unknown', reason: 'no answer' }) as const),
    0,
  );
  await it.campaign([0], 'left in flight without a worker');
  await it.claim(1);
  // By these rules it is long overdue.
  const inbox = it.open({ ...it.lane, rules: { ...it.lane.rules, timeout: -10_000 } });
  inbox.offer([report('x', 0)]);
  await it.looked();
  expect(it.happened('request.matched')).toEqual([]);
});

test('A contradiction that comes after the request was settled is counted', async () => {
  const it = receiving();
  const id = await it.campaign([0], 'contradicted');
  const [claim] = await it.claim(1);
  if (claim === undefined) throw new Error('nothing to send');
  await it.accept(claim, 'r0');
  const inbox = it.open();
  inbox.offer([report('r0', 0)]);
  await vi.waitFor(async () => expect(await it.states(id)).toMatchObject({ deliveredToTerminal: 1 }));
  inbox.offer([report('r0', 0, 'DeliveryImpossible')]);
  await vi.waitFor(() => expect(it.happened('recipient.contradicted')).toHaveLength(1));
  expect(await it.states(id)).toMatchObject({ deliveredToTerminal: 1 });
});

test('The requests that were settled last are remembered, up to a maximum over all lanes', () => {
  const settled = recentlySettled(2);
  const [one, two, three] = [1, 2, 3].map((first) => ({ campaign: 'c', first, count: 1 }));
  if (one === undefined || two === undefined || three === undefined) throw new Error('three were made');
  settled.add('a', 'x', one);
  settled.add('b', 'x', two);
  expect([settled.find('a', 'x'), settled.find('b', 'x'), settled.find('c', 'x')]).toEqual([
    one,
    two,
    undefined,
  ]);
  settled.add('a', 'x', one);
  settled.add('a', 'y', three);
  expect([settled.find('a', 'x'), settled.find('b', 'x'), settled.find('a', 'y')]).toEqual([
    one,
    undefined,
    three,
  ]);
});

test('Discarded reports are emitted at most once a minute, and not for every burst', async () => {
  const it = receiving();
  const settle: NotificationStore['settle'] = async (known, early, now) => ({
    ...(await it.store.settle(known, early, now)),
    discarded: early.length,
  });
  const inbox = it.open(it.lane, { settle });
  for (let burst = 1; burst <= 5; burst += 1) {
    inbox.offer([report(`r${burst}`, 0)]);
    await vi.waitFor(() => expect(it.happened('notifications.settled')).toHaveLength(burst));
  }
  expect(it.happened('notifications.refused')).toMatchObject([{ reason: 'overload', notifications: 1 }]);
});

test('Reports beyond the capacity are not accepted until others are settled', async () => {
  const capacity = { left: 2 };
  const it = receiving(capacity);
  const inbox = it.open();
  expect(inbox.offer([report('a', 0), report('b', 1), report('c', 2)])).toBe(false);
  expect(inbox.offer([report('a', 0), report('b', 1)])).toBe(true);
  expect(inbox.offer([report('c', 2)])).toBe(false);
  await vi.waitFor(() => expect(capacity.left).toBe(2));
  expect(inbox.offer([report('c', 2)])).toBe(true);
});
