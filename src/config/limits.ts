import { z } from 'zod';

/** The largest hourly quota: what one lane, served by one process, can put on the wire. */
const MAX_HOURLY_QUOTA = 10_000_000;

/** The most recipients one request may be set to; beyond it a single answer would be megabytes. */
export const MAX_RECIPIENTS = 1_000;

/** What an hourly quota must be. */
export const HOURLY_QUOTA = `must be a whole number of requests an hour from 1 to ${MAX_HOURLY_QUOTA}, or "auto"`;

/** Requests an hour, or `auto`: found out from the service's own 429. */
export const hourlyQuota = z.union(
  [z.literal('auto'), z.int().min(1, HOURLY_QUOTA).max(MAX_HOURLY_QUOTA, HOURLY_QUOTA)],
  HOURLY_QUOTA,
);

/** Recipients that share one send request. */
export const maxRecipientsPerRequest = z
  .int(`must be a whole number from 1 to ${MAX_RECIPIENTS}`)
  .min(1, 'must be at least 1')
  .max(MAX_RECIPIENTS, `must be at most ${MAX_RECIPIENTS}`);
