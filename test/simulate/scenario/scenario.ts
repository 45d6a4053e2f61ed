import type { Clocks } from '../../../src/base/clock.js';
import { type Config, type LaneSettings, loadConfig } from '../../../src/base/config/index.js';
import type { Opening } from '../../../src/campaign/estimate/window.js';
import type { QuotaModelName } from '../../../src/tools/simulator/rules/quota-models.js';

/** The kinds of faults. Each world draws some of them. */
export const FAULTS = ['kill', 'stop', 'cut', 'lock', 'clock', 'full', 'forget', 'service', 'slow'] as const;
export type Fault = (typeof FAULTS)[number];

export interface CampaignPlan {
  readonly id: string;
  readonly lane: string;
  /** The range of its phone numbers. Campaigns with the same range have the same recipients. */
  readonly range: number;
  readonly recipients: number;
  readonly priority: 'high' | 'normal';
  /** ms of virtual time. */
  readonly committedAt: number;
  readonly startsInMs: number;
  readonly validForMs: number;
  /** The rule of its window: a key of {@link Scenario.windows}. */
  readonly window?: string;
  /** Its recipients are in parts with these names, of equal size; its window has a rule in each of their zones. Default: there are none. */
  readonly zones?: readonly string[];
  /** Ordinals of the numbers that the service refuses. */
  readonly bad: ReadonlySet<number>;
  /** Ordinals of the numbers that are suppressed after the import. */
  readonly suppressed: ReadonlySet<number>;
}

/** An outbox, whose messages a platform puts, moves, and cancels. */
export interface OutboxPlan {
  /** It is the text of its messages as well. */
  readonly name: string;
  readonly lane: string;
  readonly lateMs: number;
  readonly priority: 'high' | 'normal';
  /** The rule of its window: a key of {@link Scenario.windows}. */
  readonly window?: string;
  readonly messages: number;
  /** Whether operations have versions. */
  readonly isVersioned: boolean;
}

export interface LanePlan {
  readonly settings: LaneSettings;
  readonly model: QuotaModelName;
  /** The quota that the service enforces, in requests per window. */
  readonly hidden: number;
  /** Lifetime of an access token, ms; 0: the token does not state its expiry, and the service answers 401 once it has expired. */
  readonly tokenLifeMs: number;
  readonly isPasswordWrong: boolean;
  /** With what a service that deduplicates answers a correlator that it knows; default: its first response. */
  readonly knows?: KnownAnswer | undefined;
  /** Whether the service does not answer this lane until all other lanes have ended. */
  readonly isBlocked: boolean;
}

/** An error in place of the first response. */
export type KnownAnswer = 'SVC0005' | 400 | 403 | 409 | 422 | 429;

/** How the service notifies. */
export interface NotificationPlan {
  /** The share of notifications that never arrive. */
  readonly loss: number;
  /** Whether some notifications arrive hours late. */
  readonly areLate: boolean;
  /** Whether campaigns share recipients and many requests get no response, so that notifications are hard to match. */
  readonly isAmbiguous: boolean;
}

/** A lane whose API key or account the service refuses until an operator has fixed it. */
export interface RefusalPlan {
  readonly lane: string;
  /** When the refusals begin, ms of virtual time. */
  readonly at: number;
  /** How often it may happen. */
  readonly rounds: number;
  /** The status for a refused API key. */
  readonly status: 401 | 403;
}

/** A recipient of a campaign writes to its sender. */
export interface ReplyPlan {
  readonly campaign: string;
  readonly ordinal: number;
  /** ms of virtual time. */
  readonly at: number;
  readonly text: 'stop' | 'start' | 'hello';
  /** Whether it arrives in two parts. */
  readonly isLong: boolean;
  /** How often the service delivers each part, and within what time, ms. */
  readonly times: number;
  readonly withinMs: number;
}

/** The machine of a process is suspended while it has a claim. */
export interface SuspensionPlan {
  /** The earliest time, ms of virtual time. */
  readonly at: number;
  readonly forMs: number;
  /** The clocks that stand still meanwhile. */
  readonly standing: readonly (keyof Clocks)[];
  /** What an operator does with the campaign meanwhile, and when. */
  readonly command: 'pause' | 'resend';
  readonly commandAfterMs: number;
}

