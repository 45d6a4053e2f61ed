import { describe, expect, test } from 'vitest';
import type { CallbackSettings } from '../../../src/base/config/index.js';
import { laneCallback } from '../../../src/base/config/index.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { laneTokenSource } from '../../../src/engine/lane/lane-token-source.js';
import { sharedSubscriptions } from '../../../src/engine/notifications/shared-subscriptions.js';
import { subscriptionService } from '../../../src/engine/notifications/subscription-service.js';
import { subscriptionStatusStore } from '../../../src/engine/notifications/subscription-status.js';
import { startSimulator } from '../../../src/tools/simulator/index.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { CALLBACK, clientOf, FOREIGN } from './subscribing.js';

const { redis, prefix } = testRedis('shared-subscriptions');
const INTERVAL_MS = 300_000;
let installations = 0;

/** An installation at a service that has one subscription for all of its keys, or one per key. */
async function installation(subscriptionPer: 'client' | 'key') {
  installations += 1;
  const keys = keyNames(`${prefix}-${installations}`);
  const names = ['one', 'two', 'three'];
  const simulator = await startSimulator({ subscriptionPer, keys: names.map((key) => ({ key })) });
  const client = clientOf(simulator.messagingBaseUrl);
  return {
    simulator,
    client,
    held: () => client.get({ authorization: 'one' }),
    statusOf: (lane: string) => subscriptionStatusStore(redis, keys, lane),
    /** The subscription of a lane, in a process with these lanes. */
    serviceOf: (lane: string, lanes: readonly string[] = names, callback: CallbackSettings = CALLBACK) =>
      subscriptionService({
        lane,
        client,
        tokenSource: laneTokenSource(lane, { kind: 'apiKey', apiKey: lane }, undefined),
        callback,
        shared: () =>
          sharedSubscriptions({
            redis,
            keys,
            callback,
            lanes: async () => new Map(lanes.map((name) => [name, name])),
            intervalMs: INTERVAL_MS,
          }),
      }),
  };
}

const addressOf = (lane: string) => laneCallback(CALLBACK, lane).url;
const SHARED = { state: 'ours', detail: '', fingerprint: '' } as const;

describe('At a service with one subscription for all keys', () => {
  test('a lane shares the subscription of another one, and neither replaces it', async () => {
    const { serviceOf, held } = await installation('client');
    expect(await serviceOf('one').create()).toMatchObject({ outcome: 'created', replaced: 'none' });
    for (const force of [false, true]) {
      expect(await serviceOf('two').create({ force })).toMatchObject({
        outcome: 'shared',
        lane: 'one',
        id: 'one',
      });
    }
    expect(await serviceOf('two').get()).toMatchObject({ state: 'shared', lane: 'one' });
    expect(await serviceOf('one').create()).toMatchObject({ outcome: 'already' });
    expect(await held()).toMatchObject({ url: addressOf('one') });
  });

  test('lanes that subscribe at the same time end with one subscription', async () => {
    const { serviceOf, held } = await installation('client');
    const outcomes = await Promise.all(['one', 'two', 'three'].map((lane) => serviceOf(lane).create()));
    const kinds = outcomes.map(({ outcome }) => outcome).sort();
    expect(kinds).toEqual(['created', 'shared', 'shared']);
    expect(await held()).toMatchObject({ url: expect.stringContaining('https://volley.example/in/') });
  });

  test('the subscription is not deleted while another lane needs it, unless `force` is set', async () => {
    const { serviceOf, statusOf, held } = await installation('client');
    await serviceOf('one').create();
    expect(await serviceOf('two').remove()).toMatchObject({ outcome: 'shared', lanes: ['one'] });
    await statusOf('two').write({ ...SHARED, via: 'one' });
    expect(await serviceOf('one').remove()).toMatchObject({ outcome: 'shared', lanes: ['two'] });
    expect(await held()).toMatchObject({ kind: 'found' });
    expect(await serviceOf('one').remove({ force: true })).toMatchObject({ outcome: 'deleted' });
    expect(await held()).toEqual({ kind: 'none' });
    // A lane that has its own subscription by now needs it no longer.
    await statusOf('two').write({ ...SHARED, via: '' });
    await serviceOf('one').create();
    expect(await serviceOf('one').remove()).toMatchObject({ outcome: 'deleted' });
  });

  test('a lane of another process is not replaced while that process checks it', async () => {
    const { serviceOf, statusOf } = await installation('client');
    await serviceOf('one', ['one']).create();
    await statusOf('one').write({ ...SHARED, via: '' });
    expect(await serviceOf('two', ['two']).create()).toMatchObject({ outcome: 'shared', lane: 'one' });
  });

  test('the address of a lane that is gone is outdated, and replaced', async () => {
    const { serviceOf, held } = await installation('client');
    await serviceOf('one').create();
    const left = ['two', 'three'];
    expect(await serviceOf('two', left).get()).toMatchObject({ state: 'outdated' });
    expect(await serviceOf('two', left).create()).toMatchObject({ outcome: 'created', replaced: 'outdated' });
    expect(await held()).toMatchObject({ url: addressOf('two') });
  });

  test('an earlier address of any lane is outdated, also after CALLBACK_URL and its token have changed', async () => {
    const { serviceOf } = await installation('client');
    const before = { ...CALLBACK, url: 'https://old.example/hooks', securityToken: 'the-token-of-last-year' };
    await serviceOf('one', ['one'], before).create();
    expect(await serviceOf('two').get()).toMatchObject({ state: 'outdated' });
    expect(await serviceOf('two').create()).toMatchObject({ outcome: 'created', replaced: 'outdated' });
  });

  test('the subscription of another system stays foreign', async () => {
    const { serviceOf, client } = await installation('client');
    await client.create(FOREIGN, { authorization: 'three' });
    expect(await serviceOf('one').create()).toMatchObject({ outcome: 'foreign' });
    expect(await serviceOf('two').remove()).toMatchObject({ outcome: 'foreign' });
  });
});

test('At a service with one subscription per key, each lane has its own', async () => {
  const { serviceOf, client } = await installation('key');
  for (const lane of ['one', 'two']) {
    expect(await serviceOf(lane).create()).toMatchObject({ outcome: 'created', replaced: 'none' });
  }
  for (const lane of ['one', 'two']) {
    expect(await client.get({ authorization: lane })).toMatchObject({ url: addressOf(lane) });
    expect(await serviceOf(lane).get()).toMatchObject({ state: 'ours' });
  }
  expect(await serviceOf('one').remove()).toMatchObject({ outcome: 'deleted' });
  expect(await serviceOf('two').get()).toMatchObject({ state: 'ours' });
});
