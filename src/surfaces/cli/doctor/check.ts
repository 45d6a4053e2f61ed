import type { Volley } from '../../../app/volley.js';
import type { Config, LocalConfig } from '../../../base/config/index.js';
import type { Redis } from '../../../base/redis/connection.js';
import type { ApiKey } from '../../../campaign/api-key.js';
import type { LaneStatus } from '../../../campaign/views.js';
import type { Context } from '../context.js';

/** The result of one check. `warn`: it works, but data may be lost or something may go wrong; `fail`: it does not work. */
export interface Check {
  readonly name: string;
  readonly level: 'ok' | 'warn' | 'fail';
  /** What the check found. */
  readonly found: string;
  /** What to do about it; null if there is nothing to do. */
  readonly todo: string | null;
}

/** A check that passed. */
export const ok = (name: string, found: string): Check => ({
  name,
  level: 'ok',
  found,
  todo: null,
});
/** A warning. */
export const warn = (name: string, found: string, todo: string): Check => ({
  name,
  level: 'warn',
  found,
  todo,
});
/** A failure. */
export const fail = (name: string, found: string, todo: string | null = null): Check => ({
  name,
  level: 'fail',
  found,
  todo,
});

/** An installation whose Redis answers. */
export interface Examined {
  readonly context: Context;
  readonly config: LocalConfig;
  readonly redis: Redis;
  readonly volley: Volley;
  /** Whether a backup was restored. */
  readonly isRestored: boolean;
  readonly now: number;
  /** Read when a row asks for the first time. */
  lanes(): Promise<readonly LaneStatus[]>;
  keys(): Promise<readonly ApiKey[]>;
}

/** An installation whose settings are complete, so that it may call the service. */
export interface Configured {
  readonly context: Context;
  readonly config: Config;
}

/** What a row looks at, by what it needs. */
interface Needs {
  /** Redis, even if settings that only the service needs are missing. */
  readonly redis: Examined;
  /** Redis and all settings. */
  readonly both: Examined & Configured;
  /** All settings, even if Redis does not answer. */
  readonly settings: Configured;
}

/** A row of the doctor. */
export type Row = {
  readonly [Need in keyof Needs]: {
    readonly needs: Need;
    readonly check: (of: Needs[Need]) => readonly Check[] | Promise<readonly Check[]>;
  };
}[keyof Needs];
