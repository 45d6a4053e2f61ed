import { z } from 'zod';
import type { Clock } from '../../base/clock.js';
import { createMask } from '../../base/events/mask.js';
import type { Redis } from '../../base/redis/connection.js';
import { joinCalls } from '../../base/redis/join-calls.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import { InputError } from '../../campaign/errors/errors.js';
import { type ActingFor, actor } from '../../campaign/states/actor.js';
import {
  AUDIT_ACTIONS,
  type AuditEntry,
  type AuditedOperation,
  type Operator,
  STOPPING_ACTIONS,
} from '../../campaign/states/audit.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { readOrNull } from '../../engine/recipients/damaged.js';
import { payerOf, trailFull } from '../../engine/recipients/key-bytes.js';

/** An entry. `lane`: the lane's id, because a lane keeps its entries when it is renamed. */
const storedEntry = z.object({
  actor: actor.nullable(),
  action: z.enum(AUDIT_ACTIONS),
  lane: z.string().optional(),
  campaign: z.string().optional(),
  details: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  failed: z.string().optional(),
});
type StoredEntry = z.output<typeof storedEntry>;

/** After its text, an entry says which API key pays for it. */
const entries = z.array(z.tuple([z.string(), z.tuple([z.literal('e'), z.string()]).rest(z.string())]));

/** Which entries {@link AuditReader.audit} returns. */
export interface AuditOptions {
  /** Only entries of these lanes; default: all entries, also those that belong to no lane. */
  readonly lanes?: readonly string[] | undefined;
  readonly campaign?: string | undefined;
  /** Default 50. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** Some entries, newest first; `nextCursor` is the `cursor` of the next page, null on the last one. */
export interface AuditPage {
  readonly entries: AuditEntry[];
  readonly nextCursor: string | null;
}

/** Reads the audit trail. */
export interface AuditReader {
  /**
   * Lists the operations of all processes, newest first, one page at a time, as far back as `AUDIT_RETENTION`. A page may be
   * short before the end, because at most 5,000 entries are read for it.
   */
  audit(options?: AuditOptions): Promise<AuditPage>;
}

interface AuditTrailDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'idOf' | 'nameOf'>;
  readonly clock: Clock;
  /** How long an entry is kept, ms. */
  readonly retentionMs: number;
  /** How many bytes the entries of an API key may take on a lane (`KEY_MEMORY_MB`). */
  readonly keyBytes: number;
}

const appendScript = loadScript(import.meta.url, './append-audit.lua', String);

const DEFAULT_LIMIT = 50;
const READ_AT_ONCE = 500;
const MAX_READ_PER_PAGE = 5_000;
const MAX_TEXT = 200;

const ENTRY_ID = /^\d{1,15}-\d{1,10}$/;

const mask = createMask();

/** Masks the phone numbers in the texts of an entry: names that users gave, and errors, which may quote anything. */
function withoutNumbers({ actor, details, failed, ...entry }: StoredEntry): StoredEntry {
  const shown = Object.entries(details ?? {}).map(
    ([name, value]) =>
      [name, typeof value === 'string' ? (name === 'source' ? mask.prose : mask.id)(value) : value] as const,
  );
  return {
    ...entry,
    actor: actor && { ...actor, name: mask.id(actor.name) },
    ...(details === undefined ? {} : { details: Object.fromEntries(shown) }),
    ...(failed === undefined ? {} : { failed: mask.prose(failed) }),
  };
}

/** An entry to append: its text, who pays for it, and how many bytes that one may store, or '' for any number. */
type Appended = readonly [json: string, payer: string, limit: number | ''];

