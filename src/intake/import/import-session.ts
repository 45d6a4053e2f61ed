import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import { joinCalls, perConnection } from '../../base/redis/join-calls.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { mustHaveRoom } from '../../base/redis/memory.js';
import { loadScript } from '../../base/redis/script.js';
import { isOfRecipients, ruleIn } from '../../campaign/estimate/window.js';
import { PRIORITY_WEIGHT } from '../../campaign/states/campaign.js';
import { type Counted, type DayOf, reserveDay } from '../../engine/day-limits/daily.js';
import { markDue } from '../../engine/jobs/due.js';
import {
  costsKey,
  metaKey,
  SERIES,
  type Series,
  slicesKey,
  zonesKey,
} from '../../engine/recipients/campaign-keys.js';
import { deleteCampaign, wasDeleted } from '../../engine/recipients/delete-campaign.js';
import { keyFull, NO_KEY, type Payer } from '../../engine/recipients/key-bytes.js';
import { textDigest } from '../../engine/recipients/reservation.js';
import { SliceWriter } from '../../engine/recipients/slices.js';
import type { Parts } from '../../engine/recipients/zoned-slices.js';
import { registerWindows } from '../../engine/recovery/windows.js';
import { laneKeys } from '../../engine/scripts/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../../engine/scripts/script-events.js';
import { type CampaignMeta, readMeta, storedMeta } from '../../engine/store/campaign-meta.js';
import { readState, STATE_DEFAULTS, type StoredState } from '../../engine/store/campaigns.js';
import { entryOf } from '../../engine/store/lane-index.js';

/*
 *   begin ──► importing ── commit ──► running, scheduled, or completed
 *                 │
 *                 └── discard: by its process, or because its lease expired ──► nothing is kept
 *
 * The lane's hash `states` decides: once its entry is deleted, an import can neither write anything nor be committed.
 */

/** How long an import may go without renewing its lease; it renews it three times as often. */
const IMPORT_LEASE_MS = 15_000;
/** How long a commit waits before it tries again, while another import compares its list with the campaigns of this text. */
const COMPARED_AGAIN_MS = 100;

const parseStored = (reply: unknown) => {
  const [result, used] = z.tuple([z.enum(['stored', 'gone', 'keyFull']), z.number()]).parse(reply);
  return { result, used };
};
const beginScript = loadScript(import.meta.url, './begin-import.lua', parseStored, { sendsText: true });
const writeScript = loadScript(import.meta.url, './write-import.lua', parseStored);
const commitReply = z.tuple([z.enum(['committed', 'gone', 'keyFull', 'compared']), z.number(), z.string()]);
const commitScript = loadScript(import.meta.url, './commit-import.lua', (reply) => {
  const [result, number, events] = commitReply.parse(reply);
  return { result, number, events: scriptEvents(events) };
});

const arrangeScript = loadScript(import.meta.url, './arrange-slices.lua', () => undefined);
/** Slices that a call of it arranges. */
const ARRANGED_AT_ONCE = 250;

const dropScript = loadScript(import.meta.url, './drop-import.lua', (reply) =>
  z.enum(['dropped', 'alive', 'committed']).parse(reply),
);

/** The result of a commit. */
interface ImportCommit {
  /** In how many ms the lane has to be woken for it; -1 if another campaign waits for the lane's turn already. */
  readonly wakeInMs: number;
  readonly events: readonly ScriptEvent[];
}

/** The key of a lane by which an import keeps campaigns of a text from being committed there. */
export function comparingKey(
  keys: Keys,
  lane: LaneId,
  { text, sender }: Pick<CampaignMeta, 'text' | 'sender'>,
): string {
  return keys.lane(lane, `comparing:${textDigest(text, sender)}`);
}

/** The import was discarded because its process did not renew the lease in time. */
export class ImportLostError extends Error {
  override readonly name = 'ImportLostError';

  constructor(id: string) {
    super(`the import of campaign ${id} was discarded: its process did not renew the lease in time`);
  }
}

/**
 * Adds campaigns to the indexes of all lanes. A lane becomes due, so that the sweep discards the import if this process dies, and
 * launches the campaign if it dies right after the commit.
 */
const indexing = perConnection((redis) =>
  joinCalls(async (begun: readonly { readonly keys: Keys; readonly lane: LaneId; readonly id: string }[]) => {
    for (const keys of new Set(begun.map((one) => one.keys))) {
      const together = begun.filter((one) => one.keys === keys);
      const lanes = [...new Set(together.map(({ lane }) => lane))];
      await Promise.all([
        redis.sadd(keys.lanes, ...lanes),
        redis.zadd(keys.campaigns, ...together.flatMap(({ lane, id }) => [0, entryOf(id, lane)])),
        markDue({ redis, keys }, lanes),
      ]);
    }
  }),
);

