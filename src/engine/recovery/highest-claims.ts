import { randomUUID } from 'node:crypto';
import type { Alarm, Clock } from '../../base/clock.js';
import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { MAX_LOSS_MS, type MayLose } from '../../base/redis/may-lose.js';
import { untilAnswered } from '../../base/redis/until-answered.js';
import { type RepeatingTask, repeating } from '../../base/repeating.js';
import type { RecentClaims } from '../sending/recent-claims.js';
import { readStateFile, storedState, writeStateFile } from './state-file.js';

/*
 * How workers notice that a backup of Redis was restored. What was sent after the backup is planned again in its data, so it would be sent
 * twice.
 *
 *   a worker claims ── it is older than Redis may lose, and Redis still has it ──► kept: in STATE_FILE, and in Redis for the other workers
 *   each claim call and each start passes the highest kept number ── the lane does not know it ──► rolled back: all lanes are held
 *
 * A crash or a failover loses only claims that are not kept yet, so it never holds a lane: the recovery barrier deals with it
 * (claim/losses.lua). A lane knows a number that it has assigned, or had before numbers were last skipped. The file also has the ids of the
 * data that Redis had before, because their claims have numbers of their own. Nothing here is on the path of a claim.
 */

/** How often kept claims are noted in the file, and how often workers exchange them through Redis. */
const NOTE_EVERY_MS = 5_000;
const EXCHANGE_EVERY_MS = 10_000;
/** A file that cannot be written is reported this often. */
const REPORT_EVERY_MS = 60_000;
const MOST_BEFORE = 20;
/** The field of the data's id. No id of a lane contains a colon. */
const DATA_FIELD = ':data';

/** What {@link openHighestClaims} needs. */
interface HighestClaimsOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly file: string;
  readonly events: Pick<Events, 'emit'>;
  readonly monotonic: Clock;
  readonly alarm: Alarm;
  readonly signal: AbortSignal;
  mayLose(): MayLose;
}

/** The claims that Redis must know. */
export interface HighestClaims {
  /** Whether Redis has data that it had before other data: all lanes must be held. */
  readonly isEarlierData: boolean;
  /** The highest kept claim of a lane, or 0. */
  of(lane: LaneId): number;
  /** Keeps the claims of these processes from now on. */
  watch(recents: ReadonlyMap<LaneId, Pick<RecentClaims, 'self'>>): void;
  /** Keeps what can be kept, and writes the file once more. */
  stop(): Promise<void>;
}

/**
 * Reads STATE_FILE and what other workers keep. Waits until Redis answers, or `signal` fires. Rejects with an InputError if the file cannot
 * be used.
 */
export async function openHighestClaims(options: HighestClaimsOptions): Promise<HighestClaims> {
  const { redis, keys, file, events, monotonic, alarm, signal, mayLose } = options;
  const remembered = await readStateFile(file);
  let { data, before } = remembered;
  let claims = new Map(remembered.claims);
  const newId = randomUUID();
  const shared = await untilAnswered(
    async () => {
      await redis.hsetnx(keys.highestClaims, DATA_FIELD, newId);
      return redis.hgetall(keys.highestClaims);
    },
    { signal },
  );
  const found = shared[DATA_FIELD] ?? '';
  const isEarlierData = before.includes(found);
  if (data !== undefined && data !== found) {
    before = [data, ...before.filter((one) => one !== found)].slice(0, MOST_BEFORE);
    // A backup from before this file has no id, and neither has an empty Redis. Its lanes show what they know.
    if (found !== newId) {
      claims = new Map();
      if (!isEarlierData) events.emit({ type: 'stateFile.otherData', file });
    }
  }
  data = found;
  let isDirty = true;
  let longestLossMs = 0;
  let exchangedAt = Number.NEGATIVE_INFINITY;
  let reportedAt = Number.NEGATIVE_INFINITY;
  let recents: ReadonlyMap<LaneId, Pick<RecentClaims, 'self'>> = new Map();
  /** Claims that may still be lost, and since when they are known. */
  const pending = new Map<LaneId, { readonly number: number; readonly at: number }>();
  const toShare = new Set<LaneId>();

  const keep = (lane: LaneId, number: number): boolean => {
    if (number <= (claims.get(lane) ?? 0)) return false;
    claims.set(lane, number);
    isDirty = true;
    return true;
  };
  const take = (all: Readonly<Record<string, string>>): void => {
    for (const [lane, number] of Object.entries(all)) if (lane !== DATA_FIELD) keep(lane, Number(number));
  };
  take(shared);

  /** Keeps a claim that is old enough, unless Redis has lost it. */
  const settle = async (lane: LaneId, number: number): Promise<void> => {
    const fields = await redis.hmget(keys.lane(lane, 'lane'), 'sequence', 'skippedFrom');
    const [sequence = 0, skippedFrom = 0] = fields.map(Number);
    if (knows({ sequence, skippedFrom }, number) && keep(lane, number)) toShare.add(lane);
  };
  const note = async (): Promise<void> => {
    const loss = mayLose().ms;
    // While nothing bounds the loss, nothing is claimed.
    if (Number.isFinite(loss)) longestLossMs = Math.min(MAX_LOSS_MS, Math.max(longestLossMs, loss));
    const now = monotonic();
    const settling: Promise<void>[] = [];
    for (const [lane, { self }] of recents) {
      const { seen } = self;
      if (seen > (claims.get(lane) ?? 0) && !pending.has(lane)) pending.set(lane, { number: seen, at: now });
      const one = pending.get(lane);
      if (one === undefined || now - one.at < longestLossMs) continue;
      pending.delete(lane);
      settling.push(settle(lane, one.number));
    }
    await Promise.all(settling);
  };
  const exchange = async (): Promise<void> => {
    const fields = [...toShare].flatMap((lane) => [lane, String(claims.get(lane) ?? 0)]);
    if (fields.length > 0) await redis.hset(keys.highestClaims, ...fields);
    toShare.clear();
    take(await redis.hgetall(keys.highestClaims));
    exchangedAt = monotonic();
  };
  const write = async (): Promise<void> => {
    if (!isDirty) return;
    try {
      // Workers that share the file keep what the others wrote.
      const stored = await storedState(file);
      if (stored.data === data) for (const [lane, number] of stored.claims) keep(lane, number);
      isDirty = false;
      await writeStateFile(file, { data, before, claims });
    } catch (error) {
      isDirty = true;
      if (monotonic() - reportedAt < REPORT_EVERY_MS) return;
      reportedAt = monotonic();
      events.emit({ type: 'stateFile.notWritten', reason: String(error) });
    }
  };
  const once = async (isLast = false): Promise<void> => {
    await note().catch(() => {});
    if (isLast || monotonic() - exchangedAt >= EXCHANGE_EVERY_MS) await exchange().catch(() => {});
    await write();
  };
  let noting: RepeatingTask | undefined;
  await write();

  return {
    isEarlierData,
    of: (lane) => claims.get(lane) ?? 0,
    watch(all) {
      recents = all;
      noting ??= repeating(alarm, () => once(), { everyMs: NOTE_EVERY_MS });
    },
    async stop() {
      await noting?.stop();
      await once(true);
    },
  };
}

/** How far claim numbers are skipped after a loss (store/record.lua). */
const SKIP = 1e9;

/** Whether a lane has assigned this claim number; as in claim/rollback.lua. */
function knows(
  { sequence, skippedFrom }: { sequence: number; skippedFrom: number },
  number: number,
): boolean {
  const base = Math.floor(sequence / SKIP) * SKIP;
  return number <= skippedFrom || (base <= number && number <= sequence);
}
