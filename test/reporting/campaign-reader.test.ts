import { expect, onTestFinished, test } from 'vitest';
import { createVolley } from '../../src/app/runtime.js';
import { loadConfig } from '../../src/base/config/index.js';
import { createEvents } from '../../src/base/events/events.js';
import { tendDue } from '../../src/intake/outbox/tend-lane.js';
import { testRedis } from '../base/redis/test-redis.js';
import { laneFixture } from '../engine/lane/lane-fixture.js';

const { redis, url, prefix } = testRedis('campaign-reader');
const config = loadConfig({
  REDIS_URL: url,
  REDIS_PREFIX: prefix,
  API_KEY: 'key',
  HOURLY_QUOTA: '100',
  SENDER_ADDRESS: 'ACME',
  MESSAGING_BASE_URL: 'http://127.0.0.1:9',
});

test('A wave of an outbox is listed only while an operator must resolve one of its outcomes', async () => {
  const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
  onTestFinished(() => volley.close());
  await volley.outboxes.create({ name: 'codes', message: 'Your code is {{code}}' });
  await volley.outbox('codes').put({ id: 'm1', to: '+447700900123', code: '17' });
  const lane = laneFixture(redis, prefix, 'default');
  const turn = { random: Math.random, clock: Date.now, retentionMs: 86_400_000, now: Date.now() };
  await tendDue(lane.store, turn);
  const { claims } = await lane.claims.send({ turn: 't', call: 1, want: 1, seen: 0 });
  const [claim] = claims;
  if (claim === undefined) throw new Error('the message was not claimed');
  expect(await volley.list()).toEqual([]);
  const unknown = { claim, result: 'unknown', letters: 'U', reason: 'no response' } as const;
  await lane.settlements.send([unknown], 0);
  expect(await volley.list()).toMatchObject([
    { id: claim.campaign, waitingFor: 'resolve', recipients: { total: 1, unknown: 1 } },
  ]);
  await volley.resolve(claim.campaign, { as: 'abandon' });
  expect(await volley.list()).toEqual([]);
});
