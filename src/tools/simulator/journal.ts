import { closeSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { z } from 'zod';
import { ARRIVAL_KINDS, OUTCOMES } from './arrivals.js';
import { FINALS } from './deliveries.js';
import { ANSWERS, type IdSeries } from './ledger.js';

/** How long a restarted simulator remembers. No client follows up a request for longer. */
const KEEP_MS = 7 * 24 * 3_600_000;
/** Bytes per write while the journal is rewritten. */
const CHUNK_LENGTH = 1 << 20;

const session = z.strictObject({ username: z.string(), accountId: z.string(), family: z.int() });

/** One change of a simulator's state. Quotas and accounts are named, because their positions may change. */
const change = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('accepted'),
    at: z.number(),
    key: z.string(),
    sender: z.string(),
    senderName: z.string().optional(),
    text: z.string(),
    correlator: z.string().optional(),
    version: z.enum(['v1', 'v3']).optional(),
    callbackData: z.string().optional(),
    senderAddress: z.string().optional(),
    notifyUrl: z.string().optional(),
    asynchronous: z.boolean().optional(),
    finalDelivery: z.boolean().optional(),
    answered: z.enum(ANSWERS),
    pollable: z.boolean(),
    recipients: z.array(z.number()).readonly(),
    fates: z.array(z.strictObject({ delayMs: z.number(), final: z.enum(FINALS) })).readonly(),
  }),
  z.strictObject({
    kind: z.literal('arrived'),
    at: z.number(),
    key: z.string().optional(),
    purpose: z.enum(ARRIVAL_KINDS),
    outcome: z.enum(OUTCOMES),
  }),
  z.strictObject({ kind: z.literal('magicUsed'), number: z.number() }),
  z.strictObject({
    kind: z.literal('subscribed'),
    key: z.string(),
    url: z.string(),
    securityToken: z.string(),
    finalDelivery: z.boolean().optional(),
  }),
  z.strictObject({ kind: z.literal('unsubscribed'), key: z.string() }),
  z.strictObject({
    kind: z.literal('tokens'),
    session,
    access: z.string(),
    accessExpiresAt: z.number(),
    refresh: z.string(),
    refreshExpiresAt: z.number(),
  }),
  z.strictObject({ kind: z.literal('redeemed'), refresh: z.string() }),
  z.strictObject({ kind: z.literal('revoked'), family: z.int() }),
  z.strictObject({ kind: z.literal('loginFailed'), username: z.string() }),
  z.strictObject({ kind: z.literal('unblocked') }),
  z.strictObject({
    kind: z.literal('activity'),
    at: z.number(),
    account: z.string(),
    action: z.enum(['login', 'refresh']),
    byUser: z.string(),
    byAccount: z.string(),
  }),
  z.strictObject({
    kind: z.literal('recordsAccepted'),
    at: z.number(),
    id: z.string(),
    key: z.string(),
    values: z.record(z.string(), z.string()),
    end: z.enum(['ready', 'failed', 'empty']),
    readyAt: z.number(),
    secret: z.string(),
  }),
  z.strictObject({ kind: z.literal('cleared') }),
]);

/** See {@link change}. */
export type Change = Readonly<z.output<typeof change>>;

/** Writes a change to the journal, or forgets it if there is none. */
export type Recorder = (change: Change) => void;

const heading = z.strictObject({
  kind: z.literal('simulator'),
  version: z.literal(1),
  idPrefix: z.string(),
  firstNumber: z.int(),
});

/** The changes of a simulator that ended, and where to add those of the next one. */
export interface Journal extends IdSeries {
  readonly changes: readonly Change[];
  readonly record: Recorder;
  close(): void;
}

/**
 * Opens the file in which a simulator keeps its state, so that a restart changes nothing for its clients. One line of JSON per
 * change, written before the reply, so that a killed process loses nothing. Opening leaves out what is older than a week.
 * `fresh`: the ids of a new file. `onDiskFull`: called instead of throwing; from then on nothing is written.
 */
export function openJournal(path: string, now: number, fresh: IdSeries, onDiskFull?: () => void): Journal {
  const read = readChanges(path);
  const { ids, changes } = shortened(read?.changes ?? [], read?.ids ?? fresh, now - KEEP_MS);
  const draft = `${path}.part`;
  rmSync(draft, { force: true });
  const file = openSync(draft, 'wx', 0o600);
  let text = lineOf({ kind: 'simulator', version: 1, ...ids });
  for (const each of changes) {
    text += lineOf(each);
    if (text.length < CHUNK_LENGTH) continue;
    writeSync(file, text);
    text = '';
  }
  writeSync(file, text);
  renameSync(draft, path);
  let isOpen = true;
  const close = (): void => {
    if (isOpen) closeSync(file);
    isOpen = false;
  };
  return {
    ...ids,
    changes,
    record(each) {
      // A request that is cut off while the simulator closes may still be on its way.
      if (!isOpen) return;
      try {
        writeSync(file, lineOf(each));
      } catch (error) {
        if (onDiskFull === undefined || !isDiskFull(error)) throw error;
        close();
        onDiskFull();
      }
    },
    close,
  };
}

const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['ENOSPC', 'EDQUOT'].includes(String(error.code));

function lineOf(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/** The content of a journal; undefined for a file that is none. A line that a full disk cut off is left out. */
function readChanges(path: string): { ids: IdSeries; changes: Change[] } | undefined {
  const [first, ...lines] = textOf(path).split('\n');
  const head = heading.safeParse(parsed(first ?? '')).data;
  if (head === undefined) return undefined;
  const changes = lines.flatMap((line) => change.safeParse(parsed(line)).data ?? []);
  return { ids: { idPrefix: head.idPrefix, firstNumber: head.firstNumber }, changes };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Leaves out requests and arrivals from before `since`, and what was cleared. Later requests keep their ids. */
function shortened(
  all: readonly Change[],
  ids: IdSeries,
  since: number,
): { ids: IdSeries; changes: Change[] } {
  const clearedAt = all.findLastIndex(({ kind }) => kind === 'cleared');
  const isKept = (each: Change, at: number): boolean => {
    switch (each.kind) {
      case 'accepted':
      case 'activity':
      case 'recordsAccepted':
        return at > clearedAt && each.at >= since;
      // The quotas count these even if the log has been cleared.
      case 'arrived':
        return each.at >= since;
      case 'magicUsed':
        return at > clearedAt;
      case 'tokens':
        return Math.max(each.accessExpiresAt, each.refreshExpiresAt) >= since;
      default:
        return true;
    }
  };
  const changes = all.filter(isKept);
  const acceptedIn = (some: readonly Change[]): number =>
    some.filter(({ kind }) => kind === 'accepted').length;
  const firstNumber = ids.firstNumber + acceptedIn(all) - acceptedIn(changes);
  return { ids: { idPrefix: ids.idPrefix, firstNumber }, changes };
}
