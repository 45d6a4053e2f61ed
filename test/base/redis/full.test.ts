import { expect, onTestFinished, test } from 'vitest';
import { createVolley, type Volley } from '../../../src/app/runtime.js';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import { connect } from '../../../src/base/redis/connection.js';
import type { Actor } from '../../../src/campaign/states/actor.js';
import { markDue } from '../../../src/engine/jobs/due.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { laneFixture, START } from '../../engine/lane/lane-fixture.js';
import { privateRedis } from './servers/private-redis.js';

const { url } = await privateRedis();
const redis = connect(url);

/** Fills Redis until the test ends: what it has stored already exceeds the limit. */
async function fill(): Promise<void> {
  onTestFinished(async () => void (await redis.config('SET', 'maxmemory', '0')));
  await redis.config('SET', 'maxmemory', '1');
  await expect(redis.set('any', '1')).rejects.toThrow(/^OOM/);
}

/** A new process on this installation: it has read nothing yet. */
function open(prefix: string): Volley {
  const volley = createVolley({
    config: loadLocalConfig({ REDIS_URL: url, REDIS_PREFIX: prefix, SENDER_ADDRESS: 'ACME' }),
    events: createEvents({ level: 'silent' }),
    actor: { kind: 'cli', id: null, name: 'anna@mail-1' },
  });
  onTestFinished(() => volley.close());
  return volley;
}

const LATER = { message: 'Hi', sendAt: Date.now() + 3_600_000, recipients: [{ to: '+447700900123' }] };

const WEEKLY = {
  id: 'weekly',
  cron: '0 9 * * 1',
  zone: 'UTC',
  message: 'Hi',
  recipients: [{ to: '+447700900123' }],
};

async function create(volley: Volley, message: string): Promise<string> {
  const outcome = await volley.enqueue({ ...LATER, message });
  if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
  return outcome.id;
}

test('On a full Redis, operators hold, pause, cancel, and revoke, and each command is recorded', async () => {
  const before = open('commands');
  const { id: key } = await before.keys.create({ name: 'shop', scopes: ['send'] });
  const shop: Actor = { kind: 'key', id: key, name: 'shop' };
  const [paused, cancelled] = [await create(before, 'one'), await create(before, 'two')];
  const ofKey = await create(before.as(shop), 'three');
  await before.as(shop).schedules.add(WEEKLY);
  await before.outboxes.create({ name: 'box', message: 'Hi' });
  await before.outbox('box').put({ id: 'm1', to: '+447700900123', at: LATER.sendAt });
  await before.as(shop).outboxes.create({ name: 'shop', message: 'Hi' });
  await before.as(shop).outbox('shop').put({ id: 'm2', to: '+447700900123', at: LATER.sendAt });

  await fill();
  const volley = open('commands');
  await volley.holdLane('default');
  await volley.pause(paused);
  expect(await volley.cancel(cancelled)).toEqual({ inFlight: 0, cancelled: 1 });
  await volley.outbox('box').pause();
  expect(await volley.outbox('box').cancel('m1')).toMatchObject({ outcome: 'cancelled' });
  expect(await volley.keys.revoke(key, { cancelCampaigns: true })).toMatchObject({
    cancelled: [ofKey],
    emptied: [{ name: 'shop', lane: 'default', cancelled: 1 }],
  });
  await volley.resume(paused);
  await volley.resumeLane('default');

  expect((await volley.schedules.get('weekly')).state).toBe('paused');
  const { entries } = await volley.audit();
  expect(entries.map(({ action, failed }) => failed ?? action).slice(0, 9)).toEqual([
    'lane.resume',
    'campaign.resume',
    'outbox.cancel',
    'campaign.cancel',
    'key.revoke',
    'outbox.pause',
    'campaign.cancel',
    'campaign.pause',
    'lane.hold',
  ]);
});

test('On a full Redis, an outbox has a status, also while it is paused and when it is closed', async () => {
  const before = open('outbox');
  await before.outboxes.create({ name: 'box', message: 'Hi' });
  await before.outbox('box').put({ id: 'm1', to: '+447700900123', at: LATER.sendAt });
  await fill();
  const { outbox, outboxes } = open('outbox');
  const box = outbox('box');
  expect(await box.status()).toMatchObject({ state: 'open', counts: { waiting: 1 } });
  await box.pause();
  expect(await outboxes.list()).toMatchObject([{ name: 'box', state: 'paused' }]);
  await box.resume();
  expect((await box.status()).state).toBe('open');
  await box.close();
  expect((await box.status()).state).toBe('closed');
});

test('A full Redis takes nothing new, says that it is full, and settles what is in flight', async () => {
  const lane = laneFixture(redis, 'settling', 'main');
  await lane.campaign('c', 3);
  const { claims } = await lane.claims.send({ turn: 't', call: 1, want: 2, seen: 0, now: START });
  const [first, second] = claims;
  if (first === undefined || second === undefined) throw new Error('nothing was claimed');
  await fill();
  await lane.settlements.send(
    [
      { claim: first, result: 'accepted', letters: 'N', requestId: 'r1' },
      { claim: second, result: 'unknown' },
    ],
    0,
    START,
  );
  const { counts } = await lane.state('c');
  expect(counts).toMatchObject({ planned: 1, deliveredToNetwork: 1, unknown: 1 });
  await markDue({ redis, keys: lane.keys }, ['main', 'other']);
  expect(await redis.zcard(lane.keys.due)).toBe(2);
  await expect(open('settling').enqueue(LATER)).rejects.toMatchObject({
    name: 'RedisFullError',
    message: expect.stringMatching(/^Redis is full: it has reached maxmemory/),
  });
});

