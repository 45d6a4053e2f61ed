import { expect, test } from 'vitest';
import { createDesk } from '../../src/pipeline/desk.js';
import { importCampaign } from '../../src/pipeline/import.js';
import { createWakers } from '../../src/pipeline/queues.js';
import { roster } from '../../src/pipeline/roster.js';
import { connect } from '../../src/redis/connection.js';
import { testRedis } from '../redis/test-redis.js';
import { importFixture, mobile } from './import-fixture.js';

const { prefix, redis, url } = testRedis('desk');
const { deps, keys, lane: name } = importFixture(redis, prefix);

test('what is unknown of a cancelled campaign cannot be sent again, and says what can be done with it', async () => {
  const lane = deps.lanes.get(name);
  if (lane === undefined) throw new Error('no lane');
  const made = await importCampaign(deps, { recipients: [{ to: mobile(1) }], message: 'Hello' });
  if (made.kind !== 'created') throw new Error(made.kind);
  const { claims } = await lane.claims.send({ turn: 't', call: 1, want: 1, seen: 0 });
  expect(claims).toHaveLength(1);
  await lane.commands.campaign('cancel', made.id);
  await lane.settlements.send(
    claims.map((claim) => ({ claim, as: 'unknown', reason: 'x' })),
    0,
  );
  const blocking = connect(url, 'blocking');
  const wakers = createWakers(blocking, keys);
  const { lanes, events } = deps;
  const desk = createDesk({ redis, keys, lanes, wakers, roster: roster(redis, keys, Date.now), events });
  try {
    await expect(desk.resolve(made.id, { as: 'resend' })).rejects.toThrow(
      /is cancelled.*given up or counted/,
    );
    expect(await desk.resolve(made.id, { as: 'abandon' })).toMatchObject({ batches: 1, recipients: 1 });
  } finally {
    await wakers.close();
    blocking.disconnect();
  }
});
