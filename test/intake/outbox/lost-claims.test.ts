import { expect, test } from 'vitest';
import { reportToBarrier } from '../../../src/engine/recovery/replay-claims.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { losableServer } from '../../engine/losable-server.js';
import { reportReplay } from '../../engine/recovery/mortal-workers.js';
import { LATE_MS, outboxFixture } from './outbox-fixture.js';

const { redis, prefix } = testRedis('outbox-lost');
/** How much the server may lose. */
const LOSS = 2_000;

/**
 * Three messages of an outbox on a lane of a service that deduplicates. Worker `a` claims them and dies, Redis loses the claims, and
 * worker `b` recovers: the messages have unknown outcomes.
 */
async function recovered(name: string) {
  const own = await outboxFixture(redis, `${prefix}-${name}`, { repeatFor: 80_000_000 });
  let turns = 0;
  const claim = (process: string) => {
    turns += 1;
    const turn = `${process}${turns}`;
    return own.claims.send({ turn, call: 1, want: 10, ...self(process), now: own.now() });
  };
  const self = (process: string) => ({ process, seen: 0, mayLoseMs: LOSS, withReplicaMs: LOSS });
  for (const process of ['a', 'b'])
    await reportToBarrier(own.laneStore, 'join', self(process), { now: own.now() });
  await claim('a');
  own.advance(2 * LOSS);
  await own.put('a');
  await own.put('b');
  own.advance(1_000);
  await own.put('c');
  own.advance(LOSS);

  const server = losableServer(redis, `${prefix}-${name}`);
  await server.backUp();
  const lost = (await claim('a')).claims;
  await server.lose();
  await own.stored.changeServer();

  await claim('b');
  await reportReplay(own.laneStore, self('b'), { now: own.now() });
  own.advance(2 * own.rules.grace);
  for (let calls = 0; calls < 5; calls += 1) await claim('b');
  const placeholders = Object.values(await own.stored.claims());
  own.advance(own.rules.timeout + own.rules.margin + 1);
  await own.sweep(own.now(), ['b']);
  return { ...own, lost, placeholders, again: async () => (await claim('b')).claims };
}

test('Messages whose claims Redis lost stay unknown, and are not sent again', async () => {
  const own = await recovered('late');
  const named = ({ message, first }: { readonly message?: string | undefined; readonly first: number }) => [
    message,
    first,
  ];
  const all = [
    ['a', 1],
    ['b', 2],
    ['c', 3],
  ];
  expect(own.lost.map(named)).toEqual(all);
  expect(own.placeholders.map(named).sort()).toEqual(all);
  expect(new Set(own.placeholders.map(({ notAfter }) => notAfter)).size).toBe(2);
  expect(await own.again()).toEqual([]);
  own.advance(LATE_MS);
  expect(await own.again()).toEqual([]);
  await own.tend();
  expect(await own.again()).toEqual([]);
  own.advance(own.rules.timeout + own.rules.margin + 1);
  await own.sweep(own.now(), ['b']);
  await own.tend();
  expect(await own.again()).toEqual([]);
  expect(await own.statesOf('a', 'b', 'c')).toEqual(['unknown', 'unknown', 'unknown']);
  expect(await own.counts()).toMatchObject({ total: 3, sum: 3 });
});
