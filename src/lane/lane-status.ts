import { z } from 'zod';
import { luaList } from '../redis/script.js';
import { type LaneStore, laneScript } from './lane-script.js';

const record = z.object({
  now: z.number(),
  sends: z.number(),
  polls: z.number(),
  inFlightSends: z.number(),
  inFlightPolls: z.number(),
  limit: z.number().transform((limit) => (limit === 0 ? null : limit)),
  learned: z.number().transform((learned) => (learned === 0 ? null : learned)),
  nextPermitAt: z.number(),
  permitsToCome: luaList(z.object({ at: z.number(), permits: z.number() })),
  stopped: z.string(),
  held: z.string(),
  paused: z.string(),
  pauseReason: z.string(),
  pausedUntil: z.number(),
  graceUntil: z.number(),
  throttled: z.number(),
  epoch: z.number(),
  maxRecipients: z.number(),
  running: z.number(),
  scheduled: z.number(),
  awaiting: z.number(),
  unknown: z.number(),
  sendAt: z.number(),
  pollAt: z.number(),
  sendBlocked: z.string(),
  pollBlocked: z.string(),
  latency: z.number(),
  losses: z.number(),
  pollDueAt: z.number(),
});

/**
 * The record that lane-status.lua returns. Times in ms. `sendAt`, `pollAt`: when a turn can next do something; -1: not before the
 * lane is woken. `pollDueAt`: when the earliest poll is due; 0: no poll is due.
 */
export type LaneStatusRecord = z.output<typeof record>;

const statusScript = laneScript(import.meta.url, './lane-status.lua', (reply) =>
  record.parse(JSON.parse(z.string().parse(reply))),
);

/** Reads the current status of a lane. `now` is for tests and simulations. */
export const readLaneStatus = (store: LaneStore, now?: number): Promise<LaneStatusRecord> =>
  statusScript(store, { time: now });
