import { afterAll, expect, test } from 'vitest';
import { importCampaign } from '../../src/import/import-campaign.js';
import { createDesk } from '../../src/lane/lane-service.js';
import { createWakers } from '../../src/lane/queues.js';
import { roster } from '../../src/recovery/heartbeats.js';
import { connect } from '../../src/redis/connection.js';
import { importFixture, mobile } from '../import/import-fixture.js';
import { testRedis } from '../redis/test-redis.js';

const { prefix, redis, url } = testRedis('desk');
const { deps, keys, lane: name } = importFixture(redis, prefix);
const blocking = connect(url, 'blocking');
const wakers = createWakers(blocking, keys);
afterAll(async () => {
  await wakers.close();
  blocking.disconnect();
});

async function claimed(message: string) {
  const lane = deps.lanes.get(name);
  if (lane === undefined) throw new Error('no lane');
  const made = await importCampaign(deps, { recipients: [{ to: mobile(1) }], message });
  if (made.kind !== 'created') throw new Error(made.kind);
  const { claims } = await lane.claims.send({ turn: message, call: 1, want: 1, seen: 0 });
  expect(claims).toHaveLength(1);
  const unanswered = claims.map((claim) => ({ claim, as: 'unknown' as const, reason: 'x' }));
  return { id: made.id, lane, becomesUnknown: () => lane.settlements.send(unanswered, 0) };
}

test('what is unknown of a cancelled campaign cannot be sent again, and says what can be done with it', async () => {
  const { id, lane, becomesUnknown } = await claimed('Hello');
  await lane.commands.campaign('cancel', id);
  await becomesUnknown();
  const { lanes, events } = deps;
  const desk = createDesk({ redis, keys, lanes, wakers, roster: roster(redis, keys, Date.now), events });
  await expect(desk.resolve(id, { as: 'resend' })).rejects.toThrow(/is cancelled.*given up or counted/);
  expect(await desk.resolve(id, { as: 'abandon' })).toMatchObject({ requests: 1, recipients: 1 });
});

test('a status that counts somebody as unknown names the batch, also when it became so in between', async () => {
  const { id, lane, becomesUnknown } = await claimed('Hello again');
  const { events } = deps;
  let first: Promise<unknown> | undefined;
  const unknown: typeof lane.commands.unknown = () => {
    const batches = lane.commands.unknown();
    first ??= batches;
    return batches;
  };
  const lanes = new Map([[name, { ...lane, commands: { ...lane.commands, unknown } }]]);
  const workers = roster(redis, keys, Date.now);
  const alive: typeof workers.alive = async () => {
    await first;
    await becomesUnknown();
    return workers.alive();
  };
  const desk = createDesk({ redis, keys, lanes, wakers, roster: { ...workers, alive }, events });
  const status = await desk.status(id);
  expect(await first).toEqual([]);
  expect([status.recipients.unknown, status.unknownOutcomes.length]).toEqual([1, 1]);
});

test('an order that is repeated is told once, for it changes nothing', async () => {
  const { id } = await claimed('Hello for the third time');
  const { lanes, events } = deps;
  const told: string[] = [];
  const untell = events.onAny(({ type }) => {
    if (/^(campaign|lane)\./.test(type)) told.push(type);
  });
  const desk = createDesk({ redis, keys, lanes, wakers, roster: roster(redis, keys, Date.now), events });
  for (const order of [desk.pause, desk.resume, desk.cancel]) {
    await order(id);
    await order(id);
  }
  for (const order of [desk.pauseLane, desk.resumeLane]) {
    await order('default');
    await order('default');
  }
  untell();
  expect(told).toEqual([
    'campaign.paused',
    'campaign.resumed',
    'campaign.cancelled',
    'lane.paused',
    'lane.reopened',
  ]);
});
