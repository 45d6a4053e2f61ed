import { setTimeout as delay } from 'node:timers/promises';
import { integerBetween, pick, type Scenario } from '../scenario.js';
import { MAX_IN_FLIGHT, type World } from '../world.js';

/** Which processes die together with the data loss. */
type Killed = 'none' | 'some' | 'all';

/**
 * If a process that may have made claims is dead, the lane treats as many batches as unknown as that process can have
 * claimed during the lost time: at most twice the quota.
 */
const MAX_PLACEHOLDERS = 2 * (600 + 1_800 * 3);

/** A power cut that loses the last writes, which the disk had acknowledged. */
async function loseTail(
  { redis }: World,
  meanwhile: (lose: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const kept = await redis.logSize();
  await meanwhile(async () => {
    await redis.kill();
    // Cut in the middle of a command, like a torn write.
    await redis.truncateLog(kept - 3);
    await redis.restart();
  });
}

/** A failover to a replica that lagged behind. */
async function failOver(
  world: World,
  meanwhile: (lose: () => Promise<void>) => Promise<void>,
): Promise<void> {
  world.redis.pauseReplication();
  await meanwhile(async () => {
    await world.redis.failOver();
    world.redirect();
  });
}

function dataLoss(way: 'aof' | 'failover', killed: Killed, profile: 'v1' | 'v3' = 'v1'): Scenario {
  const lose = way === 'aof' ? loseTail : failOver;
  const loss = way === 'aof' ? 'Redis loses the end of its append-only file' : 'a lagging replica takes over';
  const processes = {
    none: 'all processes survive',
    some: 'one sending process is killed as well',
    all: 'all processes are killed as well',
  };
  return {
    name: `${killed === 'none' ? `${way}-alive` : `${way}-${killed}-dead`}${profile === 'v1' ? '' : `-${profile}`}`,
    description: `${loss}; ${processes[killed]}${profile === 'v1' ? '' : '; the service deduplicates'}`,
    profile,
    workers: ['send', 'send', 'follow-up'],
    seconds: 9,
    redis: way === 'aof' ? 'everySecond' : 'replicated',
    async run(world) {
      const { fleet, recorder, random, traffic, senders } = world;
      await traffic(4);
      await delay(integerBetween(0, 1_000, random));
      const victims = killed === 'all' ? fleet.members : killed === 'some' ? [pick(senders, random)] : [];
      const placeholders = victims.length === 0 ? 0 : MAX_PLACEHOLDERS;
      // Where the service deduplicates, what was in flight goes again under its correlator.
      const mayBeUnknown = placeholders + (profile === 'v3' ? 0 : MAX_IN_FLIGHT);
      await recorder.fault({ fault: way, target: 'redis', losesData: true, mayBeUnknown }, () =>
        lose(world, async (loseData) => {
          await delay(integerBetween(300, 900, random));
          await Promise.all(victims.map((member) => fleet.end(member, 'SIGKILL')));
          await loseData();
          for (const member of victims) fleet.begin(member);
        }),
      );
      await fleet.ready();
    },
  };
}

const sentinel: Scenario = {
  name: 'sentinel',
  description: 'the master is killed under load, and Sentinel promotes its replica',
  workers: ['send', 'send', 'follow-up'],
  seconds: 9,
  redis: 'sentinel',
  async run({ redis, recorder, random, traffic, fleet }) {
    await traffic(4);
    await delay(integerBetween(0, 1_000, random));
    await recorder.fault(
      { fault: 'failover', target: 'redis', losesData: true, mayBeUnknown: MAX_IN_FLIGHT },
      () => redis.failOver(),
    );
    await fleet.ready();
  },
};

const KILLED: readonly Killed[] = ['none', 'some', 'all'];

export const DATA_LOSS_SCENARIOS: readonly Scenario[] = [
  ...KILLED.flatMap((killed) => [dataLoss('aof', killed), dataLoss('failover', killed)]),
  dataLoss('aof', 'some', 'v3'),
  dataLoss('aof', 'all', 'v3'),
  dataLoss('failover', 'some', 'v3'),
  sentinel,
];
