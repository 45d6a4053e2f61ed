import type { LocalConfig } from '../../base/config/index.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import type { ApiKey } from '../../campaign/states/api-key.js';
import type { Check, CheckCode } from '../../campaign/views/check-views.js';
import type { LaneStatus } from '../../campaign/views/views.js';
import type { ExamineOptions, Volley } from '../volley.js';

/** What a check found; its row adds the code. */
export type Finding = Omit<Check, 'code'>;

/** A check that passed. */
export const ok = (name: string, message: string): Finding => ({ name, state: 'ok', message, advice: null });
/** A warning. */
export const warn = (name: string, message: string, advice: string): Finding => ({
  name,
  state: 'warn',
  message,
  advice,
});
/** A failure. */
export const fail = (name: string, message: string, advice: string | null = null): Finding => ({
  name,
  state: 'fail',
  message,
  advice,
});

/** Items that are named for each problem. */
const NAMED = 3;

/** A finding for each of the first items that have a problem. */
export const firstFew = <Item>(items: readonly Item[], finding: (item: Item) => Finding): Finding[] =>
  items.slice(0, NAMED).map(finding);

/** Findings with the code of their row. */
export const coded = (code: CheckCode, findings: readonly Finding[]): Check[] =>
  findings.map((finding) => ({ code, ...finding }));

/** An installation whose Redis answers. */
export interface Examined extends ExamineOptions {
  readonly redis: Redis;
  readonly keyNames: Keys;
  readonly config: LocalConfig;
  readonly volley: Volley;
  /** The ids of stored lanes that cannot be read. */
  readonly damagedLanes: () => Promise<readonly string[]>;
  readonly clock: () => number;
  readonly now: number;
  /** Read when a row asks for the first time. */
  lanes(): Promise<readonly LaneStatus[]>;
  keys(): Promise<readonly ApiKey[]>;
}

/** A row of the doctor. */
export interface Row {
  readonly code: CheckCode;
  readonly check: (examined: Examined) => readonly Finding[] | Promise<readonly Finding[]>;
}
