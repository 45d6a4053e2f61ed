import { InputError, NotFoundError } from '../campaign/errors.js';
import type { Events } from '../events/events.js';
import { activate } from './due.js';
import { type Wakers, wakeLane } from './lane.js';
import type { LaneFinder } from './lane-finder.js';

/** An operator's commands for a campaign or a lane. Redis stores their effect, so every process obeys them. */
interface OperatorCommands {
  /** When it resolves, the campaign starts no more requests. `inFlight`: requests that are still running. */
  pause(id: string): Promise<{ inFlight: number }>;
  resume(id: string): Promise<void>;
  /** When it resolves, the campaign starts no more requests. `cancelled`: recipients that are not sent to. */
  cancel(id: string): Promise<{ inFlight: number; cancelled: number }>;
  /** Holds the lane until {@link OperatorCommands.resumeLane}: it starts no requests. */
  pauseLane(name: string): Promise<void>;
  /** Reopens a lane that is held, paused, or stopped. */
  resumeLane(name: string): Promise<void>;
}

const HELD = 'paused by the operator';

/** See {@link OperatorCommands}. A command that changes nothing emits no event. */
export function operatorCommands(finder: LaneFinder, wakers: Wakers, events: Events): OperatorCommands {
  const command = async (id: string, action: 'pause' | 'resume' | 'cancel') => {
    const lane = await finder.of(id);
    const result = await activate(lane, () => lane.commands.campaign(action, id));
    if (result.outcome === 'missing') throw new NotFoundError(`there is no campaign ${id}`);
    if (result.outcome !== 'done')
      throw new InputError(`campaign ${id} is ${result.outcome}; you cannot ${action} it`);
    lane.emit(result.events);
    return { lane, inFlight: result.inFlight, cancelled: result.cancelled, isNew: result.isNew };
  };

  return {
    async pause(id) {
      const { lane, inFlight, isNew } = await command(id, 'pause');
      if (isNew)
        events.emit({ type: 'campaign.paused', lane: lane.name, campaign: id, by: 'operator', inFlight });
      return { inFlight };
    },

    async resume(id) {
      const { lane, isNew } = await command(id, 'resume');
      if (isNew) events.emit({ type: 'campaign.resumed', lane: lane.name, campaign: id });
      await wakeLane(lane, wakers);
    },

    async cancel(id) {
      const { lane, inFlight, cancelled, isNew } = await command(id, 'cancel');
      if (isNew) events.emit({ type: 'campaign.cancelled', lane: lane.name, campaign: id, inFlight });
      return { inFlight, cancelled };
    },

    async pauseLane(name) {
      const lane = await finder.named(name);
      if (!(await lane.commands.lane('hold', HELD))) return;
      const { epoch } = await lane.freshStatus();
      events.emit({ type: 'lane.paused', lane: name, reason: HELD, cause: HELD, until: null, epoch });
    },

    async resumeLane(name) {
      const lane = await finder.named(name);
      const isOpened = await activate(lane, () => lane.commands.lane('resume'));
      const { epoch } = await lane.freshStatus();
      if (isOpened) events.emit({ type: 'lane.reopened', lane: name, epoch });
      await wakeLane(lane, wakers);
    },
  };
}
