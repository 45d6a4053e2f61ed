import { setTimeout as delay } from 'node:timers/promises';
import { between, oneOf, type Scenario } from '../scenario.js';
import { ON_THE_WIRE } from '../world.js';

/** Any of our scripts or of BullMQ's, which are called by their hash. */
const SCRIPT = /\r\nevalsha\r\n/i;
/** A process that serves no lane at the moment runs few scripts; the next fault does not wait for it. */
const SPRUNG_WITHIN_MS = 1_500;

const restarts: Scenario = {
  name: 'redis-kill',
  does: 'Redis is killed in the middle of everything and started again',
  workers: ['all', 'all'],
  seconds: 8,
  async run({ redis, recorder, random, traffic }) {
    for (let times = 0; times < 3; times += 1) {
      await traffic(2);
      await delay(between(0, 1_500, random));
      await recorder.fault(
        { fault: 'kill', target: 'redis', forgets: false, mayLeave: ON_THE_WIRE },
        async () => {
          await redis.kill();
          await delay(between(0, 2_000, random));
          await redis.restart();
        },
      );
    }
  },
};

const cuts: Scenario = {
  name: 'redis-cut',
  does: 'connections to Redis break, some before a script runs, some after it and before its answer',
  workers: ['all', 'all'],
  seconds: 8,
  async run({ fleet, linksOf, recorder, random, traffic }) {
    await traffic(2);
    for (let times = 0; times < 16; times += 1) {
      await delay(between(0, 500, random));
      const member = oneOf(fleet.members, random);
      const { redis: link } = linksOf(member);
      const deed = oneOf(['cutBefore', 'cutAfter'] as const, random);
      const target = `${member.kind} ${member.place} to redis`;
      await recorder.fault({ fault: deed, target, forgets: false, mayLeave: 0 }, async () => {
        await Promise.race([link.trap({ on: 'request', holding: SCRIPT, deed }), delay(SPRUNG_WITHIN_MS)]);
        link.disarm();
      });
    }
  },
};

const pause: Scenario = {
  name: 'redis-pause',
  does: 'Redis answers nobody for longer than a lock lasts, and then everybody',
  workers: ['all', 'all'],
  seconds: 7,
  async run({ redis, recorder, random, traffic }) {
    await traffic(2);
    await delay(between(0, 1_000, random));
    const forMs = between(6_500, 8_000, random);
    await recorder.fault(
      { fault: 'CLIENT PAUSE', target: 'redis', forgets: false, mayLeave: 0 },
      async () => {
        await redis.ask('CLIENT', 'PAUSE', String(forMs), 'ALL');
        await delay(forMs);
      },
    );
    await traffic(2);
  },
};

const full: Scenario = {
  name: 'redis-full',
  does: 'Redis is out of memory for a while and refuses every write',
  workers: ['all', 'all'],
  seconds: 8,
  async run({ redis, recorder, random, traffic }) {
    for (const forMs of [between(300, 1_500, random), between(4_000, 8_000, random)]) {
      await traffic(2);
      await delay(between(0, 1_000, random));
      await recorder.fault(
        { fault: 'out of memory', target: 'redis', forgets: false, mayLeave: 0 },
        async () => {
          await redis.ask('CONFIG', 'SET', 'maxmemory', '1');
          await delay(forMs);
          await redis.ask('CONFIG', 'SET', 'maxmemory', '0');
        },
      );
    }
    await traffic(2);
  },
};

export const REDIS_SCENARIOS: readonly Scenario[] = [restarts, cuts, pause, full];
