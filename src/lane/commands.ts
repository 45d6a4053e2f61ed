import { z } from 'zod';
import { type LaneStore, laneScript } from './lane-script.js';
import { type ScriptEvent, scriptEvents } from './script-events.js';

/** What became of a command: done, or the state of the campaign that forbids it, or no such campaign. */
export interface Commanded {
  readonly outcome: 'done' | 'missing' | 'importing' | 'completed' | 'cancelled';
  readonly inFlight: number;
  readonly cancelled: number;
  readonly events: readonly ScriptEvent[];
  /** Whether it is in another state now than before: an order that is repeated changes nothing. */
  readonly isNew: boolean;
}

const outcomes = z.enum(['done', 'missing', 'importing', 'completed', 'cancelled']);
const commandCampaign = laneScript(import.meta.url, './command-campaign.lua', (reply): Commanded => {
  const [outcome, inFlight, cancelled, events, isNew] = z
    .tuple([outcomes, z.number(), z.number(), z.string(), z.number()])
    .parse(reply);
  return { outcome, inFlight, cancelled, events: scriptEvents(events), isNew: isNew === 1 };
});
const commandLane = laneScript(import.meta.url, './command-lane.lua', (reply) => reply === 1);

/** The commands of a lane and its campaigns, by people and by policy. */
export function laneCommands(store: LaneStore) {
  return {
    /** `reason`: why the campaign is paused, for people. */
    campaign: (
      command: 'pause' | 'resume' | 'cancel',
      id: string,
      reason = 'paused by the operator',
      now?: number,
    ): Promise<Commanded> => commandCampaign(store, { command, id, reason, time: now }),
    /** False when the lane was held, or open, already. */
    lane: (command: 'hold' | 'resume', reason = ''): Promise<boolean> =>
      commandLane(store, { command, reason, epoch: 0 }),
    /**
     * Stops the lane for a reason that no waiting resolves. `epoch`: the lane's, read before the cause was looked at. False when
     * an operator has opened the lane since then, or it is stopped for that reason already.
     */
    stop: (reason: string, epoch: number): Promise<boolean> =>
      commandLane(store, { command: 'stop', reason, epoch }),
  };
}
