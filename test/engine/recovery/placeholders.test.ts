import { expect, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';
import { START } from '../lane/lane-fixture.js';
import { LOSS_MS, laneWithWorkers } from './mortal-workers.js';

const server = testRedis('placeholders');
/** More than one call considers as candidates for placeholder claims. */
const MANY = 300;
/** Redis orders what has the same virtual start by its name. */
const LAST = 'z';
/** Batches that a quiet lane may have lost. */
const MOST_LOST = 3 * 128;
const LONG_AGO = START - 3_600_000;

/** A lane on which worker `a` may die with what is lost, and worker `b` remains. LAST is the last campaign in its order. */
async function laneWithLast(name: string, recipients: number) {
  const it = await laneWithWorkers(server, name, 0, { quota: 10_000 });
  await it.stored.stopAll();
  await it.campaign(LAST, recipients, { launchAt: LONG_AGO });
  for (const process of ['a', 'b']) await it.join(process, START);
  return {
    ...it,
    /** Worker `a` sends so many requests, which are lost with it. `b` recovers: returns what it sends. */
    async lose(requests: number) {
      const { claims } = await it.claim('a', requests, START + LOSS_MS);
      expect(claims.filter(({ campaign }) => campaign === LAST)).toHaveLength(requests);
      await it.failOver();
      await it.replayed('b', START + LOSS_MS);
      let now = START + LOSS_MS + 2 * it.rules.grace;
      const first = [...(await it.claim('b', 1, now)).claims];
      while ((await it.stored.placeholdersLeft()) > 0) first.push(...(await it.claim('b', 1, now)).claims);
      now += it.rules.timeout + it.rules.margin + 1;
      await it.sweep(now, ['a', 'b']);
      const rest = [...first, ...(await it.claimAll('b', now))];
      const ofLast = rest.filter(({ campaign }) => campaign === LAST);
      return { first: Math.min(...ofLast.map(({ first }) => first)), others: rest.length - ofLast.length };
    },
  };
}

test('A lane makes placeholder claims although thousands of removed campaigns leave its order at once', async () => {
  const it = await laneWithLast('removed', 500);
  for (let at = 0; at < 9_000; at += 1_000)
    await Promise.all(Array.from({ length: 1_000 }, (_, each) => it.stored.run(`gone-${at + each}`)));
  await it.stored.run(LAST, -MANY);
  await it.backUp();
  expect(await it.lose(20)).toEqual({ first: MOST_LOST, others: 0 });
});