/** Opens the audit trail: a stream that is only appended to, and that loses entries only by their age. */
export function auditTrail({ redis, keys, finder, clock, retentionMs, keyBytes }: AuditTrailDeps) {
  const key = keys.audit;
  const append = (entries: readonly Appended[]): Promise<string> =>
    appendScript.run(redis, { audit: key, keyBytes: keys.auditBytes }, { retentionMs }, [], entries.flat());
  const appendJoined = joinCalls(append);
  /** Rejects with a KeyFullError if the entries of the API key take too much, except of one that is recorded in any case. */
  const record = async (
    entry: StoredEntry,
    isRequired = STOPPING_ACTIONS.has(entry.action),
  ): Promise<void> => {
    const payer = payerOf(entry.actor ?? undefined, keyBytes);
    const account = payer.key === '' ? '' : `${entry.lane ?? ''} ${payer.key}`;
    const json = JSON.stringify(withoutNumbers(entry));
    const { at, answer } = appendJoined([json, account, isRequired ? '' : payer.limit]);
    if ((await answer).charAt(at) === '1') return;
    const lane = entry.lane === undefined ? null : await finder.nameOf(entry.lane);
    throw trailFull(payer, lane, Number(await redis.hget(keys.auditBytes, `used:${account}`)));
  };
  const viewOf = async (id: string, stored: StoredEntry): Promise<AuditEntry> => ({
    id,
    createdAt: new Date(Number(id.split('-')[0])).toISOString(),
    actor: stored.actor,
    action: stored.action,
    lane: stored.lane === undefined ? null : await finder.nameOf(stored.lane),
    campaign: stored.campaign ?? null,
    details: stored.details ?? {},
    failed: stored.failed ?? null,
  });

  return {
    record,
    /** The operator that acts for `by`, as long as `authorise` does not reject. */
    operator: (
      { lanes, limits, ...by }: ActingFor,
      authorise: Operator['authorise'] = async () => {},
    ): Operator => ({
      actor: by,
      isLimited: (lanes ?? null) !== null,
      limits,
      authorise,
      async audited<Result>(operation: AuditedOperation, run: () => Promise<Result>): Promise<Result> {
        await authorise();
        await record({ actor: by, ...operation });
        try {
          return await run();
        } catch (error) {
          const failed = (error instanceof Error ? error.message : String(error)).slice(0, MAX_TEXT);
          await record({ actor: by, ...operation, failed }, true).catch(() => {});
          throw error;
        }
      },
    }),
    /** Deletes what is older than the retention. Appending does the same. */
    async trim(): Promise<void> {
      await append([]);
    },
    async audit({ lanes, campaign, limit = DEFAULT_LIMIT, cursor }: AuditOptions = {}): Promise<AuditPage> {
      if (cursor !== undefined && !ENTRY_ID.test(cursor))
        throw new InputError('not the `nextCursor` of a page', { field: 'cursor' });
      const ids: readonly LaneId[] | undefined = lanes && (await Promise.all(lanes.map(finder.idOf)));
      const matching: AuditEntry[] = [];
      const from = Math.max(0, clock() - retentionMs);
      let before = cursor === undefined ? '+' : `(${cursor}`;
      for (let read = 0; read < MAX_READ_PER_PAGE; ) {
        const batch = entries.parse(await redis.xrevrange(key, before, from, 'COUNT', READ_AT_ONCE));
        for (const [id, [, json]] of batch) {
          const stored = readOrNull(() => storedEntry.parse(JSON.parse(json)));
          if (stored === null) continue;
          const isWanted =
            (ids === undefined || (stored.lane !== undefined && ids.includes(stored.lane))) &&
            (campaign === undefined || stored.campaign === campaign);
          if (isWanted) matching.push(await viewOf(id, stored));
          if (matching.length >= limit) return { entries: matching, nextCursor: id };
        }
        const last = batch.at(-1);
        if (last === undefined || batch.length < READ_AT_ONCE) return { entries: matching, nextCursor: null };
        read += batch.length;
        before = `(${last[0]}`;
      }
      return { entries: matching, nextCursor: before.slice(1) };
    },
  } satisfies AuditReader & Record<string, unknown>;
}

/** See {@link auditTrail}. */
export type AuditTrail = ReturnType<typeof auditTrail>;
