import type { RecipientState } from './status.js';

/** `cancelled` stays so while reports of what was sent before still come in. */
export const CAMPAIGN_STATES = [
  'importing',
  'scheduled',
  'running',
  'paused',
  'cancelled',
  'completed',
] as const;
export type CampaignState = (typeof CAMPAIGN_STATES)[number];

/** How many recipients there are and how many of them are in each state: the states add up to the total. */
export type RecipientCounts = { readonly total: number } & { readonly [State in RecipientState]: number };

/** How a campaign stands. Times are ISO 8601; counts are of recipients or of requests as named. */
export interface CampaignStatus {
  readonly id: string;
  readonly name: string;
  readonly lane: string;
  readonly state: CampaignState;
  readonly createdAt: string;
  /** When sending began or will begin; null while importing. */
  readonly launchAt: string | null;
  /** When nothing was open any more; null before. */
  readonly endedAt: string | null;
  readonly recipients: RecipientCounts;
  /** Requests put on the wire for this campaign so far; `throttled` are those of them answered with 429. */
  readonly requests: { readonly send: number; readonly poll: number; readonly throttled: number };
  /** Of the lane: requests counted in the window that ends now; null as limit while an `auto` lane has not learned it. */
  readonly quota: {
    readonly used: number;
    readonly limit: number | null;
    readonly nextPermitAt: string | null;
  };
  /** Why nothing of it is sent now although something is planned; null while it is sent. */
  readonly blockedBy: { readonly reason: string; readonly until: string | null } | null;
  /** What the campaign needs to go on or to complete. */
  readonly waitingFor: 'start' | 'permits' | 'operator' | 'resolve' | 'reports' | 'lane' | 'workers' | null;
  /** When the last recipient will be sent to, as far as the quota tells; null if nobody can say. */
  readonly eta: string | null;
  /** Reports that contradicted a final one; counted, never applied. */
  readonly contradictions: number;
  /** Batches of whose outcome nobody knows: what `resolve` names. At most the first 100. */
  readonly unknown: readonly {
    readonly request: string;
    readonly recipients: number;
    readonly since: string;
    readonly reason: string;
  }[];
}

/** One recipient of a report. */
export interface ReportRow {
  /** E.164. */
  readonly recipient: string;
  /** A delivery status as the interface spells it, or the state of one that has none. */
  readonly status: string;
  readonly reason: string;
  /** The service's id of the request, or our reference where nobody knows whether there is one. */
  readonly requestId: string;
  /** ISO 8601, or empty. */
  readonly sentAt: string;
  readonly updatedAt: string;
}

/** A recipient found by number. */
export interface FoundRecipient extends ReportRow {
  readonly campaign: string;
  readonly name: string;
}

/** How a lane stands. */
export interface LaneStatus {
  readonly name: string;
  /** `open`, `paused` for a time, `probing`, `stopped` until an operator mends it, `held` by an operator. */
  readonly state: 'open' | 'paused' | 'probing' | 'stopped' | 'held';
  readonly quota: {
    /** As configured. */
    readonly configured: number | 'auto';
    /** What `auto` has learned; null before, and where the quota is given. */
    readonly learned: number | null;
    /** In force now, deductions included; null while unknown. */
    readonly limit: number | null;
    readonly used: { readonly send: number; readonly poll: number };
    readonly inFlight: number;
    readonly nextPermitAt: string | null;
    /** Permits that come back within the next hour (or window), in up to 12 steps. */
    readonly permitsToCome: readonly { readonly at: string; readonly permits: number }[];
  };
  readonly pause: { readonly reason: string; readonly until: string | null } | null;
  /** 429 answers so far. */
  readonly throttled: number;
  readonly campaigns: { readonly running: number; readonly scheduled: number };
  readonly awaitingReports: number;
  readonly unknown: number;
  /** Recipients a request: as configured or as learned from refusals. */
  readonly maxRecipients: number;
}

/** What a list and a text come to, before anything is sent. */
export interface Preview {
  readonly columns: readonly string[];
  readonly numberColumn: string;
  readonly rows: number;
  readonly recipients: number;
  readonly duplicates: number;
  readonly suppressed: number;
  readonly invalid: number;
  /** The first 20 bad rows. */
  readonly problems: readonly InvalidRow[];
  readonly encoding: 'GSM-7' | 'UCS-2';
  /** Characters that force UCS-2, named. */
  readonly ucs2Characters: readonly string[];
  /** Segments a message: the fewest, the most, and all together. */
  readonly segments: { readonly least: number; readonly most: number; readonly total: number };
  readonly requests: { readonly send: number; readonly poll: number; readonly total: number };
  /** Milliseconds under the lane's quota; null if the quota is not known. */
  readonly sentAfterMs: number | null;
  readonly finishedAfterMs: number | null;
  readonly samples: readonly { readonly recipient: string; readonly text: string }[];
  readonly warnings: readonly string[];
}

/** A row that cannot be sent to. */
export interface InvalidRow {
  readonly line: number;
  /** Null if the fault is the row's as a whole. */
  readonly column: string | null;
  readonly reason: string;
  readonly row: readonly string[];
}
