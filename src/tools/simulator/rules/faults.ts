import { z } from 'zod';
import type { Random } from '../../../base/clock.js';

/** The faults of send requests. Magic recipients use the same set. */
export const SEND_FAULTS = [
  'throttle',
  'throttleSeconds',
  'throttleDate',
  'error500',
  'error503',
  'error500After',
  'forbid',
  'resetBefore',
  'resetAfter',
  'hang',
  'acceptAndHang',
  'unreadable',
  'withoutRequestId',
] as const;

/** The faults of polls. */
export const POLL_FAULTS = [
  'throttle',
  'throttleSeconds',
  'throttleDate',
  'error500',
  'error503',
  'forbid',
  'notFound',
  'reset',
  'hang',
  'unreadable',
] as const;

/**
 * The faults of logins and refreshes. `resetAfter` processes the request and loses the reply; `loginTimeout` (logins only)
 * answers 10126 with a message about a timeout and does not count as a failed login.
 */
export const ACCOUNT_FAULTS = [
  'loginTimeout',
  'error500',
  'resetBefore',
  'resetAfter',
  'hang',
  'unreadable',
] as const;

/** The faults of requests for call records. Those that end in `After`, `acceptAndHang`, and `withoutId` accept the request. */
export const RECORDS_FAULTS = [
  'throttle',
  'error500',
  'error500After',
  'resetBefore',
  'resetAfter',
  'hang',
  'acceptAndHang',
  'withoutId',
] as const;

/** The faults of status requests and downloads. `cut` (downloads only) breaks the connection within the file. */
export const RECORDS_READ_FAULTS = ['throttle', 'error500', 'reset', 'hang', 'cut'] as const;

/** See {@link SEND_FAULTS}. */
export type SendFault = (typeof SEND_FAULTS)[number];
/** See {@link POLL_FAULTS}. */
export type PollFault = (typeof POLL_FAULTS)[number];
/** See {@link ACCOUNT_FAULTS}. */
export type AccountFault = (typeof ACCOUNT_FAULTS)[number];
/** See {@link RECORDS_FAULTS}. */
export type RecordsFault = (typeof RECORDS_FAULTS)[number];
/** See {@link RECORDS_READ_FAULTS}. */
export type RecordsReadFault = (typeof RECORDS_READ_FAULTS)[number];

const sendFaults: ReadonlySet<string> = new Set(SEND_FAULTS);

/** Whether a name, such as that of a magic ending, is a fault of sends. */
export function isSendFault(name: string): name is SendFault {
  return sendFaults.has(name);
}

/** The schema of `{ fault: probability }`: each from 0 to 1 (default 0), in sum at most 1. */
export function probabilitiesSchema<Fault extends string>(faults: readonly [Fault, ...Fault[]]) {
  return z
    .partialRecord(z.enum(faults), z.number().min(0).max(1))
    .refine(
      (probabilities) => total(probabilities) <= 1 + 1e-9,
      'the sum of the probabilities must be at most 1',
    )
    .default({});
}

/**
 * The fault of a request, if any. It draws one random number, whatever the probabilities are (none if all are zero), so that a seed hits
 * the same requests every time.
 */
export function drawFault<Fault extends string>(
  probabilities: Partial<Record<Fault, number>>,
  random: Random,
): Fault | undefined {
  const possible = entries(probabilities).filter(([, probability]) => probability > 0);
  let remainder = possible.length === 0 ? 1 : random();
  for (const [fault, probability] of possible) {
    if (remainder < probability) return fault;
    remainder -= probability;
  }
  return undefined;
}

function entries<Fault extends string>(probabilities: Partial<Record<Fault, number>>): [Fault, number][] {
  return Object.entries(probabilities) as [Fault, number][];
}

function total(probabilities: object): number {
  return Object.values(probabilities).reduce((sum: number, probability: number) => sum + probability, 0);
}
