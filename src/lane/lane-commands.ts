import type { Events } from '../events/events.js';
import type { LaneFinder } from './lane-finder.js';
import type { Wakers } from './queues.js';
import { wakeLane } from './wake.js';

/** What an operator orders of a lane as a whole. */
export interface LaneCommands {
  /** Holds the lane until {@link LaneCommands.resumeLane}: it starts no request. */
  pauseLane(name: string): Promise<void>;
  /** Reopens a lane that is held, paused, or stopped. */
  resumeLane(name: string): Promise<void>;
}

const HELD = 'paused by the operator';

/** Commands for lanes; every process obeys them, because they are kept in Redis. */
export function laneCommands(finder: LaneFinder, wakers: Wakers, events: Events): LaneCommands {
  return {
    async pauseLane(name) {
      const lane = finder.named(name);
      if (!(await lane.commands.lane('hold', HELD))) return;
      const { epoch } = await lane.status();
      events.emit({ type: 'lane.paused', lane: name, reason: HELD, cause: HELD, until: null, epoch });
    },

    async resumeLane(name) {
      const lane = finder.named(name);
      const isOpened = await lane.commands.lane('resume');
      const { epoch } = await lane.status();
      if (isOpened) events.emit({ type: 'lane.reopened', lane: name, epoch });
      await wakeLane(lane, wakers);
    },
  };
}