/** A campaign that is being imported. */
export interface ImportSession {
  readonly id: string;
  readonly lane: LaneId;
  /** Resolves when the campaign is stored as `importing`: before that, it must not hold anything. Rejects if it cannot be. */
  readonly begun: Promise<void>;
  /** The recipients to send to, in the order of their ordinals. */
  readonly recipients: SliceWriter;
  /** Recipients that are suppressed already; they are never claimed. */
  readonly suppressed: SliceWriter;
  /** Rows that are left out: see recipients/left-out.ts. */
  readonly leftOut: SliceWriter;
  /**
   * Counts the messages for the daily limits. Discarding the import returns them. Throws a LimitError, and an {@link ImportLostError} if the
   * import was discarded meanwhile.
   */
  reserveDay(day: Pick<DayOf, 'lane' | 'limits' | 'currency'>, counted: Counted): Promise<void>;
  /** Stores what each message costs, where they cost different amounts: fields and values of `campaign:ID:costs`. */
  storeCosts(chunk: readonly (string | Buffer)[]): Promise<void>;
  /**
   * Stores the remaining rows and commits the campaign in one script, so that it becomes visible as a whole. Safe to repeat. Throws
   * an {@link ImportLostError} if the import was discarded meanwhile. It waits while another import compares its list with the campaigns of
   * this text. `compare` does so, before each attempt, for an import that leaves out who gets the text already.
   */
  commit(meta: CampaignMeta, compare?: () => Promise<void>): Promise<ImportCommit>;
  /** Discards the import and its data. Does nothing after a commit. */
  discard(): Promise<void>;
}

/** Options of {@link beginImport}. */
interface ImportOptions {
  /** How long the lease runs, ms. */
  readonly leaseMs?: number | undefined;
  /** Default: an operator, who is not limited. */
  readonly payer?: Payer;
}

/**
 * Begins an import. `meta`: the campaign before its list is read. Whatever stores something rejects with a KeyFullError if the API key
 * that pays for the campaign may not store so much.
 */
export function beginImport(
  redis: Redis,
  keys: Keys,
  meta: CampaignMeta,
  { leaseMs = IMPORT_LEASE_MS, payer = NO_KEY }: ImportOptions = {},
): ImportSession {
  const { id, lane } = meta;
  const { limit } = payer;
  const store = { redis, keys, id: lane };
  const ownMetaKey = metaKey(keys, lane, id);
  const listKey = (series: Series): string => slicesKey(keys, lane, id, series);
  // The process that discards the import has to know its idempotency key, and the API key that began it. Without them, an import that
  // ends at once needs no text of its own.
  let isMetaStored = meta.idempotency !== undefined || meta.createdBy?.kind === 'key' || payer.key !== '';
  // Awaited before the commit: a campaign that is not in the index could not be found.
  const begun = Promise.all([
    indexing(redis)({ keys, lane, id }).answer,
    beginScript.run(
      redis,
      { ...laneKeys(keys, lane, ['states', 'importing', 'keyBytes']), meta: ownMetaKey },
      {
        ...{ id, leaseMs, ...payer },
        state: JSON.stringify(importing(meta, 0, 0)),
        meta: isMetaStored ? storedMeta(meta) : '',
      },
    ),
  ]).then(([, { result, used }]) => {
    if (result === 'keyFull') throw keyFull(payer, lane, used);
  });
  // It is awaited late.
  begun.catch(() => {});

  let isCounted = false;
  const write = async (key: string, slices: readonly (string | Buffer)[]): Promise<void> => {
    await begun;
    // A renewal of the lease stores nothing.
    if (slices.length > 0) await mustHaveRoom(redis);
    const { result, used } = await writeScript.run(
      redis,
      { ...laneKeys(keys, lane, ['states', 'importing', 'keyBytes']), slices: key, meta: ownMetaKey },
      { id, leaseMs, meta: isMetaStored ? '' : storedMeta(meta), limit },
      [],
      slices,
    );
    if (result === 'keyFull') throw keyFull(payer, lane, used);
    if (result === 'gone') throw new ImportLostError(id);
    isMetaStored = true;
  };
  const writerOf = (series: Series) => new SliceWriter((slices) => write(listKey(series), slices));
  const writers = {
    slices: writerOf('slices'),
    suppressed: writerOf('suppressed'),
    leftOut: writerOf('leftOut'),
  };
  // A failed renewal shows with the next slice or with the commit.
  const renewal = setInterval(() => write(listKey('slices'), []).catch(() => {}), leaseMs / 3);

  return {
    id,
    lane,
    begun,
    recipients: writers.slices,
    suppressed: writers.suppressed,
    leftOut: writers.leftOut,
    async reserveDay(day, counted) {
      await begun;
      isCounted = day.limits.length > 0;
      if (!(await reserveDay({ redis, keys, ...day }, id, counted))) throw new ImportLostError(id);
    },
    storeCosts: (chunk) => write(costsKey(keys, lane, id), chunk),
    async commit(whole, compare) {
      await begun;
      const parts = await writers.slices.arranged(async (names) => {
        for (let first = 0; first < names.length; first += ARRANGED_AT_ONCE) {
          const some = names.slice(first, first + ARRANGED_AT_ONCE);
          await arrangeScript.run(redis, { slices: listKey('slices') }, { first }, [], some);
        }
      });
      await registerWindows(store, rulesOf(whole, parts), whole.created);
      const rest: (string | Buffer)[] = [];
      for (const series of SERIES) {
        const slices = await writers[series].rest();
        for (let at = 0; at + 1 < slices.length; at += 2) rest.push(series, ...slices.slice(at, at + 2));
      }
      const commitOnce = () =>
        commitScript.run(
          redis,
          {
            ...laneKeys(keys, lane, ['lane', 'states', 'importing', 'running', 'scheduled', 'lapsing']),
            ...laneKeys(keys, lane, ['ended', 'results', 'latestResults', 'windows', 'keyBytes']),
            ...Object.fromEntries(SERIES.map((series) => [series, listKey(series)])),
            meta: ownMetaKey,
            zones: zonesKey(keys, lane, id),
            comparing: comparingKey(keys, lane, whole),
          },
          {
            ...{ id, at: whole.at ?? 0, validForMs: whole.validForMs ?? 0, limit },
            state: JSON.stringify(importing(whole, writers.slices.count, writers.suppressed.count, parts)),
            meta: storedMeta(whole),
            leftOutRows: writers.leftOut.count,
            isCounted: isCounted ? 1 : 0,
            isCompared: compare === undefined ? 0 : 1,
            parts: parts === null ? '' : JSON.stringify(parts),
          },
          [],
          rest,
        );
      await compare?.();
      let { result, number, events } = await commitOnce();
      while (result === 'compared') {
        await (compare === undefined ? delay(COMPARED_AGAIN_MS) : compare());
        ({ result, number, events } = await commitOnce());
      }
      clearInterval(renewal);
      if (result === 'gone') throw new ImportLostError(id);
      if (result === 'keyFull') throw keyFull(payer, lane, number);
      return { wakeInMs: number, events };
    },
    async discard() {
      clearInterval(renewal);
      await Promise.allSettled([begun, ...SERIES.map((series) => writers[series].rest())]);
      await discardImport(redis, keys, lane, id, 'givenUp', meta.idempotency);
    },
  };
}