/** Two servers take over from one, so that they assign the same claim numbers. Times in ms. */
export interface RollbackPlan {
  /** When Redis last saves its data. */
  readonly at: number;
  /** When the first server takes over, and when the second one does, after that. */
  readonly loseAfterMs: number;
  readonly againAfterMs: number;
  /** For how long the owner of a claim of the first one is suspended. */
  readonly forMs: number;
}

/** A machine is suspended as its request leaves, while the request timeout is being changed. */
export interface TimeoutPlan {
  /** The earliest time, ms of virtual time. */
  readonly at: number;
  readonly shortMs: number;
  readonly longMs: number;
}

/** Everything about a world that is settled in advance. */
export interface Scenario {
  readonly config: Config;
  /** Set while REQUEST_TIMEOUT_MS is being changed: the configuration of every second process. */
  readonly changed: Config | undefined;
  readonly lanes: readonly LanePlan[];
  readonly campaigns: readonly CampaignPlan[];
  /** Most worlds have none. */
  readonly outbox: OutboxPlan | undefined;
  readonly replies: readonly ReplyPlan[];
  /** Whether a platform gets the results by webhook. */
  readonly hasEndpoint: boolean;
  readonly processes: number;
  readonly faults: ReadonlySet<Fault>;
  /** The end of the faults and of random commands, ms of virtual time. */
  readonly chaosMs: number;
  readonly latencyMs: number;
  /** How much acknowledged data Redis may lose, ms. Volley knows this value. */
  readonly lossMs: number;
  /** Undefined when the service sends no notifications. */
  readonly notifications: NotificationPlan | undefined;
  readonly refusal: RefusalPlan | undefined;
  /** The clocks of a machine that stand still while a process is stopped; none if only the process is stopped. */
  readonly standing: readonly (keyof Clocks)[];
  /** Undefined when no machine is suspended while its process has a claim. */
  readonly suspension: SuspensionPlan | undefined;
  readonly rollback: RollbackPlan | undefined;
  readonly lateRequest: TimeoutPlan | undefined;
  /** The openings of windows by their rules, ms by the clock of Redis. The last ones stay open. */
  readonly windows: ReadonlyMap<string, readonly Opening[]>;
  /** When all slots move to another server, which loses nothing and breaks no connection, ms of virtual time. */
  readonly movesAt: readonly number[];
}

/** The accounts of the lanes, in order. */
export const ACCOUNTS = ['lane0', 'lane1'].map((username) => ({ username, password: 'secret' }));

const configs = new Map<string, Config>();

/** Configurations are validated once and shared by the worlds. */
export function configOf(windowMs: number, timeoutMs: number, deadline: string, isNotified: boolean): Config {
  const name = `${windowMs} ${timeoutMs} ${deadline} ${isNotified}`;
  const known = configs.get(name);
  if (known !== undefined) return known;
  const made = loadConfig({
    MESSAGING_BASE_URL: 'http://127.0.0.1:1',
    API_KEY: 'key',
    HOURLY_QUOTA: '10',
    QUOTA_WINDOW_MS: String(windowMs),
    REQUEST_TIMEOUT_MS: String(timeoutMs),
    FOLLOW_UP_DEADLINE: deadline,
    RETENTION: '1h',
    ...(isNotified
      ? {
          CALLBACK_URL: 'http://127.0.0.1:2',
          CALLBACK_SECURITY_TOKEN: 'a-token-of-32-letters-or-of-more',
        }
      : {}),
  });
  configs.set(name, made);
  return made;
}

/** The phone number of a recipient; it contains the range of the campaign and the ordinal. */
export function numberOf(range: number, ordinal: number): string {
  return `+4915${String(10 + range)}${String(100_000 + ordinal)}`;
}

export function ordinalOf(number: string): number {
  return Number(number.slice(7)) - 100_000;
}
