import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import type { ZoneCount } from '../../campaign/estimate/zones.js';
import { zonesKey } from './campaign-keys.js';
import { readOrNull } from './damaged.js';
import { SLICE, type StoredRecipient } from './slice-blob.js';

/*
 * The list of a campaign whose recipients have windows of their own zones. While it is read, each zone fills slices of its own, so at most one
 * slice per zone is kept in memory. At the end, the full slices of each zone are numbered in a row, and behind them come the rests of
 * all zones. So a zone has at most two parts of consecutive ordinals (engine/store/zones.lua), and no ordinal is missing.
 */

/** Consecutive recipients in one zone: the zone, the first ordinal that was never claimed, and the end. */
const parts = z.array(z.tuple([z.string(), z.number(), z.number()]));
/** See above. */
export type Parts = z.output<typeof parts>;

/** The slices of a list while it is read: each zone fills its own. */
export class ZonedSlices {
  readonly #zones = new Map<string, { readonly name: number; full: number; rows: StoredRecipient[] }>();

  /** Adds a recipient. Returns the slice that it fills, with the name that it has until the list is read; undefined if it fills none. */
  add(zone: string, recipient: StoredRecipient) {
    const own = this.#zones.get(zone) ?? { name: this.#zones.size, full: 0, rows: [] };
    this.#zones.set(zone, own);
    own.rows.push(recipient);
    if (own.rows.length < SLICE) return undefined;
    const filled = { name: `${own.name}.${own.full}`, rows: own.rows };
    own.full += 1;
    own.rows = [];
    return filled;
  }

  /** Ends the list: its parts, how many slices are full, their names in the order of their numbers, and the recipients that are left. */
  end() {
    const ended: { parts: Parts; names: string[]; rest: StoredRecipient[] } = {
      parts: [],
      names: [],
      rest: [],
    };
    for (const [zone, { name, full }] of this.#zones) {
      const first = ended.names.length;
      for (let slice = 0; slice < full; slice += 1) ended.names.push(`${name}.${slice}`);
      if (full > 0) ended.parts.push([zone, first * SLICE, ended.names.length * SLICE]);
    }
    for (const [zone, { rows }] of this.#zones) {
      const first = ended.names.length * SLICE + ended.rest.length;
      ended.rest.push(...rows);
      if (rows.length > 0) ended.parts.push([zone, first, first + rows.length]);
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

/** How many recipients a campaign has in each zone, and how many of them it has still to send to. */
export function countZones(of: Parts, { part = 0, cursor, released, remainder }: ClaimedState): ZoneCount[] {
  const counts = new Map<string, { recipients: number; waiting: number }>();
  let first = 0;
  for (const [at, [zone, stored, end]] of of.entries()) {
    const { recipients, waiting } = counts.get(zone) ?? { recipients: 0, waiting: 0 };
    const unclaimed = end - (at + 1 === part ? cursor : stored);
    counts.set(zone, { recipients: recipients + end - first, waiting: waiting + unclaimed });
    first = end;
  }
  for (const range of released) {
    const own = counts.get(zoneAt(of, range.first) ?? '');
    if (own !== undefined) own.waiting += range.count;
  }
  return [...counts].map(([zone, { recipients, waiting }]) => ({
    zone,
    recipients,
    waiting: remainder === 'planned' ? waiting : 0,
  }));
}
