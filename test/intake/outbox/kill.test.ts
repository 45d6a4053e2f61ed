import { expect, test } from 'vitest';
import type { Redis } from '../../../src/base/redis/connection.js';
import { outboxStore } from '../../../src/intake/outbox/messages/store.js';
import { tendOutbox } from '../../../src/intake/outbox/waves/tend-outbox.js';
import { forgetWave } from '../../../src/intake/outbox/waves/wave.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { START } from '../../engine/lane/lane-fixture.js';
import { LATE_MS, outboxFixture, RETENTION_MS } from './outbox-fixture.js';

const { redis, prefix } = testRedis('outbox-kill');

type Own = Awaited<ReturnType<typeof outboxFixture>>;

/** What a process that is killed was doing, and what is expected when others have finished it. */
interface Step {
  readonly name: string;
  /** Returns the ids that are to be sent. */
  begin(own: Own): Promise<readonly string[]>;
  /** What the process does on its connection. */
  run(own: Own, connection: Redis): Promise<unknown>;
  /** What the client repeats, because it got no answer. */
  repeat?(own: Own): Promise<unknown>;
}

const MESSAGE = {
  due: START / 1_000,
  version: null,
  number: '+447700900123',
  values: ['Ada'],
  reference: '',
};
const IDS = ['a', 'b', 'c'];
const MANY = Array.from({ length: 100 }, (_, at) => ({ id: `m${at}`, message: MESSAGE }));
const tend = (own: Own, connection: Redis) =>
  tendOutbox({ ...own.laneStore, redis: connection }, own.name, {
    random: Math.random,
    clock: own.now,
    retentionMs: RETENTION_MS,
    now: own.now(),
  });
const storeOf = (own: Own, connection: Redis) =>
  outboxStore({ ...own.laneStore, redis: connection }, own.name, { lateMs: LATE_MS });

const STEPS: readonly Step[] = [
  {
    name: 'begins a wave',
    async begin(own) {
      for (const id of IDS) await own.put(id);
      return IDS;
    },
    run: tend,
  },
  {
    name: 'appends to a wave',
    async begin(own) {
      await own.put('first');
      await own.tend();
      await own.settle(await own.claim(), 'accepted');
      for (const id of IDS) await own.put(id, 1_000);
      own.advance(1_000);
      return IDS;
    },
    run: tend,
  },
  {
    name: 'lapses, forgets, and seals',
    async begin(own) {
      await own.put('planned');
      await own.tend();
      await own.put('late', 1_000);
      await own.put('over', 1_000);
      await own.cancel('over');
      own.advance(LATE_MS + RETENTION_MS + 3_600_000);
      await own.put('a');
      return ['a'];
    },
    run: tend,
  },
  {
    name: 'stores messages',
    begin: async () => MANY.map(({ id }) => id),
    run: (own, connection) => storeOf(own, connection).put(MANY, { now: own.now() }),
    repeat: (own) => own.store.put(MANY, { now: own.now() }),
  },
  {
    name: 'cancels a waiting message, and one that is planned',
    async begin(own) {
      await own.put('planned');
      await own.tend();
      await own.put('a');
      await own.put('waiting');
      return ['a'];
    },
    async run(own, connection) {
      for (const id of ['planned', 'waiting']) {
        const options = { version: null, now: own.now(), retentionMs: RETENTION_MS, time: own.now() };
        await storeOf(own, connection).cancel(id, options);
      }
    },
    async repeat(own) {
      expect(await own.cancel('planned')).toBe('cancelled');
      expect(await own.cancel('waiting')).toBe('cancelled');
    },
  },
  {
    name: 'forgets a wave',
    async begin(own) {
      await own.put('sent');
      await own.tend();
      await own.settle(await own.claim(), 'accepted');
      const [claim] = await own.claims
        .poll({ turn: 'p', call: 1, want: 1, now: own.now() + 60_000 })
        .then(({ claims }) => claims);
      if (claim !== undefined)
        await own.settlements.poll(
          [{ claim, result: 'infos', letters: 'T', requestId: '', reason: '' }],
          0.5,
          own.now() + 60_000,
        );
      own.advance(86_400_000 + 60_000);
      await own.tend();
      await own.put('a');
      return ['a'];
    },
    run: async (own, connection) =>
      forgetWave({ ...own.laneStore, redis: connection }, (await own.waves())[0] ?? ''),
    repeat: async (own) => forgetWave(own.laneStore, (await own.waves())[0] ?? ''),
  },
];

/** A connection of a process that is killed after so many commands. */
function mortal(commands: number): { readonly connection: Redis; isDead(): boolean } {
  let left = commands;
  const pass = (): void => {
    if (left === 0) {
      left = -1;
    }
    if (left < 0) throw new Error('killed');
    left -= 1;
  };
  const connection = new Proxy(redis, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property, target);
      if (typeof member !== 'function') return member;
      if (property === 'pipeline') {
        return () => {
          pass();
          return target.pipeline();
        };
      }
      return async (...args: unknown[]): Promise<unknown> => {
        pass();
        return Reflect.apply(member, target, args);
      };
    },
  });
  return { connection, isDead: () => left < 0 };
}

test.each(STEPS)(
  'A process may be killed at each command while it $name: others finish it',
  {
    timeout: 120_000,
  },
  async ({ begin, run, repeat }) => {
    let isKilled = true;
    let commands = 0;
    for (; isKilled; commands += 1) {
      const own = await outboxFixture(redis, prefix);
      const expected = await begin(own);
      const { connection, isDead } = mortal(commands);
      await run(own, connection).catch((error: unknown) => {
        if (!isDead()) throw error;
      });
      isKilled = isDead();
      if (isKilled) await repeat?.(own);

      const sent: string[] = [];
      for (let rounds = 0; rounds < 12 && sent.length < expected.length; rounds += 1) {
        own.advance(1_000);
        await own.tendDue();
        const claims = await own.claim();
        sent.push(...(await own.idsOf(claims)));
        await own.settle(claims, 'accepted');
      }
      own.advance(1_000);
      await own.tendDue();
      sent.push(...(await own.idsOf(await own.claim())));
      expect(sent.sort(), `killed after ${commands} commands`).toEqual([...expected].sort());
      const { total, sum, waiting } = await own.counts();
      expect([sum, waiting], `killed after ${commands} commands`).toEqual([total, 0]);
      const results = await own.follow()();
      const learned = results.filter(({ campaign }) => campaign === null);
      expect(new Map(learned.map(({ message, status }) => [message, status]))).toEqual(await own.ended());
    }
    expect(commands).toBeGreaterThan(1);
  },
);
