import { setTimeout as delay } from 'node:timers/promises';
import { between, oneOf, type Scenario } from '../scenario.js';
import { ON_THE_WIRE, type World } from '../world.js';

/** Who dies together with what Redis has forgotten. */
type Dead = 'nobody' | 'some' | 'all';

/**
 * Where those who may have claimed are dead, the lane gives up on as many batches as they can have claimed in the time
 * that may be lost: no more than twice its quota.
 */
const GIVEN_UP = 2 * (600 + 1_800 * 3);

/** A power cut whose last writes were not on disk, in spite of what the disk had said. */
async function loseTail(
  { redis }: World,
  meanwhile: (lose: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const kept = await redis.written();
  await meanwhile(async () => {
    await redis.kill();
    // In the middle of a command, as a torn write is.
    await redis.forgetAfter(kept - 3);
    await redis.restart();
  });
}

/** A failover to a replica that lagged behind. */
async function failOver(
  world: World,
  meanwhile: (lose: () => Promise<void>) => Promise<void>,
): Promise<void> {
  world.redis.deafen();
  await meanwhile(async () => {
    await world.redis.failOver();
    world.redirect();
  });
}

function forgetting(way: 'aof' | 'failover', dead: Dead): Scenario {
  const lose = way === 'aof' ? loseTail : failOver;
  const what = way === 'aof' ? 'Redis loses the tail of its file' : 'a replica that lags behind takes over';
  const who = {
    nobody: 'every process lives',
    some: 'one sender dies with it',
    all: 'all processes die with it',
  };
  return {
    name: dead === 'nobody' ? `${way}-alive` : `${way}-${dead}-dead`,
    does: `${what}; ${who[dead]}`,
    workers: ['send', 'send', 'follow-up'],
    seconds: 9,
    redis: way === 'aof' ? 'everySecond' : 'replicated',
    async run(world) {
      const { fleet, recorder, random, traffic, senders } = world;
      await traffic(4);
      await delay(between(0, 1_000, random));
      const killed = dead === 'all' ? fleet.members : dead === 'some' ? [oneOf(senders, random)] : [];
      const mayLeave = killed.length === 0 ? ON_THE_WIRE : ON_THE_WIRE + GIVEN_UP;
      await recorder.fault({ fault: way, target: 'redis', forgets: true, mayLeave }, () =>
        lose(world, async (forget) => {
          await delay(between(300, 900, random));
          await Promise.all(killed.map((member) => fleet.end(member, 'SIGKILL')));
          await forget();
          for (const member of killed) fleet.begin(member);
        }),
      );
      await fleet.ready();
    },
  };
}

const DEAD: readonly Dead[] = ['nobody', 'some', 'all'];

export const FORGETTING_SCENARIOS: readonly Scenario[] = DEAD.flatMap((dead) => [
  forgetting('aof', dead),
  forgetting('failover', dead),
]);
