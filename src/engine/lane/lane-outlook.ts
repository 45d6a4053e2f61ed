import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { luaList } from '../../base/redis/script.js';
import type { LaneOutlook, OutlookCampaign } from '../../campaign/estimate.js';
import { readOrNull } from '../recipients/damaged.js';
import { RELEASED } from './campaigns.js';
import { type LaneStore, laneScript } from './lane-script.js';

const counts = z.array(z.number());

/** What an estimate needs of a campaign's state. */
const stored = z.object({
  ordinals: z.number(),
  cursor: z.number(),
  batch: z.number(),
  slice: z.number(),
  released: RELEASED,
  remainder: z.string(),
  lapseAt: z.number(),
  weight: z.number(),
  notBefore: z.number().default(0),
  window: z.string().optional(),
});

type StoredCampaign = z.output<typeof stored>;

/**
 * Campaigns by the text of their states. Of hundreds that wait, few change between two calls, and parsing all of them would take longer
 * than reading them.
 */
const parsed = new LRUCache<string, StoredCampaign>({ max: 2_000 });

/** Null for one that cannot be read, which the lane passes over. */
function parseStored(text: string): StoredCampaign | null {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const state = readOrNull(() => stored.parse(JSON.parse(text)));
  if (state === null) return null;
  parsed.set(text, state);
  return state;
}

const outlook = z.object({
  now: z.number(),
  quota: z.number(),
  isProven: z.boolean(),
  certain: z.number(),
  deducted: z.number(),
  deductedAt: z.number(),
  returning: luaList(z.number()),
  inFlightSends: z.number(),
  inFlightPolls: z.number(),
  lastSendAt: z.number(),
  lastPollAt: z.number(),
  latency: z.number(),
  paceAt: z.number(),
  virtualTime: z.number(),
  stopped: z.string(),
  held: z.string(),
  noToken: z.string(),
  isBackingOff: z.boolean(),
  isUnreachable: z.boolean(),
  opensAt: z.number(),
  unpolled: counts,
  polled: counts,
  oldestDue: z.number(),
  dueWithin: counts,
  firstPoll: z.number(),
  isHeard: z.boolean(),
  unlisted: z.number(),
}) satisfies z.ZodType<Omit<LaneOutlook, 'campaigns' | 'scheduled'>>;

const states = z.array(z.string().nullable());
const reply = z.tuple([z.string(), z.array(z.string()), states, z.array(z.string()), states]);
const outlookScript = laneScript(import.meta.url, './lane-outlook.lua', (raw) => reply.parse(raw));

/** Reads what an estimate of the lane's campaigns needs. `now` is for tests and simulations. */
export async function readLaneOutlook(store: LaneStore, now?: number): Promise<LaneOutlook> {
  const [json, running, runningStates, scheduled, scheduledStates] = await outlookScript(store, {
    time: now,
  });
  const lane = outlook.parse(JSON.parse(json));
  const most = store.rules.maxRecipients;
  return {
    ...lane,
    campaigns: openCampaigns(running, runningStates, most),
    scheduled: openCampaigns(scheduled, scheduledStates, most),
  };
}

/** The campaigns that still send, given their ids and scores in turn, and their states. */
function openCampaigns(
  members: readonly string[],
  texts: readonly (string | null)[],
  most: number,
): OutlookCampaign[] {
  const open: OutlookCampaign[] = [];
  for (const [at, text] of texts.entries()) {
    const state = text === null ? null : parseStored(text);
    if (state?.remainder !== 'planned') continue;
    const { ordinals, cursor, slice, released, lapseAt, weight, notBefore, window } = state;
    open.push({
      id: members[2 * at] ?? '',
      score: Number(members[2 * at + 1]),
      batch: Math.min(most, state.batch),
      ordinals,
      cursor,
      slice,
      released,
      lapseAt,
      weight,
      notBefore,
      window,
    });
  }
  return open;
}
