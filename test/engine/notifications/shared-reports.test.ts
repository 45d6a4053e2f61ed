import { expect, onTestFinished, test, vi } from 'vitest';
import { systemAlarm } from '../../../src/base/clock.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { type Lane, openLane } from '../../../src/engine/lane/lane.js';
import { recentlySettled } from '../../../src/engine/notifications/batch-lookup.js';
import { createInbox } from '../../../src/engine/notifications/inbox.js';
import { matchStore } from '../../../src/engine/notifications/match-store.js';
import { notificationStore } from '../../../src/engine/notifications/notification-store.js';
import { sharedSubscriptions } from '../../../src/engine/notifications/shared-subscriptions.js';
import { subscriptionStatusStore } from '../../../src/engine/notifications/subscription-status.js';
import { ordinalNumbers } from '../../../src/engine/recipients/slices.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { readMeta } from '../../../src/engine/store/campaign-meta.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import type { DeliveryReport } from '../../../src/service/client/notification.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { SOON } from '../../base/soon.js';
import { importFixture, mobile } from '../../intake/import/import-fixture.js';
import { CALLBACK } from './subscribing.js';

const { redis, prefix } = testRedis('shared-reports');
let fixtures = 0;

/** Two lanes of one client, `default` and `other`, whose service has one subscription for both. */
function sharing() {
  fixtures += 1;
  const { deps, keys, config, lanes, emitted } = importFixture(redis, `${prefix}-${fixtures}`, {
    CALLBACK_URL: 'https://volley.example/in',
    CALLBACK_SECURITY_TOKEN: 'a-token-of-some-length',
  });
  const [settings] = config.lanes;
  const own = lanes.get('default');
  if (settings === undefined || own === undefined) throw new Error('no lane');
  const other = openLane(redis, keys, config, { ...settings, name: 'other' }, deps.events, Math.random);
  let turns = 0;
  const claimed = async (lane: Lane): Promise<SendClaim> => {
    const recipients = [{ to: mobile(0) }];
    const both = { ...config, lanes: [settings, { ...settings, name: 'other' }] };
    const opened = { ...deps, config: both, laneNamed: async () => lane };
    await importCampaign(opened, { recipients, message: 'Sale', again: true, lane: lane.name });
    turns += 1;
    const { claims } = await sendClaims(lane).take({ turn: `t${turns}`, call: 1, want: 1, seen: 0 });
    const [claim] = claims;
    if (claim === undefined) throw new Error('nothing to send');
    return claim;
  };
  const settled = async (lane: Lane, claim: SendClaim, requestId?: string): Promise<void> => {
    const settlement =
      requestId === undefined
        ? ({ claim, result: 'unknown', reason: 'no answer' } as const)
        : ({ claim, result: 'accepted', letters: 'N', requestId } as const);
    await settleSends(lane, [settlement], 0);
  };
  return {
    own,
    other,
    claimed,
    settled,
    matched: () => emitted.filter(({ type }) => type === 'request.matched').length,
    /** Offers a report of request `x` to `default`, and resolves after it has looked at it three times. */
    async reported(): Promise<void> {
      let looks = 0;
      const matches = matchStore(own, async () => ['other']);
      const inbox = createInbox(own, {
        store: notificationStore(own),
        matches: {
          ...matches,
          oldestSend() {
            looks += 1;
            return matches.oldestSend();
          },
        },
        events: deps.events,
        numbers: ordinalNumbers(redis, keys),
        senderOf: async (of, campaign) => readMeta(redis, keys, of, campaign),
        // Looks follow each other at once, however long they take.
        alarm: (_, ring) => systemAlarm(0, ring),
        monotonic: () => 0,
        capacity: { left: 100 },
        recentlySettled: recentlySettled(100),
        lookMs: 20,
      });
      inbox.start();
      onTestFinished(() => inbox.stop());
      const status: DeliveryReport['status'] = 'DeliveredToTerminal';
      inbox.offer([{ requestId: 'x', sender: '12345', correlator: null, number: mobile(0), status }]);
      await vi.waitFor(() => expect(looks).toBeGreaterThanOrEqual(4), SOON);
    },
  };
}

test('A report is matched to an unknown outcome while another lane has no request that it may be about', async () => {
  const it = sharing();
  await it.settled(it.own, await it.claimed(it.own));
  await it.reported();
  expect(it.matched()).toBe(1);
});

test('A report that may be about a request of another lane in flight is not matched to an unknown outcome', async () => {
  const it = sharing();
  await it.settled(it.own, await it.claimed(it.own));
  await it.claimed(it.other);
  await it.reported();
  expect(it.matched()).toBe(0);
});

test('A report that fits unknown outcomes of two lanes is matched to neither', async () => {
  const it = sharing();
  for (const lane of [it.own, it.other]) await it.settled(lane, await it.claimed(lane));
  await it.reported();
  expect(it.matched()).toBe(0);
});

test('A report of a request of another lane that is settled long ago is not matched to an unknown outcome', async () => {
  const it = sharing();
  await it.settled(it.other, await it.claimed(it.other), 'x');
  await it.settled(it.own, await it.claimed(it.own));
  await it.reported();
  expect(it.matched()).toBe(0);
});

test('A match is not confirmed once another lane has the request', async () => {
  const it = sharing();
  const matches = matchStore(it.own, async () => ['other']);
  expect(await matches.everAccepted(['x'])).toEqual(new Set());
  await it.settled(it.other, await it.claimed(it.other), 'x');
  expect(await matches.everAccepted(['x', 'y'])).toEqual(new Set(['x']));
});

test('Lanes may share an address unless two checks in a row have found that each has its own', async () => {
  fixtures += 1;
  const keys = keyNames(`${prefix}-${fixtures}`);
  const names = ['one', 'two', 'three', 'four'];
  const subscriptions = await sharedSubscriptions({
    redis,
    keys,
    callback: CALLBACK,
    lanes: async () => new Map(names.map((name) => [name, name])),
    intervalMs: 300_000,
  });
  const shareWith = (lane: string) => subscriptions.mayShareWith(lane);
  const found = async (lane: string, via: string) => {
    const status = subscriptionStatusStore(redis, keys, lane);
    const { checkedAt: before } = await status.read();
    await vi.waitFor(async () => {
      await status.write({ state: 'ours', detail: '', fingerprint: '', via });
      expect((await status.read()).checkedAt).toBeGreaterThan(before);
    }, SOON);
  };
  expect(await shareWith('one')).toEqual(['two', 'three', 'four']);
  await found('one', '');
  await found('two', 'one');
  await found('three', '');
  expect(await shareWith('one')).toEqual(['two', 'three', 'four']);
  for (const [lane, via] of [
    ['one', ''],
    ['two', 'one'],
    ['three', ''],
  ] as const)
    await found(lane, via);
  expect(await shareWith('one')).toEqual(['two', 'four']);
  expect(await shareWith('two')).toEqual(['one', 'four']);
  expect(await shareWith('three')).toEqual(['four']);
});
