import { z } from 'zod';
import type { LaneOutlook } from '../campaign/estimate.js';
import { luaList } from '../redis/script.js';
import { type LaneStore, laneScript } from './lane-script.js';

const counts = z.array(z.number());

const campaign = z.object({
  id: z.string(),
  /** The virtual start of a running campaign, or when a scheduled one is launched. */
  score: z.number(),
  weight: z.number(),
  batch: z.number(),
  slice: z.number(),
  cursor: z.number(),
  ordinals: z.number(),
  released: luaList(z.array(z.union([z.number(), z.string()]))),
  lapseAt: z.number(),
  notBefore: z.number(),
});

const outlook = z.object({
  now: z.number(),
  quota: z.number(),
  isProven: z.boolean(),
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
  maxRecipients: z.number(),
  stopped: z.string(),
  held: z.string(),
  isPaused: z.boolean(),
  opensAt: z.number(),
  unpolled: counts,
  polled: counts,
  oldestDue: z.number(),
  dueWithin: counts,
  firstPoll: z.number(),
  isHeard: z.boolean(),
  campaigns: luaList(campaign),
  unlisted: z.number(),
  scheduled: luaList(campaign),
}) satisfies z.ZodType<LaneOutlook>;

const outlookScript = laneScript(import.meta.url, './lane-outlook.lua', (reply) =>
  outlook.parse(JSON.parse(z.string().parse(reply))),
);

/** Reads what an estimate of the lane's campaigns needs. `now` is for tests and simulations. */
export const readLaneOutlook = (store: LaneStore, now?: number): Promise<LaneOutlook> =>
  outlookScript(store, { time: now });
