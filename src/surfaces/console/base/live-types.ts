import type { Schemas } from './api.js';

/*
 * What the live stream sends. Its items are not part of the OpenAPI document.
 */

export type CampaignStatus = Schemas['CampaignStatus'];
export type LaneStatus = Schemas['LaneStatus'];

/** Why something waits, until when, and what can be done about it. */
export interface Waiting {
  readonly code: string;
  readonly text: string;
  readonly until: string | null;
  readonly lane: string | null;
  readonly remedy: { readonly operation: string; readonly path: string } | null;
  readonly tone: 'normal' | 'good' | 'warning' | 'bad';
}

export interface LiveCampaign {
  readonly status: CampaignStatus;
  readonly waiting: Waiting;
  readonly sendsPerMinute: number | null;
}

export interface LiveLane {
  readonly status: LaneStatus;
  readonly host: string | null;
  readonly simulator: boolean;
  readonly waiting: Waiting | null;
  /** Sends in each of the last five minutes, the oldest first. */
  readonly perMinute: readonly number[];
}

export interface Attention {
  readonly code: string;
  readonly text: string;
  readonly lane: string | null;
  readonly campaign: string | null;
  readonly name: string | null;
  readonly remedy: Waiting['remedy'];
}

export interface Overview {
  readonly attention: readonly Attention[];
  /** Ids, newest first. */
  readonly running: readonly string[];
  /** Names. */
  readonly lanes: readonly string[];
  readonly counts: {
    readonly campaigns: Readonly<Record<string, number>>;
    readonly recipients: Readonly<Record<string, number>>;
  };
}

/** The limiter's own ledger of a lane. */
export interface Ledger {
  readonly lane: string;
  readonly at: string;
  readonly window: string;
  readonly width: string;
  readonly guard: string;
  readonly buckets: readonly { readonly at: string; readonly sends: number; readonly polls: number }[];
  readonly used: { readonly send: number; readonly poll: number };
  readonly limit: number | null;
  readonly inFlight: number;
  readonly pollReserve: number;
  readonly permits: readonly { readonly at: string; readonly count: number }[];
  readonly throttledAt: readonly string[];
}
