import { z } from 'zod';
import type { Events } from '../../base/events/events.js';
import { type Redis, serverTime } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { campaignIdTime } from '../../campaign/states/campaign.js';
import type { LaneFinder } from '../lane/lane-finder.js';
import { statusesKey } from '../recipients/campaign-keys.js';
import { orNull } from '../recipients/damaged.js';
import { type LaneStore, laneScript } from '../scripts/lane-script.js';
import { scriptEvents } from '../scripts/script-events.js';
import { listUnknown, resolveBatches } from '../sending/unknown.js';
import { readState } from '../store/campaigns.js';
import { entryOf, indexEntries } from '../store/lane-index.js';

const REASON = 'its campaign reached MAX_CAMPAIGN_AGE';

/** Options of {@link checkOldCampaigns}. */
export interface OldCampaignsOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'withId' | 'configured'>;
  readonly events: Pick<Events, 'emit'>;
  readonly retentionMs: number;
  readonly maxCampaignAgeMs: number;
  /** How long after that its requests are followed up. */
  readonly followUpPastMaxAgeMs: number;
  /** Discards an import whose process died, and its idempotency key. */
  discardImport(lane: LaneId, id: string): Promise<void>;
  /** Removes all data of a campaign. */
  removeCampaign(lane: LaneId, id: string): Promise<unknown>;
}

/**
 * Ends the campaigns that have reached their maximum age, in all lanes. In lanes that are not configured, which no process sweeps, it
 * also removes campaigns after their retention period, and discards dead imports. An entry of the index whose campaign does not exist is
 * removed as well. `now` is for tests.
 */
export async function checkOldCampaigns(options: OldCampaignsOptions, now?: number): Promise<void> {
  const { redis, keys, finder, retentionMs, maxCampaignAgeMs, events } = options;
  const time = now ?? (await serverTime(redis));
  const configured = new Set([...(await finder.configured()).values()].map(({ id }) => id));
  const before = campaignIdTime(time - Math.min(retentionMs, maxCampaignAgeMs));
  // Oldest first. A campaign may be deleted while the list is read.
  for await (const { lane: laneId, name: campaign } of indexEntries(redis, keys.campaigns, { before })) {
    const state = await orNull(readState(redis, keys, laneId, campaign));
    if (state === null) {
      // One that cannot be read is left for an operator.
      if ((await redis.hexists(keys.lane(laneId, 'states'), campaign)) === 1) continue;
      // Redis has lost it, or its process died before it wrote the data.
      await redis.zrem(keys.campaigns, entryOf(campaign, laneId));
      continue;
    }
    const isSwept = configured.has(laneId);
    if (state.state === 'importing') {
      if (!isSwept) await orNull(options.discardImport(laneId, campaign));
    } else if (state.endedAt > 0) {
      if (!isSwept && state.endedAt <= time - retentionMs)
        await orNull(options.removeCampaign(laneId, campaign));
    } else if (state.launchAt + maxCampaignAgeMs <= time) {
      const lane = await finder.withId(laneId);
      const {
        lapsed,
        unconfirmed,
        abandoned,
        events: found,
      } = await endOldCampaign(lane, campaign, options, now);
      const recipientCount = lapsed + unconfirmed + abandoned;
      if (recipientCount > 0)
        events.emit({ type: 'campaign.tooOld', lane: lane.name, campaign, recipientCount });
      lane.emit(found);
    }
  }
}

const endScript = laneScript(import.meta.url, './end-old-campaign.lua', (reply) => {
  const [lapsed, unconfirmed, isLast, events] = z
    .tuple([z.number(), z.number(), z.number(), z.string()])
    .parse(reply);
  return { lapsed, unconfirmed, isLast: isLast === 1, events: scriptEvents(events) };
});

/** Ends one campaign, as far as its age allows. Returns how many recipients were settled. */
async function endOldCampaign(
  lane: LaneStore,
  id: string,
  {
    maxCampaignAgeMs: maxAge,
    followUpPastMaxAgeMs: followUp,
  }: Pick<OldCampaignsOptions, 'maxCampaignAgeMs' | 'followUpPastMaxAgeMs'>,
  now?: number,
) {
  const statuses = statusesKey(lane.keys, lane.id, id);
  const result = await endScript(lane, { id, maxAge, followUp, time: now }, [statuses]);
  if (!result.isLast) return { ...result, abandoned: 0 };
  const unknown = (await listUnknown(lane)).filter(({ campaign }) => campaign === id);
  const resolved = await resolveBatches(lane, 'abandon', REASON, unknown, now);
  return { ...result, abandoned: resolved.recipients, events: [...result.events, ...resolved.events] };
}
