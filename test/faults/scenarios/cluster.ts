import { setTimeout as delay } from 'node:timers/promises';
import type { PrivateCluster } from '../../base/redis/servers/cluster.js';
import { integerBetween, type Scenario, shuffled } from '../scenario.js';
import { LANE_KEYS, type World } from '../world.js';

/** Longer than a recovery barrier lasts in these runs. */
const STANDSTILL_MS = 6_000;

/** Nothing is lost and no process dies, so no outcome may become unknown. */
const HARMLESS = { losesData: false, mayBeUnknown: 0 } as const;

function clusterOf({ redis: { cluster } }: World): PrivateCluster {
  if (cluster === undefined) throw new TypeError('this scenario needs a cluster');
  return cluster;
}

const reshard: Scenario = {
  name: 'reshard',
  description:
    'the slot of each lane moves to another node of the cluster, then again when the quota is used up',
  workers: ['send', 'send', 'follow-up'],
  seconds: 9,
  quota: 0.1,
  redis: 'cluster',
  async run(world) {
    const { recorder, random, traffic } = world;
    const cluster = clusterOf(world);
    await traffic(4);
    for (let times = 0; times < 2; times += 1) {
      for (const key of shuffled(LANE_KEYS, random)) {
        await delay(integerBetween(0, 1_000, random));
        await recorder.fault({ fault: 'reshard', target: key, ...HARMLESS }, () => cluster.moveSlot(key));
      }
      if (times === 0) await standstill(world);
    }
  },
};

/** Resolves when the service has accepted nothing for a while, because all permits are used. */
async function standstill({ accepted }: World): Promise<void> {
  for (let [before, now] = [-1, await accepted()]; before !== now; [before, now] = [now, await accepted()]) {
    await delay(STANDSTILL_MS);
  }
}

const failOver: Scenario = {
  name: 'cluster-failover',
  description: "an operator lets each lane's replica take over (CLUSTER FAILOVER)",
  workers: ['send', 'send', 'follow-up'],
  seconds: 8,
  redis: 'replicatedCluster',
  async run(world) {
    const { recorder, random, traffic } = world;
    const cluster = clusterOf(world);
    await traffic(4);
    for (const key of shuffled(LANE_KEYS, random)) {
      await delay(integerBetween(0, 1_000, random));
      await recorder.fault({ fault: 'CLUSTER FAILOVER', target: key, ...HARMLESS }, () =>
        cluster.failOver(key),
      );
    }
    await traffic(2);
  },
};

const rollingRestart: Scenario = {
  name: 'cluster-restart',
  description: 'an operator restarts one node of the cluster after the other',
  workers: ['send', 'send', 'follow-up'],
  seconds: 8,
  redis: 'cluster',
  async run(world) {
    const { recorder, random, traffic } = world;
    const cluster = clusterOf(world);
    await traffic(4);
    for (const node of cluster.nodes.keys()) {
      await delay(integerBetween(0, 1_000, random));
      await recorder.fault({ fault: 'restart', target: `node ${node}`, ...HARMLESS }, async () => {
        await cluster.nodes[node]?.stop();
        await cluster.restart(node);
      });
    }
    await traffic(2);
  },
};

export const CLUSTER_SCENARIOS: readonly Scenario[] = [rollingRestart, failOver, reshard];
