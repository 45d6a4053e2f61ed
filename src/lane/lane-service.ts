import type { LaneStatus } from '../campaign/views.js';
import type { Events } from '../events/events.js';
import type { Roster } from '../recovery/heartbeats.js';
import { wakeLane } from '../recovery/sweep.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { createCampaignReader } from '../reporting/campaign-reader.js';
import { laneStatus } from '../reporting/status.js';
import { resolveUnknown } from '../sending/resolve-unknown.js';
import type { Volley } from '../volley.js';
import { campaignOrders } from './campaign-commands.js';
import type { Lane } from './lane.js';
import { laneFinder } from './lane-finder.js';
import type { Wakers } from './queues.js';

/** What {@link createDesk} goes by. */
export interface DeskOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly wakers: Wakers;
  readonly roster: Roster;
  readonly events: Events;
}

/** Where an operator asks and orders: everything about campaigns and lanes that are there already. */
export type Desk = Pick<
  Volley,
  | 'status'
  | 'list'
  | 'page'
  | 'laneOf'
  | 'pause'
  | 'resume'
  | 'cancel'
  | 'resolve'
  | 'finished'
  | 'lanes'
  | 'pauseLane'
  | 'resumeLane'
>;

/** Opens the desk; nothing is asked of Redis before somebody asks. */
export function createDesk({ redis, keys, lanes, wakers, roster, events }: DeskOptions): Desk {
  const finder = laneFinder(redis, keys, lanes);
  return {
    ...createCampaignReader({ redis, keys, lanes, finder, roster }),
    ...campaignOrders(finder, wakers, events),
    resolve: resolveUnknown(redis, keys, finder, wakers),

    laneOf: async (id) => (await finder.of(id)).name,

    async lanes(): Promise<LaneStatus[]> {
      return Promise.all([...lanes.values()].map(async (lane) => laneStatus(lane, await lane.look())));
    },

    async pauseLane(name) {
      if (!(await finder.named(name).commands.lane('hold', 'paused by the operator'))) return;
      const { epoch } = await finder.named(name).views.look();
      events.emit({ type: 'lane.paused', lane: name, reason: 'paused by the operator', until: null, epoch });
    },

    async resumeLane(name) {
      const lane = finder.named(name);
      const isOpened = await lane.commands.lane('resume');
      const { epoch } = await lane.views.look();
      if (isOpened) events.emit({ type: 'lane.reopened', lane: name, epoch });
      await wakeLane(lane, wakers);
    },
  };
}
