import { readFile, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Clock } from '../../src/clock.js';

const at = z.number();
const COUNTS = z.record(z.string(), z.number());

/**
 * Everything a checker may know of a run. Times are ms of one machine's clock. What takes time has `at`, when it began,
 * and `until`, when it was over.
 */
const EVENT = z.discriminatedUnion('is', [
  z.strictObject({
    is: z.literal('run'),
    at,
    scenario: z.string(),
    seed: z.number(),
    /** What the service permits each key. */
    quotas: z.array(z.strictObject({ key: z.string(), quota: z.number(), windowMs: z.number() })),
  }),
  z.strictObject({
    is: z.literal('campaign'),
    at,
    campaign: z.string(),
    key: z.string(),
    /** No two campaigns of a run share a text: it tells whose a request is. */
    text: z.string(),
    recipients: z.array(z.string()),
  }),
  /** A send or a poll that arrived at the service. */
  z.strictObject({
    is: z.literal('request'),
    at,
    key: z.string(),
    kind: z.enum(['send', 'poll']),
    outcome: z.string(),
    text: z.string(),
    recipients: z.array(z.string()),
    requestId: z.string(),
    /** Of an accepted send: the final status the service has for each recipient. */
    finals: z.array(z.string().nullable()),
  }),
  z.strictObject({
    is: z.literal('status'),
    at,
    until: at,
    campaign: z.string(),
    state: z.string(),
    ended: z.boolean(),
    waitingFor: z.string().nullable(),
    /** `total` and the recipients in each state. */
    counts: COUNTS,
  }),
  /** A row of a report; the rows of one report share its number. */
  z.strictObject({
    is: z.literal('row'),
    at,
    report: z.number(),
    campaign: z.string(),
    recipient: z.string(),
    status: z.string(),
  }),
  z.strictObject({
    is: z.literal('fault'),
    at,
    until: at,
    fault: z.string(),
    target: z.string(),
    /** Whether Redis lost what it had answered. */
    forgets: z.boolean(),
    /** At most so many recipients may be left of whose outcome nobody knows. */
    mayLeave: z.number(),
  }),
  z.strictObject({
    is: z.literal('command'),
    at,
    until: at,
    campaign: z.string(),
    command: z.enum(['pause', 'resume', 'cancel', 'resend', 'abandon', 'accepted']),
    /** Sends it named as in flight; 0 for commands that name none. */
    inFlight: z.number(),
    error: z.string().nullable(),
  }),
  /** Whether every campaign got to where nothing more happens by itself. */
  z.strictObject({ is: z.literal('end'), at, quiet: z.boolean(), reason: z.string() }),
]);

export type HistoryEvent = z.infer<typeof EVENT>;
export type EventOf<Is extends HistoryEvent['is']> = Extract<HistoryEvent, { is: Is }>;

/** An append-only list of events with one clock. */
export interface History {
  readonly clock: Clock;
  readonly events: readonly HistoryEvent[];
  add(event: HistoryEvent): void;
}

export function createHistory(clock: Clock): History {
  const events: HistoryEvent[] = [];
  return { clock, events, add: (event) => void events.push(event) };
}

/** The events of one kind, in the order they were added. */
export function eventsOf<Is extends HistoryEvent['is']>(
  events: readonly HistoryEvent[],
  is: Is,
): EventOf<Is>[] {
  return events.filter((event): event is EventOf<Is> => event.is === is);
}

/** Writes a history as NDJSON. */
export async function writeHistory(path: string, events: readonly HistoryEvent[]): Promise<void> {
  await writeFile(path, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
}

/** Reads what `writeHistory` wrote. Throws an Error that names the line which is no event. */
export async function readHistory(path: string): Promise<HistoryEvent[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  return lines.map((line, index) => {
    try {
      return EVENT.parse(JSON.parse(line));
    } catch (error) {
      throw new Error(`${path}:${index + 1} is no event of a history`, { cause: error });
    }
  });
}
