import type { CallbackSettings } from './callback.js';
import type { LaneRules, LaneSettings } from './lane.js';
import type { LogLevel } from './settings.js';

/** What a command needs that speaks only with Redis: no address of the service and no credentials. */
export interface LocalConfig {
  /** Undefined: the embedded server of `volley up`. */
  redisUrl: string | undefined;
  /** The beginning of every key, so that several installations can share a server. */
  redisPrefix: string;
  /** Milliseconds of answered writes that a power cut or a failover of Redis may take back; `auto`: asked of it. */
  redisMayLoseMs: number | 'auto';
  /** At least one. */
  lanes: readonly LaneRules[];
  /** The sender of campaigns that name none. */
  senderAddress?: string;
  senderName?: string;
  /** ISO 3166 code of the country whose national spelling numbers may be in. */
  defaultCountry?: string;
  /** The window that quotas are counted in: an hour, except in tests and demos. */
  quotaWindowMs: number;
  /** After this long without an answer a request's outcome is unknown. */
  requestTimeoutMs: number;
  /** From a request to its first poll, until the lane's own latency is known. */
  followUpFirstMs: number;
  /** From a request to the end of its polling. */
  followUpDeadlineMs: number;
  /** How long the data of a finished campaign is kept. */
  retentionMs: number;
  /** 32 bytes in base64 or hex; tokens are encrypted with it where they are kept. */
  secretsKey?: string;
  /** Where the service sends its notifications; without it delivery is only asked after. */
  callback?: CallbackSettings;
  /** Where the process serves its metrics; undefined: nowhere. Port 0: any free one. */
  metrics?: { host: string; port: number };
  logLevel: LogLevel;
  http: HttpSettings;
}

/** How the HTTP API is served. */
export interface HttpSettings {
  /** An address or host name of this machine. */
  host: string;
  /** 0: any that is free. */
  port: number;
  /** Of each key, in each process. */
  requestsPerMinute: number;
  /** The longest JSON body. */
  maxJsonBytes: number;
  /** The longest CSV. */
  maxUploadBytes: number;
}

/** Everything: what workers need, and whatever else speaks with the service. */
export interface Config extends LocalConfig {
  /** The part before `/outbound`, without a trailing slash. */
  messagingBaseUrl: string;
  /** The part before `/api/login`, without a trailing slash. */
  accountBaseUrl: string;
  lanes: readonly LaneSettings[];
}
