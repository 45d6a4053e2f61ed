import type { TokenCache } from './auth/token-cache.js';
import type { ApiKey, ApiScope, LaneStatus, Preview } from './campaign/views.js';
import type { Events } from './events/events.js';
import type { CampaignInput, EnqueueOutcome } from './import/campaign-input.js';
import type { SuppressionList } from './import/suppression-list.js';
import type { NotificationService } from './notifications/notification-service.js';
import type { Role, WorkerProcess } from './recovery/heartbeats.js';
import type { CampaignReader } from './reporting/campaign-reader.js';
import type { EventFollower } from './reporting/event-feed.js';
import type { RecipientFinder } from './reporting/find-recipient.js';
import type { FleetReader } from './reporting/fleet-snapshot.js';
import type { Reports } from './reporting/report.js';

import type { Resolution, ResolveOutcome } from './sending/resolve-unknown.js';

export type { TokenCache } from './auth/token-cache.js';
export type { TokenState } from './auth/token-state.js';
export type { Resolution, ResolveOutcome } from './sending/resolve-unknown.js';

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
export interface Volley extends CampaignReader, Reports, RecipientFinder, EventFollower, FleetReader {
  readonly events: Events;
  enqueue(input: CampaignInput): Promise<EnqueueOutcome>;
  /** The same, with nothing stored and nothing sent. */
  preview(input: CampaignInput): Promise<Preview>;
  /** The lane of a campaign. */
  laneOf(id: string): Promise<string>;
  /** After it returns no request of the campaign starts but those it counts as in flight. */
  pause(id: string): Promise<{ inFlight: number }>;
  resume(id: string): Promise<void>;
  cancel(id: string): Promise<{ inFlight: number; cancelled: number }>;
  resolve(id: string, resolution: Resolution): Promise<ResolveOutcome>;
  lanes(): Promise<LaneStatus[]>;
  pauseLane(name: string): Promise<void>;
  resumeLane(name: string): Promise<void>;
  readonly suppression: SuppressionList;
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
  readonly notifications: NotificationService;
  /** The token of a lane with an account; null for a lane with an API key. Needs the full configuration. */
  token(lane: string): TokenCache | null;
  /** Worker processes alive now. */
  workers(): Promise<WorkerProcess[]>;
  /** Rejects unless Redis answers within `withinMs`. */
  ping(withinMs: number): Promise<void>;
  /** Serves the lanes in this process. Needs the full configuration. `concurrency`: lanes at a time, default 50. */
  work(options?: { roles?: readonly Role[] | undefined; concurrency?: number | undefined }): Workers;
  close(): Promise<void>;
}
