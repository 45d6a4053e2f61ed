import { readFile, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Clock } from '../../src/base/clock.js';

const at = z.number();
const COUNTS = z.record(z.string(), z.number());

/**
 * Everything that the checks know about a run. Times are ms of one machine's clock. `at` is the time or the start of an
 * event, and `until` its end.
 */
const EVENT = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('run'),
    at,
    scenario: z.string(),
    seed: z.number(),
    /** The quota of each key. */
    quotas: z.array(z.strictObject({ key: z.string(), quota: z.number(), windowMs: z.number() })),
  }),
  z.strictObject({
    type: z.literal('campaign'),
    at,
    campaign: z.string(),
    key: z.string(),
    /** Unique among the campaigns of a run, so that it identifies the campaign of a request. */
    text: z.string(),
    recipients: z.array(z.string()),
  }),
  /** The messages of an outbox, which is in the other events as the campaign `outbox:` and its name. */
  z.strictObject({
    type: z.literal('outbox'),
    at,
    campaign: z.string(),
    key: z.string(),
    /** The texts that may be sent of each id, by the last answer; none if that confirmed a cancel. Unique among all ids. */
    texts: z.record(z.string(), z.array(z.string())),
  }),
  /** When a campaign may be sent: its own window, or that of its lane; or when some of its recipients may be. */
  z.strictObject({
    type: z.literal('window'),
    at,
    campaign: z.string(),
    openings: z.array(z.strictObject({ from: z.number(), until: z.number() })),
    /** Those to whom it applies; default: all. */
    recipients: z.array(z.string()).optional(),
  }),
  /** A send or a poll that arrived at the service. */
  z.strictObject({
    type: z.literal('request'),
    at,
    key: z.string(),
    kind: z.enum(['send', 'poll']),
    outcome: z.string(),
    text: z.string(),
    recipients: z.array(z.string()),
    requestId: z.string(),
    /** For an accepted send: the final status of each recipient at the service. */
    finals: z.array(z.string().nullable()),
  }),
  /** A send that a process wrote to its connection, in scenarios with windows: the times right before and right after the write. */
  z.strictObject({
    type: z.literal('write'),
    at,
    until: at,
    /** The process, named like the target of a fault. */
    by: z.string(),
    text: z.string(),
    recipients: z.array(z.string()),
  }),
  z.strictObject({
    type: z.literal('status'),
    at,
    until: at,
    campaign: z.string(),
    state: z.string(),
    ended: z.boolean(),
    waitingFor: z.string().nullable(),
    /** `total` and the recipients in each state. */
    counts: COUNTS,
  }),
  /** A row of a report; `report` is the number of that report. */
  z.strictObject({
    type: z.literal('row'),
    at,
    report: z.number(),
    campaign: z.string(),
    recipient: z.string(),
    status: z.string(),
    /** Of an unknown outcome: our reference of its request. */
    request: z.string().optional(),
  }),
  /** A process reports that it cannot know what became of a request: its connection broke, no response came in time, or something else. */
  z.strictObject({
    type: z.literal('unknown'),
    at,
    request: z.string(),
    cause: z.enum(['cut', 'timeout', 'other']),
  }),
  z.strictObject({
    type: z.literal('fault'),
    at,
    until: at,
    fault: z.string(),
    target: z.string(),
    /** Whether Redis lost acknowledged data. */
    losesData: z.boolean(),
    /** The maximum number of recipients whose outcome the fault may leave unknown. */
    mayBeUnknown: z.number(),
    /** How many requests the fault may cut. Their outcomes are counted one by one, and not in `mayBeUnknown`. */
    cuts: z.number().optional(),
  }),
  z.strictObject({
    type: z.literal('command'),
    at,
    until: at,
    campaign: z.string(),
    command: z.enum(['pause', 'resume', 'cancel', 'resend', 'abandon', 'accepted']),
    /** The sends that the command reported as in flight; 0 if it reports none. */
    inFlight: z.number(),
    error: z.string().nullable(),
  }),
  /** A broken promise that an attack has seen, and that no check knows. */
  z.strictObject({ type: z.literal('problem'), at, what: z.string() }),
  /** Whether every campaign has ended or waits for an operator. */
  z.strictObject({ type: z.literal('end'), at, settled: z.boolean(), reason: z.string() }),
]);

export type HistoryEvent = z.infer<typeof EVENT>;
export type EventOf<Type extends HistoryEvent['type']> = Extract<HistoryEvent, { type: Type }>;

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
export function eventsOf<Type extends HistoryEvent['type']>(
  events: readonly HistoryEvent[],
  type: Type,
): EventOf<Type>[] {
  return events.filter((event): event is EventOf<Type> => event.type === type);
}

/** Writes a history as NDJSON. */
export async function writeHistory(path: string, events: readonly HistoryEvent[]): Promise<void> {
  await writeFile(path, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
}

/** Reads what `writeHistory` wrote. Throws an Error with the line number of an invalid event. */
export async function readHistory(path: string): Promise<HistoryEvent[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  return lines.map((line, index) => {
    try {
      return EVENT.parse(JSON.parse(line));
    } catch (error) {
      throw new Error(`${path}:${index + 1} is not a valid history event`, { cause: error });
    }
  });
}
