import { afterAll, expect, test } from 'vitest';
import { connect } from '../../../src/base/redis/connection.js';
import { createWakers } from '../../../src/engine/jobs/queues.js';
import { openLanes } from '../../../src/engine/lane/lane-finder.js';
import { operatorCommands } from '../../../src/engine/lane/operator-commands.js';
import { heartbeats } from '../../../src/engine/recovery/heartbeats.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { resolveUnknown } from '../../../src/engine/sending/unknown.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { createCampaignReader } from '../../../src/reporting/campaign-reader.js';
import { OPERATOR } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { importFixture, mobile } from '../../intake/import/import-fixture.js';

const { prefix, redis, url } = testRedis('desk');
const { deps, keys, lanes, lane: name } = importFixture(redis, prefix);
const blocking = connect(url, 'blocking');
const wakers = createWakers(blocking, keys);
afterAll(async () => {
  await wakers.close();
  blocking.disconnect();
});

async function claimed(message: string) {
  const lane = lanes.get(name);
  if (lane === undefined) throw new Error('no lane');
  const made = await importCampaign(deps, { recipients: [{ to: mobile(1) }], message });
  if (made.outcome !== 'created') throw new Error(made.outcome);
  const { claims } = await sendClaims(lane).take({ turn: message, call: 1, want: 1, seen: 0 });
  expect(claims).toHaveLength(1);
  const unanswered = claims.map((claim) => ({ claim, result: 'unknown' as const, reason: 'x' }));
  return { id: made.id, lane, becomesUnknown: () => settleSends(lane, unanswered, 0) };
}

test('An unknown batch of a cancelled campaign cannot be resent, and the error says what you can do instead', async () => {
  const { id, lane, becomesUnknown } = await claimed('Hello');
  await lane.commands.campaign('cancel', id);
  await becomesUnknown();
  const finder = openLanes(deps);
  const resolving = { wakers, events: deps.events, by: OPERATOR };
  await expect(resolveUnknown(finder, id, { as: 'resend' }, resolving)).rejects.toThrow(
    /is cancelled.*abandon/,
  );
  expect(await resolveUnknown(finder, id, { as: 'abandon' }, resolving)).toMatchObject({
    requests: 1,
    recipientCount: 1,
  });
});

test('A status that counts unknown recipients names their batch, even one that became unknown while it was read', async () => {
  const { id, becomesUnknown } = await claimed('Hello again');
  let first: Promise<unknown> | undefined;
  const read: typeof redis = Object.assign(Object.create(redis), {
    hgetall(key: string) {
      const batches = redis.hgetall(key);
      first ??= batches;
      return batches;
    },
  });
  const workers = heartbeats(redis, keys, Date.now);
  const alive: typeof workers.alive = async () => {
    await first;
    await becomesUnknown();
    return workers.alive();
  };
  const finder = openLanes({ ...deps, redis: read });
  const statuses = createCampaignReader({ redis, keys, finder, heartbeats: { ...workers, alive } });
  const status = await statuses.status(id);
  expect(await first).toEqual({});
  expect([status.counts.unknown, status.unknownOutcomes.length]).toEqual([1, 1]);
});

test('A repeated command emits no second event, because it changes nothing', async () => {
  const { id } = await claimed('Hello for the third time');
  const { events } = deps;
  const reported: string[] = [];
  const untell = events.onAny(({ type }) => {
    if (/^(campaign|lane)\./.test(type)) reported.push(type);
  });
  const finder = openLanes(deps);
  const { pause, resume, cancel, holdLane, resumeLane } = operatorCommands(finder, wakers, events, OPERATOR);
  for (const order of [pause, resume, cancel]) {
    await order(id);
    await order(id);
  }
  for (const order of [holdLane, resumeLane]) {
    await order('default');
    await order('default');
  }
  untell();
  expect(reported).toEqual([
    'campaign.paused',
    'campaign.resumed',
    'campaign.cancelled',
    'lane.held',
    'lane.reopened',
  ]);
});
