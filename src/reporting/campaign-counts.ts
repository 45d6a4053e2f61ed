import { z } from 'zod';
import { perName } from '../campaign/per-name.js';
import { RECIPIENT_STATES, type RecipientState } from '../campaign/recipient.js';
import { CAMPAIGN_STATES, type CampaignState } from '../campaign/views.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';

/** The totals of a lane's stored campaigns. */
export interface CampaignCounts {
  readonly campaigns: Readonly<Record<CampaignState, number>>;
  readonly recipients: Readonly<Record<RecipientState, number>>;
  /** Requests sent for these campaigns. */
  readonly requests: { readonly send: number; readonly poll: number };
}

const storedState = z.object({
  state: z.enum(CAMPAIGN_STATES),
  counts: z.record(z.string(), z.number()),
  sends: z.number(),
  polls: z.number(),
});

/** Campaigns per read: about 0.1 MB. */
const READ_AT_ONCE = 500;

/** Adds up the campaigns of a lane, some at a time, so that even very many do not block Redis. */
export async function countCampaigns(redis: Redis, keys: Keys, lane: string): Promise<CampaignCounts> {
  const campaigns = perName(CAMPAIGN_STATES, () => 0);
  const recipients = perName(RECIPIENT_STATES, () => 0);
  const requests = { send: 0, poll: 0 };
  // HSCAN may return an entry twice if the hash grows meanwhile.
  const seen = new Set<string>();
  let cursor = '0';
  do {
    const [next, found] = await redis.hscan(keys.lane(lane, 'states'), cursor, 'COUNT', READ_AT_ONCE);
    cursor = next;
    for (let at = 0; at + 1 < found.length; at += 2) {
      const [id = '', json = ''] = [found[at], found[at + 1]];
      if (seen.has(id)) continue;
      seen.add(id);
      const stored = storedState.parse(JSON.parse(json));
      campaigns[stored.state] += 1;
      for (const state of RECIPIENT_STATES) recipients[state] += stored.counts[state] ?? 0;
      requests.send += stored.sends;
      requests.poll += stored.polls;
    }
  } while (cursor !== '0');
  return { campaigns, recipients, requests };
}
