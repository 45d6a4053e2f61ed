import { z } from 'zod';
import { textOrNull } from './measures.js';

/** What `volley doctor` looks at. */
export const CHECK_CODES = [
  'settings',
  'service',
  'redis',
  'dataFormat',
  'damaged',
  'workers',
  'restored',
  'workerSettings',
  'lane',
  'protection',
  'apiKeys',
  'countries',
  'laneNames',
  'storedLanes',
  'unconfiguredLanes',
  'outboxes',
  'callRecords',
  'schedules',
  'webhooks',
  'credentials',
  'subscriptions',
] as const;
/** See {@link CHECK_CODES}. */
export type CheckCode = (typeof CHECK_CODES)[number];

/** The result of one check. */
export interface Check {
  /** What was looked at. */
  readonly code: CheckCode;
  /** The same for people, with the name of what it is about, such as a lane. */
  readonly name: string;
  /** `warn`: it works, but data may be lost or something may go wrong; `fail`: it does not work. */
  readonly state: 'ok' | 'warn' | 'fail';
  /** What was found. */
  readonly message: string;
  /** What to do about it; null if there is nothing to do. */
  readonly advice: string | null;
}

/** See {@link Check}. */
export const check = z
  .object({
    code: z.enum(CHECK_CODES).describe('What was looked at'),
    name: z.string().describe('The same for people, with the name of what it is about, such as a lane'),
    state: z
      .enum(['ok', 'warn', 'fail'])
      .describe('`warn`: it works, but data may be lost or something may go wrong; `fail`: it does not work'),
    message: z.string().describe('What was found'),
    advice: textOrNull.describe('What to do about it; null if there is nothing to do'),
  })
  .readonly()
  .meta({ id: 'Check' });
