import { z } from 'zod';
import { perName } from '../campaign/per-name.js';
import { RECIPIENT_STATES, type RecipientState } from '../campaign/recipient.js';
import { CAMPAIGN_STATES, type CampaignState } from '../campaign/views.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';

/** What all campaigns of a lane come to, as long as they are kept. */
export interface CampaignCounts {
  readonly campaigns: Readonly<Record<CampaignState, number>>;
  readonly recipients: Readonly<Record<RecipientState, number>>;
  /** Requests that were put on the wire for them. */
  readonly requests: { readonly send: number; readonly poll: number };
}

const counted = z.object({
  s: z.enum(CAMPAIGN_STATES),
  n: z.record(z.string(), z.number()),
  send: z.number(),
  poll: z.number(),
});

/** Campaigns read at a time: about a tenth of a megabyte. */
const AT_ONCE = 500;

/** Adds up the campaigns of a lane, a piece at a time: however many are kept, they hold nobody up in Redis. */
export async function countCampaigns(redis: Redis, keys: Keys, lane: string): Promise<CampaignCounts> {
  const campaigns = perName(CAMPAIGN_STATES, () => 0);
  const recipients = perName(RECIPIENT_STATES, () => 0);
  const requests = { send: 0, poll: 0 };
  // A hash that grows meanwhile may show an entry twice.
  const seen = new Set<string>();
  let cursor = '0';
  do {
    const [next, found] = await redis.hscan(keys.lane(lane, 'states'), cursor, 'COUNT', AT_ONCE);
    cursor = next;
    for (let at = 0; at + 1 < found.length; at += 2) {
      const [id = '', json = ''] = [found[at], found[at + 1]];
      if (seen.has(id)) continue;
      seen.add(id);
      const { s, n, send, poll } = counted.parse(JSON.parse(json));
      campaigns[s] += 1;
      for (const state of RECIPIENT_STATES) recipients[state] += n[state] ?? 0;
      requests.send += send;
      requests.poll += poll;
    }
  } while (cursor !== '0');
  return { campaigns, recipients, requests };
}
