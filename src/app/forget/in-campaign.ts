import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { RECIPIENT_STATE } from '../../campaign/states/recipient.js';
import {
  metaKey,
  RECORDS_PER_HASH,
  recordsKey,
  type Series,
  slicesKey,
  statusesKey,
} from '../../engine/recipients/campaign-keys.js';
import { packSlice, SLICE, type StoredRecipient, unpackSlice } from '../../engine/recipients/slice-blob.js';
import { countSlices, readSlices } from '../../engine/recipients/stored-slices.js';
import { type LaneStore, laneScript } from '../../engine/scripts/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../../engine/scripts/script-events.js';
import { recipientReader } from '../../reporting/recipient-reader.js';
import type { Intent } from './elsewhere.js';
import { changeIn, replaceIn, withoutNumber } from './places.js';

/*
 * A number in one campaign. Planned recipients are cancelled. A recipient that is settled becomes a tombstone at its ordinal: the number 0, no
 * values, and no reference. An open one keeps its number until it is settled: polls and reports need
 * it. A row that was left out keeps its line and its code.
 */

const cancelScript = laneScript(import.meta.url, './cancel-recipients.lua', (reply) => {
  const [isDone, events] = z.tuple([z.number(), z.string()]).parse(reply);
  return { isDone: isDone === 1, events: scriptEvents(events) };
});

/** Cancels those of these recipients that are planned. `now` is for tests. */
export const cancelRecipients = (
  lane: LaneStore,
  campaign: string,
  ordinals: readonly number[],
  now?: number,
) =>
  cancelScript(lane, { id: campaign, time: now }, [], {
    ownKeys: { statuses: statusesKey(lane.keys, lane.id, campaign) },
    entryArgs: ordinals,
  });

/** What was done in a campaign. */
export interface InCampaign {
  readonly cancelled: number;
  readonly erased: number;
  /** The ordinals that are open; null if the whole campaign is to be searched again. Undefined if it is done. */
  readonly left?: readonly number[] | null;
  readonly events: readonly ScriptEvent[];
}

/** Slices that are read at a time. */
const SLICES_AT_ONCE = 64;
/** Recipients that one script call cancels. */
const ORDINALS_AT_ONCE = 1_000;

interface Of {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly lane: LaneId;
  readonly campaign: string;
}

/**
 * Forgets the numbers of a subscriber, E.164 with their plus, in a campaign. `only`: the ordinals that were open; by default, the campaign is searched. Repeating it
 * is harmless, and counts nothing twice.
 */
export async function forgetInCampaign(
  lane: LaneStore,
  campaign: string,
  numbers: readonly [string, ...string[]],
  only: readonly number[] | null,
  intend: (found: Intent) => Promise<Intent>,
): Promise<InCampaign> {
  const { redis, keys, id } = lane;
  const [number] = numbers;
  const of = { redis, keys, lane: id, campaign };
  const reader = recipientReader(redis, keys, id, campaign);
  const statesOf = (some: readonly number[]) =>
    Promise.all(some.map(async (one) => (await reader.record(one))?.state));
  const blank = ({ values }: StoredRecipient): StoredRecipient => ({
    number: '0',
    values: values.map(() => ''),
    reference: '',
  });
  const isOf = ({ number: own, values }: StoredRecipient): boolean =>
    numbers.includes(own) || withoutNumber(values[3] ?? '', number) !== (values[3] ?? '');
  const others: readonly Rewriting[] = [
    { series: 'suppressed', change: (one) => (numbers.includes(one.number) ? blank(one) : one) },
    {
      series: 'leftOut',
      change: (one) =>
        isOf(one) ? { number: '0', values: [...one.values.slice(0, 3), ''], reference: '' } : one,
    },
  ];
  const searched = await Promise.all(only === null ? others.map((each) => search(of, each)) : []);

  const found = only ?? (await reader.ordinalsOf(numbers));
  const before = await statesOf(found);
  const intent = await intend({
    cancelling: found.filter((_, at) => before[at] === 'planned'),
    erasing: found.filter((_, at) => before[at] !== 'planned'),
    rows: searched.reduce((sum, { rows }) => sum + rows, 0),
  });
  const ordinals = [...intent.cancelling, ...intent.erasing].map(Number).sort((a, b) => a - b);
  let isDone = true;
  const events: ScriptEvent[] = [];
  for (let first = 0; first < ordinals.length; first += ORDINALS_AT_ONCE) {
    const some = ordinals.slice(first, first + ORDINALS_AT_ONCE);
    const done = await cancelRecipients(lane, campaign, some);
    isDone &&= done.isDone;
    events.push(...done.events);
  }
  const now = await statesOf(ordinals);
  // Of a campaign that is being imported, there are no states yet.
  const isOpen = (at: number): boolean => {
    const state = now[at];
    return state === undefined || RECIPIENT_STATE[state].open;
  };
  const settled = isDone ? ordinals.filter((_, at) => !isOpen(at)) : [];
  const open = ordinals.filter((one) => !settled.includes(one));
  if (settled.length > 0) {
    const isSettled = new Set(settled);
    const indices = [...new Set(settled.map((one) => Math.floor(one / SLICE)))];
    await rewrite(of, 'slices', indices, (one, ordinal) => (isSettled.has(ordinal) ? blank(one) : one));
    await eraseReasons(of, number, settled);
  }
  for (const [at, { series, change }] of others.entries())
    await rewrite(of, series, searched[at]?.indices ?? [], change);
  const isRewritten = ordinals.length + intent.rows > 0;
  if (isRewritten) await dropFingerprint(of);
  // Cancels nothing, but notes a change: a report that was read before it has another version (reportVersion).
  const noted = isRewritten ? (await cancelRecipients(lane, campaign, [])).events : [];
  const isAgain = !isDone || (only === null && (await isImporting(of)));
  const left = isAgain ? null : open.length > 0 ? open : undefined;
  return {
    cancelled: ordinals.filter((one, at) => now[at] === 'cancelled' && intent.cancelling.includes(one))
      .length,
    erased: settled.length + intent.rows,
    events: [...events, ...noted],
    ...(left !== undefined && (ordinals.length > 0 || isAgain) && { left }),
  };
}

