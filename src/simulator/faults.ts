import { z } from 'zod';
import type { Random } from '../clock.js';

/** What may befall a send request besides being answered; the magic recipients choose from the same set. */
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

/** What may befall a request for delivery infos. */
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
 * What may befall a login or refresh: `resetAfter` does the work and loses the reply; `loginTimeout` (logins only)
 * answers 10126 with a message that speaks of a timeout and counts as no failed attempt.
 */
export const ACCOUNT_FAULTS = [
  'loginTimeout',
  'error500',
  'resetBefore',
  'resetAfter',
  'hang',
  'unreadable',
] as const;

/** See {@link SEND_FAULTS}. */
export type SendFault = (typeof SEND_FAULTS)[number];
/** See {@link POLL_FAULTS}. */
export type PollFault = (typeof POLL_FAULTS)[number];
/** See {@link ACCOUNT_FAULTS}. */
export type AccountFault = (typeof ACCOUNT_FAULTS)[number];

const sendFaults: ReadonlySet<string> = new Set(SEND_FAULTS);

/** Whether a name, such as that of a magic ending, is that of a fault of sends. */
export function isSendFault(name: string): name is SendFault {
  return sendFaults.has(name);
}

/** The schema of `{ fault: probability }` for these faults: each 0..1, absent = 0, together at most 1. */
export function probabilitiesSchema<Fault extends string>(faults: readonly [Fault, ...Fault[]]) {
  return z
    .partialRecord(z.enum(faults), z.number().min(0).max(1))
    .refine((given) => total(given) <= 1 + 1e-9, 'the probabilities together must be at most 1')
    .default({});
}

/**
 * Draws which fault befalls a request, or none. One random number a request whatever the probabilities are (and none
 * while all are zero), so a seed strikes the same requests again.
 */
export function createFaultDraw<Fault extends string>(
  probabilities: Partial<Record<Fault, number>>,
  random: Random,
): () => Fault | undefined {
  const likely = entries(probabilities).filter(([, probability]) => probability > 0);
  if (likely.length === 0) return () => undefined;
  return () => {
    let rest = random();
    for (const [fault, probability] of likely) {
      if (rest < probability) return fault;
      rest -= probability;
    }
    return undefined;
  };
}

function entries<Fault extends string>(probabilities: Partial<Record<Fault, number>>): [Fault, number][] {
  return Object.entries(probabilities) as [Fault, number][];
}

function total(probabilities: object): number {
  return Object.values(probabilities).reduce((sum: number, probability: number) => sum + probability, 0);
}
