import type { TokenCache } from './auth/token-cache.js';
import type {
  ApiKey,
  ApiScope,
  CampaignState,
  CampaignStatus,
  FoundRecipient,
  LaneStatus,
  Preview,
  ReportRow,
} from './campaign/views.js';
import type { Events } from './events/events.js';
import type { CampaignInput, EnqueueOutcome } from './import/campaign-input.js';
import type { SuppressionList } from './import/suppression-list.js';
import type { NotificationDesk } from './notifications/notification-service.js';
import type { Role, WorkerProcess } from './recovery/heartbeats.js';
import type { FeedItem } from './reporting/event-feed.js';
import type { FleetSnapshot } from './reporting/fleet-snapshot.js';

export type { TokenCache } from './auth/token-cache.js';
export type { TokenState } from './auth/token-state.js';

/** How to settle batches of whose outcome nobody knows. */
export interface Resolution {
  /** `resend` at the risk of a second text, `abandon`, or count as `accepted`. */
  readonly as: 'resend' | 'abandon' | 'accepted';
  /** Only this batch, by the reference that status and report show; default all of the campaign. */
  readonly request?: string | undefined;
}

/** How many requests, and recipients of them, were settled. */
export interface ResolveOutcome {
  readonly requests: number;
  readonly recipients: number;
  /** Requests left unchanged because a worker may still be about to send them, and until when; null if there are none. */
  readonly tooEarly: { readonly requests: number; readonly until: string } | null;
}

/** Worker stages running in this process. */
export interface Workers {
  /** Resolves when all stages take jobs. */
  readonly ready: Promise<void>;
  /** Claims nothing more, settles what is in flight, hands its lanes back. */
  drain(): Promise<void>;
}

/**
 * The library's face; the command line uses nothing else. Every method that is given the id of a campaign or the name
 * of a lane that does not exist rejects with a `NotFoundError`; bad input rejects with an `InputError` whose message
 * names what is wrong and what would be right. While Redis is away everything rejects with a `RedisUnavailableError`.
 */
export interface Volley {
  readonly events: Events;
  enqueue(input: CampaignInput): Promise<EnqueueOutcome>;
  /** The same, with nothing stored and nothing sent. */
  preview(input: CampaignInput): Promise<Preview>;
  status(id: string): Promise<CampaignStatus>;
  /** Newest first. */
  list(options?: {
    state?: CampaignState | undefined;
    limit?: number | undefined;
  }): Promise<CampaignStatus[]>;
  /**
   * Newest first, some at a time: those older than the campaign `after`, as far as they are of these lanes and in this
   * state. `next` is what to give as `after` for those that follow, null at the end. A page may be short, or empty,
   * before the end: no more than some thousands are looked at.
   */
  page(options?: {
    state?: CampaignState | undefined;
    lanes?: readonly string[] | undefined;
    limit?: number | undefined;
    after?: string | undefined;
  }): Promise<{ readonly campaigns: CampaignStatus[]; readonly next: string | null }>;
  /** The lane of a campaign. */
  laneOf(id: string): Promise<string>;
  /** After it returns no request of the campaign starts but those it counts as in flight. */
  pause(id: string): Promise<{ inFlight: number }>;
  resume(id: string): Promise<void>;
  cancel(id: string): Promise<{ inFlight: number; cancelled: number }>;
  report(id: string, options?: { status?: string | undefined }): AsyncIterable<ReportRow>;
  resolve(id: string, resolution: Resolution): Promise<ResolveOutcome>;
  /**
   * Every campaign that has this number, newest first; only those of `lanes`, if they are given. Ends with the signal's
   * reason. `country` is that of a nationally written number, default `DEFAULT_COUNTRY`.
   */
  find(
    number: string,
    options?: {
      country?: string | undefined;
      lanes?: readonly string[] | undefined;
      signal?: AbortSignal | undefined;
    },
  ): AsyncIterable<FoundRecipient>;
  /** Resolves with the status when nothing of it is open any more. */
  finished(
    id: string,
    options?: {
      signal?: AbortSignal | undefined;
      onProgress?: ((status: CampaignStatus) => void) | undefined;
      everyMs?: number | undefined;
    },
  ): Promise<CampaignStatus>;
  lanes(): Promise<LaneStatus[]>;
  pauseLane(name: string): Promise<void>;
  resumeLane(name: string): Promise<void>;
  readonly suppression: SuppressionList;
  /**
   * What happens to campaigns and lanes, in whichever process: from now on, or after the event whose id is given. Ends
   * with the signal. What is further back than some 10,000 events is told as a gap.
   */
  follow(options?: { after?: string | undefined; signal?: AbortSignal | undefined }): AsyncIterable<FeedItem>;
  /** The keys to the HTTP API. Only a digest of each is kept. */
  readonly keys: {
    /** `lanes`: the only lanes the key may use, default all. `key` is shown only in this result. */
    create(key: {
      name: string;
      scopes: readonly ApiScope[];
      lanes?: readonly string[] | undefined;
    }): Promise<ApiKey & { readonly key: string }>;
    list(): Promise<ApiKey[]>;
    /** Revokes a key immediately. Throws a NotFoundError if there is no such key. */
    revoke(id: string): Promise<void>;
    /** The API key that this text is; null if it is not a valid key. */
    check(key: string): Promise<ApiKey | null>;
    /** Whether a key that was valid has not been revoked since. */
    isActive(id: string): Promise<boolean>;
  };
  /** Notifications: where they come in, and the subscriptions to them. */
  readonly notifications: NotificationDesk;
  /** The token of a lane with an account; null for a lane with an API key. Needs the full configuration. */
  token(lane: string): TokenCache | null;
  /** Worker processes alive now. */
  workers(): Promise<WorkerProcess[]>;
  /** Everything counted, lane by lane: what metrics show. It reads every campaign that is kept. */
  fleetSnapshot(): Promise<FleetSnapshot>;
  /** Rejects unless Redis answers within `withinMs`. */
  ping(withinMs: number): Promise<void>;
  /** Serves the lanes in this process. Needs the full configuration. `concurrency`: lanes at a time, default 50. */
  work(options?: { roles?: readonly Role[] | undefined; concurrency?: number | undefined }): Workers;
  close(): Promise<void>;
}