/** Whether a number may still come into the campaign. */
async function isImporting({ redis, keys, lane, campaign }: Of): Promise<boolean> {
  return (await redis.zscore(keys.lane(lane, 'importing'), campaign)) !== null;
}

type Change = (recipient: StoredRecipient, position: number) => StoredRecipient;

/** Rewrites slices in which a recipient changes. */
async function rewrite(of: Of, series: Series, indices: readonly number[], change: Change): Promise<void> {
  for (const index of indices) {
    // Again, if another process wrote the slice after it was read.
    for (;;) {
      const [slice = null] = await readSlices(of.redis, of.keys, { ...of, series }, [index]);
      if (slice === null) break;
      const before = unpackSlice(slice);
      const after = before.map((one, place) => change(one, index * SLICE + place));
      const places = [...before.keys()].filter((place) => before[place] !== after[place]);
      if (places.length === 0 || (await write(of, series, index, slice, after))) break;
    }
  }
}

/** A change of every recipient of a series that has the number. */
interface Rewriting {
  readonly series: Series;
  readonly change: Change;
}

/** The slices of a series that change, and how many rows in them. */
async function search(of: Of, { series, change }: Rewriting): Promise<{ indices: number[]; rows: number }> {
  const total = await countSlices(of.redis, of.keys, { ...of, series });
  const changed: number[] = [];
  for (let first = 0; first < total; first += SLICES_AT_ONCE) {
    const indices = Array.from({ length: Math.min(SLICES_AT_ONCE, total - first) }, (_, at) => first + at);
    const slices = await readSlices(of.redis, of.keys, { ...of, series }, indices);
    for (const [at, slice] of slices.entries())
      for (const one of slice === null ? [] : unpackSlice(slice))
        if (change(one, 0) !== one) changed.push(first + at);
  }
  return { indices: [...new Set(changed)], rows: changed.length };
}

/** Replaces a slice where it is stored. False if another process has changed it since it was read. */
async function write(
  { redis, keys, lane, campaign }: Of,
  series: Series,
  index: number,
  before: Buffer,
  after: readonly StoredRecipient[],
): Promise<boolean> {
  const packed = packSlice(after);
  const target = slicesKey(keys, lane, campaign, series);
  return replaceIn(redis, { target, kind: 'hash', place: String(index) }, before, packed);
}

/** Removes the digest of the list, which has no key: someone with the other numbers of the list could find this one by it. */
async function dropFingerprint({ redis, keys, lane, campaign }: Of): Promise<void> {
  const target = metaKey(keys, lane, campaign);
  // Again, if another process has changed it since it was read.
  for (;;) {
    const before = await redis.get(target);
    const { fingerprint, ...after }: Record<string, unknown> = JSON.parse(before ?? '{}');
    if (before === null || fingerprint === undefined) return;
    if (await replaceIn(redis, { target, kind: 'string' }, before, JSON.stringify(after))) return;
  }
}

const RECORD = /^([\d:]+,\d+,\d+,)([^,]*)(,.*)$/s;

/** Takes the number out of what the service said about the requests of recipients. */
async function eraseReasons(
  { redis, keys, lane, campaign }: Of,
  number: string,
  ordinals: readonly number[],
): Promise<void> {
  const blank = (record: string): string => {
    const [, head = '', reason = record, rest = ''] = RECORD.exec(record) ?? [];
    return `${head}${withoutNumber(reason, number)}${rest}`;
  };
  // A batch may begin anywhere in the slice of its recipients.
  const firsts = new Set(
    ordinals.flatMap((one) => {
      const start = one - (one % SLICE);
      return [start, start + RECORDS_PER_HASH];
    }),
  );
  for (const first of firsts) {
    const target = recordsKey(keys, lane, campaign, first);
    for (const [place, stored] of Object.entries(await redis.hgetall(target)))
      if (blank(stored) !== stored) await changeIn(redis, { target, kind: 'hash', place }, blank);
  }
}
