import { z } from 'zod';

/*
 * What an estimate is computed from. Times and durations are in ms.
 */

/** The rules of a lane that decide how fast it sends. */
export interface EstimateRules {
  /** 0: it is learned. */
  readonly quota: number;
  readonly window: number;
  readonly smooth: boolean;
  readonly inFlight: number;
  readonly timeout: number;
  readonly firstPoll: number;
  readonly deadline: number;
  readonly resolveAfter: number;
  readonly notify?: true;
  /** The rule of the lane's window. */
  readonly sendWindow?: string | undefined;
}

/** The state of the lane, as lane/lane-outlook.lua reads it. */
export const laneFacts = z.object({
  now: z.number(),
  /** Requests per window, as configured or learned; 0: unknown. */
  quota: z.number(),
  /** The same, or while it is unknown, what a service permits at least; and how many of these permits polls get, at least and at most. */
  limit: z.number(),
  pollsAtLeast: z.number(),
  pollsAtMost: z.number(),
  /** Permits in use, in groups: from when until when they return, and those of how many sends and polls; four numbers each. */
  returning: z.array(z.number()),
  /** A permit returns one window after the end of its bucket of the ledger. */
  bucketMs: z.number(),
  /** Requests that wait for their first poll, in groups: from when until when they are due, and how many; three numbers each. */
  due: z.array(z.number()),
  /** Requests that are due for another poll within a window. */
  repolled: z.number(),
  /** The age of a request at its first poll, and whether a notification is more likely to arrive before. */
  firstPoll: z.number(),
  isHeard: z.boolean(),
  latency: z.number(),
  lastSendAt: z.number(),
  /** The lane's virtual time, and how far before it a campaign joins the order. */
  virtualTime: z.number(),
  headStart: z.number(),
  /** When the lane may start requests again; in the past if it may. */
  opensAt: z.number(),
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
  /** The rule of its window; one with hours of the recipients' zones if these have zones, or times, of their own. */
  readonly window?: string | undefined;
}

/** See above. */
export interface LaneOutlook extends z.output<typeof laneFacts> {
  /** Why the lane starts no requests for a time that nothing bounds; null if it does. */
  readonly obstacle: string | null;
  /** The running campaigns that are served first. */
  readonly campaigns: readonly OutlookCampaign[];
  /** Those that are scheduled first. */
  readonly scheduled: readonly OutlookCampaign[];
}
