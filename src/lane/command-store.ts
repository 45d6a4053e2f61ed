import { z } from 'zod';
import { type LaneStore, laneScript } from './lane-script.js';
import { type ScriptEvent, scriptEvents } from './script-events.js';

/** The result of a campaign command: `done`, `missing` (no such campaign), or the state that does not allow it. */
export interface CommandResult {
  readonly outcome: 'done' | 'missing' | 'importing' | 'completed' | 'cancelled';
  /** Requests of the campaign that are still running. */
  readonly inFlight: number;
  /** Recipients. */
  readonly cancelled: number;
  readonly events: readonly ScriptEvent[];
  /** Whether the state changed. A repeated command changes nothing. */
  readonly isNew: boolean;
}

const outcomes = z.enum(['done', 'missing', 'importing', 'completed', 'cancelled']);
const commandCampaign = laneScript(import.meta.url, './command-campaign.lua', (reply): CommandResult => {
  const [outcome, inFlight, cancelled, events, isNew] = z
    .tuple([outcomes, z.number(), z.number(), z.string(), z.number()])
    .parse(reply);
  return { outcome, inFlight, cancelled, events: scriptEvents(events), isNew: isNew === 1 };
});
const commandLane = laneScript(import.meta.url, './command-lane.lua', (reply) => reply === 1);

/** The command scripts of a lane. Operators use them (operator-commands.ts), and so do turns that find a fault. */
export function commandStore(store: LaneStore) {
  return {
    /** `reason`: why the campaign is paused, for people. */
    campaign: (
      command: 'pause' | 'resume' | 'cancel',
      id: string,
      reason = 'paused by the operator',
      now?: number,
    ): Promise<CommandResult> => commandCampaign(store, { command, id, reason, time: now }),
    /** Returns false if the lane was already held, or already open. */
    lane: (command: 'hold' | 'resume', reason = ''): Promise<boolean> =>
      commandLane(store, { command, reason, epoch: 0 }),
    /**
     * Stops the lane for a cause that waiting cannot fix. `epoch`: the lane's epoch, read before you checked the cause. Returns
     * false if the lane is already stopped for this reason, or an operator has resumed it since that epoch.
     */
    stop: (reason: string, epoch: number): Promise<boolean> =>
      commandLane(store, { command: 'stop', reason, epoch }),
  };
}
