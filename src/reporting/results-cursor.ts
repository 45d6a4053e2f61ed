import { createHash } from 'node:crypto';
import type { LaneId } from '../base/redis/keys.js';
import { InputError } from '../campaign/errors/errors.js';
import { readVarint, writeVarint } from '../engine/recipients/varint.js';
import type { Position } from './results-log.js';

/*
 * The cursor of the results feed: how far a reader has read the log of each lane. The positions of MAX_LANES lanes fit into a query of 8 kB:
 *
 *   version │ digest of the lane read last │ count of groups │ groups │ lanes by their ids
 *   a group: run │ epoch │ count │ (digest of a lane │ chunk in the epoch │ entry │ within) …
 *
 * Few servers have written the chunks of many lanes, so a group has the lanes whose chunks one server wrote. A lane is named by the beginning
 * of a digest of its id. If two lanes have the same one, the cursor names them by their ids. A lane that is added later may have the
 * digest of a lane in the cursor: then both are read from the beginning, because a result that is repeated is better than one that is lost.
 */

/** Lanes of a page. A cursor has no more of them. */
export const MAX_LANES = 500;
/** Longer than any cursor, in characters: MAX_LANES lanes take 8 kB at most, unless dozens of servers have written their logs. */
export const MAX_CURSOR_LENGTH = 12_000;

const VERSION = 1;
const DIGEST_BYTES = 4;
const RUN_BYTES = 4;
/** Chunks of one server, as in store/results.lua. */
const EPOCH_CHUNKS = 1e6;

/** What a cursor says about the lanes of an installation. */
export interface ResultsCursor {
  /** Where a lane is to be read on; undefined: from the beginning. */
  positionOf(lane: LaneId): Position | undefined;
  /** These lanes, the one to read first at the front: after the lane that was read last. */
  inTurn(lanes: readonly LaneId[]): LaneId[];
  /** The cursor after a page. Positions of other lanes stay in it as long as there is room. `last`: the lane whose results ended the page. */
  next(positions: ReadonlyMap<LaneId, Position>, last: LaneId | undefined): string;
}

/** Positions by digests in hexadecimal, and of lanes that share theirs with another lane by ids. */
interface Stored {
  /** The digest of the lane that was read last. */
  readonly last: string;
  readonly byDigest: ReadonlyMap<string, Position>;
  readonly byId: ReadonlyMap<LaneId, Position>;
}

/**
 * Reads a cursor; '' is that of the beginning. `lanes`: all that there are. Throws an InputError if it is not the `nextCursor` of a page.
 * `digestBytes`: how much of a digest names a lane.
 */
export function readCursor(
  text: string,
  lanes: readonly LaneId[],
  digestBytes = DIGEST_BYTES,
): ResultsCursor {
  const digestOf = (lane: LaneId): string =>
    createHash('sha256')
      .update(lane)
      .digest('hex')
      .slice(0, 2 * digestBytes);
  const none = 'f'.repeat(2 * digestBytes);
  const stored =
    text === '' ? { last: none, byDigest: new Map(), byId: new Map() } : unpack(text, digestBytes);
  const [once, shared] = [new Set<string>(), new Set<string>()];
  for (const digest of lanes.map(digestOf)) (once.has(digest) ? shared : once).add(digest);
  const positionOf = (lane: LaneId): Position | undefined => {
    const digest = digestOf(lane);
    return stored.byId.get(lane) ?? (shared.has(digest) ? undefined : stored.byDigest.get(digest));
  };

  return {
    positionOf,
    inTurn(wanted) {
      const byDigest = wanted
        .map((lane) => ({ lane, digest: digestOf(lane) }))
        .sort((a, b) => (a.digest < b.digest || (a.digest === b.digest && a.lane < b.lane) ? -1 : 1));
      const isLater = ({ digest }: { digest: string }): boolean => digest > stored.last;
      return [...byDigest.filter(isLater), ...byDigest.filter((one) => !isLater(one))].map(
        ({ lane }) => lane,
      );
    },
    next(positions, last) {
      const byDigest = new Map<string, Position>();
      const byId = new Map<LaneId, Position>();
      for (const [lane, position] of positions) {
        const digest = digestOf(lane);
        if (shared.has(digest)) byId.set(lane, position);
        else byDigest.set(digest, position);
      }
      const hasRoom = (): boolean => byDigest.size + byId.size < MAX_LANES;
      for (const [lane, position] of stored.byId)
        if (hasRoom() && !positions.has(lane)) byId.set(lane, position);
      for (const [digest, position] of stored.byDigest)
        if (hasRoom() && !shared.has(digest) && !byDigest.has(digest)) byDigest.set(digest, position);
      return pack({ last: last === undefined ? stored.last : digestOf(last), byDigest, byId });
    },
  };
}

function pack({ last, byDigest, byId }: Stored): string {
  const groups = new Map<string, [digest: string, position: Position][]>();
  for (const [digest, position] of byDigest) {
    const key = `${position.run} ${epochOf(position)}`;
    groups.set(key, [...(groups.get(key) ?? []), [digest, position]]);
  }
  const parts = [Buffer.from([VERSION]), Buffer.from(last, 'hex'), varints(groups.size)];
  for (const [key, lanes] of groups) {
    const [run = '', epoch = ''] = key.split(' ');
    parts.push(Buffer.from(run, 'hex'), varints(Number(epoch), lanes.length));
    for (const [digest, { chunk, entry, within }] of lanes)
      parts.push(Buffer.from(digest, 'hex'), varints(chunk % EPOCH_CHUNKS, entry, within));
  }
  for (const [lane, { run, chunk, entry, within }] of byId) {
    const id = Buffer.from(lane);
    parts.push(varints(id.length), id, Buffer.from(run, 'hex'), varints(chunk, entry, within));
  }
  return Buffer.concat(parts).toString('base64url');
}

const epochOf = ({ chunk }: Position): number => Math.floor(chunk / EPOCH_CHUNKS);

function varints(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(8 * values.length);
  return bytes.subarray(
    0,
    values.reduce((at, value) => writeVarint(bytes, at, value), 0),
  );
}

function unpack(text: string, digestBytes: number): Stored {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.toString('base64url') !== text || bytes[0] !== VERSION) throw invalid();
  let at = 1;
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw invalid();
    at += length;
    return bytes.subarray(at - length, at);
  };
  const hex = (length: number): string => take(length).toString('hex');
  const number = (): number => {
    const [value, next] = readVarint(bytes, at);
    if (!Number.isSafeInteger(value)) throw invalid();
    at = next;
    return value;
  };
  const position = (run: string, firstChunk: number): Position => ({
    run,
    chunk: firstChunk + number(),
    entry: number(),
    within: number(),
  });
  const byDigest = new Map<string, Position>();
  const byId = new Map<LaneId, Position>();
  try {
    const last = hex(digestBytes);
    for (let groups = number(); groups > 0; groups -= 1) {
      const [run, epoch] = [hex(RUN_BYTES), number()];
      for (let lanes = number(); lanes > 0; lanes -= 1)
        byDigest.set(hex(digestBytes), position(run, epoch * EPOCH_CHUNKS));
    }
    while (at < bytes.length) {
      const lane = take(number()).toString();
      byId.set(lane, position(hex(RUN_BYTES), 0));
    }
    return { last, byDigest, byId };
  } catch (error) {
    throw error instanceof RangeError ? invalid() : error;
  }
}

const invalid = (): InputError =>
  new InputError('the cursor is invalid: use `nextCursor` of an earlier page', { field: 'cursor' });
