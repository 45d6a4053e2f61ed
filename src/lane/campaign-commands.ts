import { InputError, NotFoundError } from '../campaign/errors.js';
import type { Events } from '../events/events.js';
import type { LaneFinder } from './lane-finder.js';
import type { Wakers } from './queues.js';
import { wakeLane } from './wake.js';

/** What an operator orders of a campaign as a whole. */
export interface CampaignCommands {
  /** After it returns, no request of the campaign starts but those it counts as in flight. */
  pause(id: string): Promise<{ inFlight: number }>;
  resume(id: string): Promise<void>;
  /** After it returns, no request of the campaign starts but those it counts as in flight. `cancelled`: recipients. */
  cancel(id: string): Promise<{ inFlight: number; cancelled: number }>;
}

/** Takes orders; they are kept by every process, because they are given to Redis. */
export function campaignCommands(finder: LaneFinder, wakers: Wakers, events: Events): CampaignCommands {
  const command = async (id: string, word: 'pause' | 'resume' | 'cancel') => {
    const lane = await finder.of(id);
    const done = await lane.commands.campaign(word, id);
    if (done.outcome === 'missing') throw new NotFoundError(`there is no campaign ${id}`);
    if (done.outcome !== 'done') throw new InputError(`campaign ${id} is ${done.outcome}; it cannot ${word}`);
    lane.tell(done.events);
    return { lane, inFlight: done.inFlight, cancelled: done.cancelled, isNew: done.isNew };
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
  };
}
