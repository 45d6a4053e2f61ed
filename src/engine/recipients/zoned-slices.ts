import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { partName, partNamed, type ZoneCount } from '../../campaign/estimate/zones.js';
import { zonesKey } from './campaign-keys.js';
import { readOrNull } from './damaged.js';
import { SLICE, type StoredRecipient } from './slice-blob.js';

/*
 * The list of a campaign whose recipients have windows of their own zones, or times of their own. While it is read, each zone and time fills slices
 * of its own, so at most one slice of each is kept in memory. At the end, the full slices of each are numbered in a row, and behind them
 * come the rests of all. So each has at most two parts of consecutive ordinals (engine/store/zones.lua), and no ordinal is missing.
 */

/** Consecutive recipients with one zone and time: the zone, the first ordinal that was never claimed, the end, and the time if there is one. */
const parts = z.array(z.tuple([z.string(), z.number(), z.number(), z.number().optional()]));
/** See above. */
export type Parts = z.output<typeof parts>;

/** What a recipient takes in memory besides its texts. */
const RECIPIENT_BYTES = 200;
const bytesOf = ({ values, reference = '' }: StoredRecipient): number =>
  values.reduce((sum, { length }) => sum + length, RECIPIENT_BYTES + reference.length);

/** The slices of a list while it is read: each part fills its own. */
export class ZonedSlices {
  /** About how much memory the recipients take whose slices are not full. */
  bytes = 0;
  readonly #parts = new Map<string, { readonly name: number; full: number; rows: StoredRecipient[] }>();

  /** Adds a recipient of the part with this name. Returns the slice that it fills, as it is called until the list is read; undefined if it fills none. */
  add(part: string, recipient: StoredRecipient) {
    const own = this.#parts.get(part) ?? { name: this.#parts.size, full: 0, rows: [] };
    this.#parts.set(part, own);
    own.rows.push(recipient);
    this.bytes += bytesOf(recipient);
    if (own.rows.length < SLICE) return undefined;
    const filled = { name: `${own.name}.${own.full}`, rows: own.rows };
    own.full += 1;
    own.rows = [];
    this.bytes = filled.rows.reduce((bytes, row) => bytes - bytesOf(row), this.bytes);
    return filled;
  }

  /** Ends the list: its parts, how many slices are full, their names in the order of their numbers, and the recipients that are left. */
  end() {
    const ended: { parts: Parts; names: string[]; rest: StoredRecipient[] } = {
      parts: [],
      names: [],
      rest: [],
    };
    const addPart = (name: string, first: number, end: number): void => {
      const { zone, at } = partNamed(name);
      if (first < end) ended.parts.push(at === undefined ? [zone, first, end] : [zone, first, end, at]);
    };
    for (const [part, { name, full }] of this.#parts) {
      const first = ended.names.length;
      for (let slice = 0; slice < full; slice += 1) ended.names.push(`${name}.${slice}`);
      addPart(part, first * SLICE, ended.names.length * SLICE);
    }
    for (const [part, { rows }] of this.#parts) {
      const first = ended.names.length * SLICE + ended.rest.length;
      ended.rest.push(...rows);
      addPart(part, first, first + rows.length);
    }
    return ended;
  }
}

/** Reads the parts of a campaign; null if it has none, or they cannot be read. */
export async function readParts(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  campaign: string,
): Promise<Parts | null> {
  const json = await redis.get(zonesKey(keys, lane, campaign));
  return json === null ? null : readOrNull(() => parts.parse(JSON.parse(json)));
}

/** The zone of an ordinal; undefined if its campaign has no zones. */
export const zoneAt = (of: Parts | null, ordinal: number): string | undefined =>
  of?.find(([, , end]) => ordinal < end)?.[0];

/** What the state of a campaign says of its parts. */
interface ClaimedState {
  readonly part?: number | undefined;
  readonly cursor: number;
  readonly released: readonly { readonly first: number; readonly count: number }[];
  readonly remainder: string;
}

/** Of each part: the first ordinal that was never claimed, and the end. */
export const claimedParts = (of: Parts, { part = 0, cursor }: ClaimedState): [number, number][] =>
  of.map(([, stored, end], at) => [at + 1 === part ? cursor : stored, end]);

/** How many recipients a campaign has with each zone and time, and how many of them it has still to send to. */
export function countZones(of: Parts, state: ClaimedState): ZoneCount[] {
  const { released, remainder } = state;
  const counts = new Map<string, { recipients: number; waiting: number }>();
  const planned = claimedParts(of, state).map(([cursor, end]) => end - cursor);
  for (const { first, count } of released) {
    const place = of.findIndex(([, , end]) => first < end);
    planned[place] = (planned[place] ?? 0) + count;
  }
  let first = 0;
  for (const [place, [zone, , end, at]] of of.entries()) {
    const name = partName({ zone, at });
    const { recipients, waiting } = counts.get(name) ?? { recipients: 0, waiting: 0 };
    counts.set(name, { recipients: recipients + end - first, waiting: waiting + (planned[place] ?? 0) });
    first = end;
  }
  return [...counts].map(([name, { recipients, waiting }]) => ({
    ...partNamed(name),
    recipients,
    waiting: remainder === 'planned' ? waiting : 0,
  }));
}