test('The data of a campaign can be removed from a full Redis', async () => {
  const volley = open('removal');
  const id = await create(volley, 'Hi');
  await volley.cancel(id);
  await fill();
  const { keys } = laneFixture(redis, 'removal', 'default');
  expect(await removeCampaign(redis, keys, 'default', id)).toBe(1);
  expect(await redis.hexists(keys.lane('default', 'states'), id)).toBe(0);
});

test('Above 85 % of maxmemory, campaigns, messages, and schedules are refused, and below they are accepted', async () => {
  const volley = open('share');
  await volley.outboxes.create({ name: 'box', message: 'Hi' });
  await create(volley, 'before');
  onTestFinished(async () => void (await redis.config('SET', 'maxmemory', '0')));
  const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
  await redis.config('SET', 'maxmemory', String(Math.round(used / 0.9)));
  const fresh = open('share');
  const full = { name: 'RedisFullError', message: expect.stringContaining('above 85% it takes no new') };
  await expect(create(fresh, 'after')).rejects.toMatchObject(full);
  await expect(fresh.outbox('box').put({ id: 'm', to: '+447700900123' })).rejects.toMatchObject(full);
  await expect(fresh.schedules.add(WEEKLY)).rejects.toMatchObject(full);
  await expect(fresh.outboxes.create({ name: 'new', message: 'Hi' })).rejects.toMatchObject(full);
  expect((await fresh.outboxes.create({ name: 'box', message: 'Hi' })).outcome).toBe('existing');
  await expect(fresh.suppression.add(['+447700900123'])).resolves.toMatchObject({ numberCount: 1 });
  await redis.config('SET', 'maxmemory', String(Math.round(used / 0.5)));
  await expect
    .poll(() =>
      fresh
        .outbox('box')
        .put({ id: 'm', to: '+447700900123', at: LATER.sendAt })
        .then(({ outcome }) => outcome, String),
    )
    .toBe('created');
  await create(fresh, 'after');
});

test('On a full Redis, a repeated campaign and schedule are answered as before, and others are refused', async () => {
  const before = open('repeated');
  const campaign = { ...LATER, message: 'one', idempotencyKey: 'order-1' };
  const created = await before.enqueue(campaign);
  await before.schedules.add(WEEKLY);
  await fill();
  const volley = open('repeated');
  expect(created.outcome).toBe('created');
  expect(await volley.enqueue(campaign)).toMatchObject({
    outcome: 'existing',
    id: 'id' in created && created.id,
  });
  expect(await volley.enqueue({ ...campaign, message: 'two' })).toMatchObject({ code: 'conflict' });
  await expect(volley.enqueue({ ...campaign, idempotencyKey: 'order-2' })).rejects.toThrow(
    /^Redis is (?:almost )?full/,
  );
  expect((await volley.schedules.add(WEEKLY)).outcome).toBe('existing');
  await expect(volley.schedules.add({ ...WEEKLY, id: 'daily' })).rejects.toThrow(
    /^Redis is (?:almost )?full/,
  );
});

test('On a full Redis, putting the same messages again changes nothing and is answered', async () => {
  const before = open('same');
  await before.outboxes.create({ name: 'box', message: 'Hi {{name}}' });
  const message = {
    id: 'm1',
    to: '+447700900123',
    name: 'Ada',
    sendAt: new Date(LATER.sendAt).toISOString(),
  };
  const shop: Actor = { kind: 'key', id: '0123456789ab', name: 'shop' };
  const put = await before.outbox('box').put(message);
  await fill();
  const box = open('same').as(shop).outbox('box');
  expect(await box.put(message)).toEqual({ ...put, outcome: 'unchanged' });
  await expect(box.put({ ...message, name: 'Eve' })).rejects.toThrow(/^Redis is (?:almost )?full/);
  await expect(box.put({ ...message, id: 'm2' })).rejects.toThrow(/^Redis is (?:almost )?full/);
  const all = async (...names: string[]) => {
    const messages = names.map((name, at) => ({ ...message, id: `m${at + 1}`, name }));
    const results: unknown[] = [];
    for await (const result of box.putAll(messages)) results.push(result);
    return results;
  };
  expect(await all('Ada')).toMatchObject([{ id: 'm1', outcome: 'unchanged' }]);
  await expect(all('Ada', 'Eve')).rejects.toThrow(/^Redis is (?:almost )?full/);
});

test('On a full Redis, a put that changes only the tag, or what the time follows, is refused', async () => {
  const before = open('tagged');
  await before.outboxes.create({ name: 'box', message: 'Hi', sendRule: 'visit - 1h', zone: 'UTC' });
  const visit = '2030-05-02T20:00:00.000Z';
  const message = { id: 'm1', to: '+447700900123', tag: 'order-1', visit };
  const put = await before.outbox('box').put(message);
  await fill();
  const box = open('tagged').outbox('box');
  expect(await box.put(message)).toEqual({ ...put, outcome: 'unchanged' });
  const full = /^Redis is (?:almost )?full/;
  await expect(box.put({ ...message, tag: 'order-2' })).rejects.toThrow(full);
  await expect(box.put({ ...message, sendAt: '2030-05-02T19:00:00.000Z' })).rejects.toThrow(full);
});
