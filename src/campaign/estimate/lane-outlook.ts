import { z } from 'zod';

/*
 * What decides when a lane sends the rest of its campaigns, as lane/lane-outlook.lua reads it. Times are in ms.
 */

/** The facts of the lane itself. */
export const laneFacts = z.object({
  now: z.number(),
  /** Requests per window, as configured or learned; 0: unknown. */
  quota: z.number(),
  /** The part of it that is not available now; it is again, at the latest, at `deductedUntil`. */
  deducted: z.number(),
  deductedUntil: z.number(),
  /** Permits that return, in groups, earliest first: from when until when, and those of how many sends and polls; four numbers each. */
  returning: z.array(z.number()),
  inFlightSends: z.number(),
  inFlightPolls: z.number(),
  /** A permit returns one window after the end of its bucket of the ledger. */
  bucketMs: z.number(),
  latency: z.number(),
  lastSendAt: z.number(),
  /** The lane's virtual time, and how far before it a campaign joins the order. */
  virtualTime: z.number(),
  headStart: z.number(),
  stopped: z.string(),
  held: z.string(),
  /** Why the lane has no token; empty if it has one. */
  noToken: z.string(),
  /** Whether the lane backs off because the service does not respond. */
  isUnreachable: z.boolean(),
  /** When the lane may start requests again; in the past if it may. */
  opensAt: z.number(),
  /** Requests that were never polled: all, those due now, and when the oldest is due. */
  unpolled: z.number(),
  overdue: z.number(),
  oldestDue: z.number(),
  /** Requests that are due again within a window. */
  repolled: z.number(),
  /** The age of a request at its first poll. */
  firstPoll: z.number(),
  /** Whether notifications arrive. */
  isHeard: z.boolean(),
  /** How many running campaigns are served after those that are listed. */
  unlisted: z.number(),
});

/** A campaign of a lane that still has something to send. */
export interface OutlookCampaign {
  readonly id: string;
  /** Its virtual start, if it runs; when it is launched or its window opens, if it is scheduled. */
  readonly score: number;
  readonly weight: number;
  /** Requests that it still has to send. */
  readonly requests: number;
  /** When its unsent recipients lapse; 0: never. */
  readonly lapseAt: number;
  /** Nothing of it is claimed before. */
  readonly notBefore: number;
  /** The rule of its window. */
  readonly window?: string | undefined;
}

/** See above. */
export interface LaneOutlook extends z.output<typeof laneFacts> {
  /** The running campaigns that are served first. */
  readonly campaigns: readonly OutlookCampaign[];
  /** Those that are scheduled first. */
  readonly scheduled: readonly OutlookCampaign[];
}
