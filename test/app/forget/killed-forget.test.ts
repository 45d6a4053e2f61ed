import { expect, test } from 'vitest';
import { openForgettingOf } from '../../../src/app/runtime/forgetting.js';
import { NIGHTLY } from '../../base/parts.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { OPERATOR } from '../access/operator.js';
import { ADA, ada, enqueue, IN_AN_HOUR, type Installation, installation, others } from './installation.js';

const server = testRedis('forget-killed');
const { redis } = server;

/** A connection of a process that is killed when it sends its command number `last`. */
function dyingAfter(instance: Installation['instance'], last: number): Installation['instance'] {
  let sentCommands = 0;
  const redis = new Proxy(instance.redis, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function' || name === 'on') return member;
      return (...args: unknown[]) => {
        sentCommands += 1;
        if (sentCommands > last) throw new Error('killed');
        return member.apply(target, args);
      };
    },
  });
  return {
    ...instance,
    redis,
    finder: { ...instance.finder, withId: async (id) => ({ ...(await instance.finder.withId(id)), redis }) },
  };
}

/** Of the writes after which it is killed, every fourth one; in the nightly checks, each. */
const STEP = NIGHTLY ? 1 : 4;

test('Wherever the process is killed, a worker forgets the number completely, and each message is cancelled once', async () => {
  let [last, isDone, runs] = [1, false, 0];
  const counted = new Set<string>();
  while (!isDone) {
    runs += 1;
    const own = installation(server, `killed-${last}`);
    const { volley, keys, instance } = own;
    const id = await enqueue(own, [...others(1), ada, ...others(3).slice(1), ada], { duplicates: 'keep' });
    await volley.outboxes.create({ name: 'box', message: 'Hi {{name}}' });
    await volley.outbox('box').put({ ...ada, id: 'waiting', sendAt: IN_AN_HOUR });
    const dying = await openForgettingOf(dyingAfter(instance, last));
    await dying.forget(ADA.number, {}, OPERATOR).then(
      () => {
        isDone = true;
      },
      (error: Error) => expect(error.message).toBe('killed'),
    );
    const [request] = await redis.keys(`{${own.prefix}:forget:all}:request:*`);
    if (request !== undefined) {
      // The lease of the process that was killed expires.
      await redis.unlink(keys.forget.lease(request.split(':').at(-1) ?? ''));
      await own.resume();
      expect([last, await own.withAda()]).toEqual([last, []]);
      const { counts } = await volley.status(id);
      expect([last, counts.cancelled, counts.planned]).toEqual([last, 1, 3]);
      const { state, cancelled, erased, ...rest } = await redis.hgetall(request);
      expect([last, state, cancelled]).toEqual([last, 'done', '2']);
      expect(Object.keys(rest).sort()).toEqual(['createdAt', 'cursor', 'endedAt', 'keep', 'step']);
      counted.add(erased ?? '');
    }
    await own.close();
    last += STEP;
  }
  expect(runs).toBeGreaterThan(40 / STEP);
  // However often it was killed, what it has erased was counted once.
  expect([...counted]).toHaveLength(1);
});
