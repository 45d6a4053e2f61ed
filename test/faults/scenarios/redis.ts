import { setTimeout as delay } from 'node:timers/promises';
import type { FailingRedis } from '../failing-redis.js';
import { integerBetween, pick, type Scenario } from '../scenario.js';
import { canMount } from '../small-disk.js';
import { MAX_IN_FLIGHT } from '../world.js';

/** Matches any call of a Lua script, ours or BullMQ's. */
const SCRIPT = /\r\nevalsha\r\n/i;
/** An idle process may run no script in time; then the next fault follows. */
const TRIGGERED_WITHIN_MS = 1_500;

const restarts: Scenario = {
  name: 'redis-kill',
  description: 'Redis is killed under load and restarted',
  workers: ['all', 'all'],
  seconds: 8,
  async run({ redis, recorder, random, traffic }) {
    for (let times = 0; times < 3; times += 1) {
      await traffic(2);
      await delay(integerBetween(0, 1_500, random));
      await recorder.fault(
        { fault: 'kill', target: 'redis', losesData: false, mayBeUnknown: MAX_IN_FLIGHT },
        async () => {
          await redis.kill();
          await delay(integerBetween(0, 2_000, random));
          await redis.restart();
        },
      );
    }
  },
};

const cuts: Scenario = {
  name: 'redis-cut',
  description: 'connections to Redis are cut, some before a script runs, some after it but before its reply',
  workers: ['all', 'all'],
  seconds: 8,
  async run({ fleet, proxiesOf, recorder, random, traffic }) {
    await traffic(2);
    for (let times = 0; times < 16; times += 1) {
      await delay(integerBetween(0, 500, random));
      const member = pick(fleet.members, random);
      const { redis: proxy } = proxiesOf(member);
      const action = pick(['cutBefore', 'cutAfter'] as const, random);
      const target = `${member.kind} ${member.place} to redis`;
      await recorder.fault({ fault: action, target, losesData: false, mayBeUnknown: 0 }, async () => {
        await Promise.race([
          proxy.trap({ on: 'request', matching: SCRIPT, action }),
          delay(TRIGGERED_WITHIN_MS),
        ]);
        proxy.disarm();
      });
    }
  },
};

const pause: Scenario = {
  name: 'redis-pause',
  description: 'Redis answers no command for longer than a lock lasts, then all of them',
  workers: ['all', 'all'],
  seconds: 7,
  async run({ redis, recorder, random, traffic }) {
    await traffic(2);
    await delay(integerBetween(0, 1_000, random));
    const forMs = integerBetween(6_500, 8_000, random);
    await recorder.fault(
      { fault: 'CLIENT PAUSE', target: 'redis', losesData: false, mayBeUnknown: 0 },
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
  description: 'Redis is out of memory for a while and refuses writes',
  workers: ['all', 'all'],
  seconds: 8,
  async run({ redis, recorder, random, traffic }) {
    for (const forMs of [integerBetween(300, 1_500, random), integerBetween(4_000, 8_000, random)]) {
      await traffic(2);
      await delay(integerBetween(0, 1_000, random));
      await recorder.fault(
        { fault: 'out of memory', target: 'redis', losesData: false, mayBeUnknown: 0 },
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

const slow: Scenario = {
  name: 'redis-slow',
  description: 'each reply of Redis takes one to two seconds',
  workers: ['all', 'all'],
  seconds: 10,
  async run({ fleet, proxiesOf, recorder, random, traffic }) {
    await traffic(2);
    const proxies = fleet.members.map((member) => proxiesOf(member).redis);
    await recorder.fault({ fault: 'slow', target: 'redis', losesData: false, mayBeUnknown: 0 }, async () => {
      for (const proxy of proxies)
        proxy.shapeTraffic({ delayMs: integerBetween(500, 1_000, random), dripMs: 0 });
      await delay(20_000);
      for (const proxy of proxies) proxy.shapeTraffic({ delayMs: 0, dripMs: 0 });
    });
    await traffic(1);
  },
};

/** Waits until the server refuses to write, or has ended. Rejects if it still writes after some seconds. */
async function refusesWrites(server: FailingRedis): Promise<void> {
  for (let tries = 0; tries < 40; tries += 1) {
    const write = server.ask('SET', 'written', String(tries)).then(
      () => true,
      () => false,
    );
    if (!(await Promise.race([write, delay(1_000, false)]))) return;
    await delay(100);
  }
  throw new Error('Redis still writes although its disk is full');
}

/**
 * Where every write is on disk before its reply, a server that cannot write ends itself. Otherwise it refuses commands that write, and
 * says so, until the disk has room.
 */
function diskFull(name: string, redis: 'smallDisk' | 'smallDiskEverySecond'): Scenario {
  return {
    name,
    description: 'the disk of the append-only file is full for a while',
    workers: ['all', 'all'],
    seconds: 8,
    redis,
    isPossible: canMount,
    needs: 'Linux and root',
    async run({ redis: server, recorder, random, traffic }) {
      for (let times = 0; times < 2; times += 1) {
        await traffic(2);
        await recorder.fault(
          {
            fault: 'disk full',
            target: 'redis',
            losesData: redis !== 'smallDisk',
            mayBeUnknown: MAX_IN_FLIGHT,
          },
          async () => {
            await server.disk?.fill();
            await refusesWrites(server);
            await delay(integerBetween(2_000, 6_000, random));
            await server.disk?.free();
            if (redis === 'smallDisk') await server.restart();
          },
        );
      }
      await traffic(2);
    },
  };
}

/** Within this time after the path works again, each lane has a request accepted. */
const RESUMES_WITHIN_MS = 20_000;

function drop(name: string, workers: Scenario['workers']): Scenario {
  return {
    name,
    description:
      'the path to Redis silently drops packets: first of the open connections, then also of new ones',
    workers,
    seconds: 25,
    async run({ fleet, proxiesOf, recorder, random, traffic }) {
      const proxies = fleet.members.map((member) => proxiesOf(member).redis);
      for (const forMs of [0, integerBetween(8_000, 20_000, random)]) {
        await traffic(2);
        await recorder.fault(
          // The reply to a claim may be dropped. Its requests are not sent, and when the worker is back, their claims are overdue.
          { fault: 'drop', target: 'redis', losesData: false, mayBeUnknown: MAX_IN_FLIGHT },
          async () => {
            for (const proxy of proxies) proxy.freeze();
            await delay(forMs);
            for (const proxy of proxies) proxy.thaw();
            const resumed = await Promise.race([
              traffic(1).then(() => true),
              delay(RESUMES_WITHIN_MS, false),
            ]);
            if (!resumed)
              throw new Error(`no request within ${RESUMES_WITHIN_MS} ms after the path worked again`);
          },
        );
      }
      const reports = new Set(fleet.logged('redis.lost').map(({ pid }) => pid));
      if (reports.size < fleet.members.length)
        throw new Error('a process has not reported the lost connection');
    },
  };
}

export const REDIS_SCENARIOS: readonly Scenario[] = [
  restarts,
  cuts,
  pause,
  full,
  slow,
  diskFull('redis-disk-full', 'smallDisk'),
  diskFull('redis-disk-full-everysec', 'smallDiskEverySecond'),
  drop('redis-drop', ['all', 'all']),
  drop('redis-drop-roles', ['send', 'follow-up']),
];
