import { expect, test } from 'vitest';
import type { Redis } from '../../../src/base/redis/connection.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { outboxStore } from '../../../src/intake/outbox/messages/store.js';
import { lapseDue, tendOutboxes } from '../../../src/intake/outbox/tending/tend-lane.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { START } from '../../engine/lane/lane-fixture.js';
import { OPEN_FOR_MS, outboxFixture, RETENTION_MS } from './outbox-fixture.js';

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
  /** What happens then, also if it was not killed. */
  afterwards?(own: Own): Promise<unknown>;
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
const tend = async (own: Own, connection: Redis) => {
  const lane = { ...own.laneStore, redis: connection };
  await lapseDue(lane, own.now());
  const options = { clock: own.now, retentionMs: RETENTION_MS, openForMs: OPEN_FOR_MS, now: own.now() };
  await tendOutboxes(lane, options);
};
const storeOf = async (own: Own, connection: Redis) =>
  outboxStore({ ...own.laneStore, redis: connection }, own.name, { edition: (await own.read()).edition });

/** What the step that runs has claimed before. */
let inFlight: readonly SendClaim[] = [];

const STEPS: readonly Step[] = [
  {
    name: 'looks at what is due',
    async begin(own) {
      await own.put('first');
      await own.settle(await own.claim(), 'accepted');
      for (const id of IDS) await own.put(id, 1_000);
      own.advance(1_000);
      return IDS;
    },
    run: tend,
  },
  {
    name: 'lets messages lapse, and forgets others',
    async begin(own) {
      await own.put('sent');
      await own.settle(await own.claim(), 'accepted');
      await own.put('late', 1_000);
      await own.put('over', 1_000);
      await own.cancel('over');
      own.advance(OPEN_FOR_MS + RETENTION_MS);
      await own.put('a');
      return ['a'];
    },
    run: tend,
  },
  {
    name: 'stores messages',
    begin: async () => MANY.map(({ id }) => id),
    run: async (own, connection) => (await storeOf(own, connection)).put(MANY, own.now()),
    repeat: async (own) => (await storeOf(own, redis)).put(MANY, own.now()),
  },
  {
    name: 'changes the settings',
    async begin(own) {
      for (const id of IDS) await own.put(id, 1_000);
      return IDS;
    },
    run: (own, connection) =>
      own.set({ message: '{{name}}, {{doctor}}' }, { over: connection, values: { doctor: 'Who' } }),
    repeat: (own) => own.set({ message: '{{name}}, {{doctor}}' }, { values: { doctor: 'Who' } }),
  },
  {
    name: 'changes the settings, with a message in flight that is released, and no client repeats the change',
    async begin(own) {
      for (const id of IDS) await own.put(id);
      inFlight = await own.claim(1);
      return IDS;
    },
    run: (own, connection) =>
      own.set({ message: '{{name}}, {{doctor}}' }, { over: connection, values: { doctor: 'Who' } }),
    afterwards: (own) => own.settle(inFlight, 'released'),
  },
  {
    name: 'cancels messages that wait',
    async begin(own) {
      await own.put('due');
      await own.tend();
      await own.put('a');
      await own.put('waiting', 1_000);
      return ['a'];
    },
    async run(own, connection) {
      const store = await storeOf(own, connection);
      for (const id of ['due', 'waiting']) await store.cancel(id, { version: null, time: own.now() });
    },
    async repeat(own) {
      expect(await own.cancel('due')).toBe('cancelled');
      expect(await own.cancel('waiting')).toBe('cancelled');
    },
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
  async ({ begin, run, repeat, afterwards }) => {
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
      await afterwards?.(own);

      const sent: string[] = [];
      // A change of settings is completed when the lease of the process that made it is over.
      for (let rounds = 0; rounds < 45 && sent.length < expected.length; rounds += 1) {
        own.advance(1_000);
        await own.tend();
        const claims = await own.claim();
        sent.push(...(await own.idsOf(claims)));
        for (const claim of claims) expect(['Hi Ada', 'Ada, Who']).toContain(await own.textOf(claim));
        await own.settle(claims, 'accepted');
      }
      own.advance(1_000);
      await own.tend();
      sent.push(...(await own.idsOf(await own.claim())));
      expect(sent.sort(), `killed after ${commands} commands`).toEqual([...expected].sort());
      const { total, sum, waiting } = await own.counts();
      expect([sum, waiting], `killed after ${commands} commands`).toEqual([total, 0]);
      const learned = new Map((await own.follow()()).map(({ message, status }) => [message, status]));
      for (const [id, state] of await own.ended()) expect(learned.get(id)).toBe(state);
    }
    expect(commands).toBeGreaterThan(1);
  },
);