/** Why an import is discarded: its own process gave up, or its lease expired because its process died. */
type DiscardReason = 'givenUp' | 'expired';

/**
 * Discards an import and releases its idempotency key. First the import becomes impossible to commit, then its data is deleted.
 * `idempotency`: the digest of that key, if the caller knows it: nothing is stored of an import that was refused at once.
 * Returns false, and does nothing, if the import was committed, or if its lease still runs and its process has not given up.
 */
export async function discardImport(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  campaign: string,
  reason: DiscardReason = 'expired',
  idempotency?: string,
): Promise<boolean> {
  const isGivenUp = reason === 'givenUp' ? 1 : 0;
  const its = laneKeys(keys, lane, dropScript.header.keys);
  const outcome = await dropScript.run(redis, its, { id: campaign, isGivenUp });
  if (outcome !== 'dropped') return false;
  const meta = await readMeta(redis, keys, lane, campaign);
  await deleteCampaign(redis, keys, {
    lane,
    campaign,
    ordinals: 0,
    idempotency: meta?.idempotency ?? idempotency,
  });
  return true;
}

/**
 * The state of an import that another process began: `committed`, also if its campaign was deleted since; `importing`, and its process is alive; or `gone`. An
 * import whose process died is discarded here.
 */
export async function settledImport(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  id: string,
): Promise<'committed' | 'importing' | 'gone'> {
  const state = await readState(redis, keys, lane, id);
  if (state === null ? await wasDeleted(redis, keys, lane, id) : state.state !== 'importing')
    return 'committed';
  return (await discardImport(redis, keys, lane, id)) || state === null ? 'gone' : 'importing';
}

/** The rules of the windows of a campaign: of recipients with zones of their own, one for each zone. */
export function rulesOf({ window }: Pick<CampaignMeta, 'window'>, parts: Parts | null): string[] {
  const rules = (parts ?? [['']]).map(([zone]) => ruleIn(window, zone));
  return [...new Set(rules)].filter((rule) => rule !== undefined);
}

/** The state of a campaign that is being imported, with so many recipients. */
function importing(
  { placeholders, priority, window }: CampaignMeta,
  planned: number,
  suppressed: number,
  parts: Parts | null = null,
): StoredState {
  return {
    ...STATE_DEFAULTS,
    state: 'importing',
    total: planned + suppressed,
    ordinals: planned,
    counts: { ...(planned > 0 && { planned }), ...(suppressed > 0 && { suppressed }) },
    released: [],
    requests: {},
    // A shared message is limited by the lane's maximum instead, which may change.
    ...(placeholders.length > 0 && { batch: 1 }),
    weight: PRIORITY_WEIGHT[priority],
    ...(window !== undefined && { window }),
    ...((isOfRecipients(window) || parts !== null) && { part: 0, partEnd: 0, partOpens: 0, partCloses: 0 }),
  };
}
