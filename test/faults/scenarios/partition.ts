import { setTimeout as delay } from 'node:timers/promises';
import type { Member } from '../../end-to-end/fleet.js';
import type { Durability } from '../failing-redis.js';
import type { Scenario } from '../scenario.js';
import { canSeparate } from '../separate-network.js';
import { MAX_IN_FLIGHT, type World } from '../world.js';

/** How long the campaigns run before the network breaks, and for how long it is broken. */
const TRAFFIC_MS = 30_000;
const PARTITION_MS = 15_000;

/**
 * What the cut-off process may have claimed unseen becomes unknown: at most three times as many batches as in a loss time, and
 * never more than the rest of the campaigns.
 */
const MAX_LOST = 7_500;

const partition = (name: string, fence: string, redis: Durability, seconds: number): Scenario => ({
  name,
  description: `one sending process stays with a master that is cut off, while its replica takes over for all others; ${fence}; then the network heals`,
  workers: ['send', 'send', 'all'],
  seconds,
  redis,
  async run(world) {
    const { recorder, traffic } = world;
    await traffic(4);
    await delay(TRAFFIC_MS);
    const left = await nextSender(world);
    const target = `${left.kind} ${left.place}`;
    await recorder.fault(
      { fault: 'partition', target, losesData: true, mayBeUnknown: MAX_IN_FLIGHT + MAX_LOST },
      async () => {
        await world.redis.partition();
        world.redirect(left);
        await delay(PARTITION_MS);
        await world.redis.heal();
        world.redirect();
      },
    );
    await traffic(2);
  },
});

/** The process that sends the next batch, so that it serves a lane that is busy. */
function nextSender({ senders, proxiesOf }: World): Promise<Member> {
  return Promise.race(
    senders.map(async (member) => {
      await proxiesOf(member).service.trap({
        on: 'request',
        matching: /Sale on burst/,
        action: async () => {},
      });
      return member;
    }),
  );
}

const sentinel: Scenario = {
  name: 'partition-sentinel',
  description:
    'the master, a Sentinel, and one sending process lose the network to the rest, where Sentinel promotes a replica; then the network heals',
  workers: ['send', 'send', 'all'],
  seconds: 50,
  redis: 'separateSentinel',
  isPossible: canSeparate,
  needs: 'Linux, root, and the program ip',
  async run({ redis, fleet, recorder, traffic, senders, proxiesOf }) {
    const [left, ...others] = senders;
    if (left === undefined) throw new Error('no process sends');
    // Alone at first, so that the process serves both lanes when it is cut off.
    await Promise.all(others.map((member) => fleet.end(member, 'SIGTERM')));
    await traffic(4);
    await delay(TRAFFIC_MS / 2);
    for (const member of others) fleet.begin(member);
    await fleet.ready();
    await proxiesOf(left).service.trap({ on: 'request', matching: /Sale on/, action: async () => {} });
    const target = `${left.kind} ${left.place}`;
    await recorder.fault(
      { fault: 'partition', target, losesData: true, mayBeUnknown: MAX_IN_FLIGHT + MAX_LOST },
      async () => {
        await redis.partition();
        await delay(PARTITION_MS);
        await redis.heal();
      },
    );
    await traffic(2);
  },
};

export const PARTITION_SCENARIOS: readonly Scenario[] = [
  partition('partition', 'the master soon refuses writes', 'fenced', 75),
  partition('partition-configured', 'the master accepts writes all the time', 'unfenced', 55),
  sentinel,
];
