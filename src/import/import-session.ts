import { z } from 'zod';
import { PRIORITY_WEIGHT } from '../campaign/campaign.js';
import { type CampaignMeta, indexMember, readMeta, readState, type StoredState } from '../lane/campaigns.js';
import { activate, markDue } from '../lane/due.js';
import { type ScriptEvent, scriptEvents } from '../lane/script-events.js';
import { metaKey, slicesKey } from '../recipients/campaign-keys.js';
import { deleteCampaign } from '../recipients/delete-campaign.js';
import { SLICE, SliceWriter } from '../recipients/slices.js';
import type { Redis } from '../redis/connection.js';
import type { Keys, LaneId } from '../redis/keys.js';
import { loadScript } from '../redis/script.js';

/*
 *   begin ──► importing ── commit ──► running, scheduled, or completed
 *                 │
 *                 └── discard: by its process, or because its lease expired ──► nothing is kept
 *
 * The lane's hash `states` decides: once its entry is deleted, an import can neither write anything nor be committed.
 */

/** How long an import may go without renewing its lease; it renews it three times as often. */
const IMPORT_LEASE_MS = 15_000;

const beginScript = loadScript(import.meta.url, './begin-import.lua', () => undefined);
const writeScript = loadScript(import.meta.url, './write-import.lua', (reply) => reply === 1);
const commitScript = loadScript(import.meta.url, './commit-import.lua', (reply): ImportCommit | null => {
  const [exists, launch, events] = z.tuple([z.number(), z.string(), z.string()]).parse(reply);
  return exists === 1 ? { launchedAt: Number(launch), events: scriptEvents(events) } : null;
});

const dropScript = loadScript(import.meta.url, './drop-import.lua', (reply) =>
  z.enum(['dropped', 'alive', 'committed']).parse(reply),
);

/** The result of a commit. */
interface ImportCommit {
  /** When the campaign was or will be launched, ms. */
  readonly launchedAt: number;
  readonly events: readonly ScriptEvent[];
}

/** The import was discarded because its process did not renew the lease in time. */
export class ImportLostError extends Error {
  override readonly name = 'ImportLostError';

  constructor(id: string) {
    super(`the import of campaign ${id} was discarded: its process did not renew the lease in time`);
  }
}

/** A campaign that is being imported. */
export interface ImportSession {
  readonly id: string;
  readonly lane: LaneId;
  /** The recipients to send to, in the order of their ordinals. */
  readonly recipients: SliceWriter;
  /** Recipients that are suppressed already; they are never claimed. */
  readonly suppressed: SliceWriter;
  /** Rows that are left out because their number is that of an earlier row. */
  readonly duplicates: SliceWriter;
  /**
   * Writes the remaining rows and commits the campaign, so that it becomes visible as a whole. Safe to repeat. Throws an
   * {@link ImportLostError} if the import was discarded meanwhile.
   */
  commit(meta: CampaignMeta): Promise<ImportCommit>;
  /** Discards the import and its data. Does nothing after a commit. */
  discard(): Promise<void>;
}

/** Begins an import. `meta`: the campaign before its list is read. */
export async function beginImport(
  redis: Redis,
  keys: Keys,
  meta: CampaignMeta,
  leaseMs: number = IMPORT_LEASE_MS,
): Promise<ImportSession> {
  const { id, lane, created } = meta;
  const store = { redis, keys, id: lane };
  const laneKeys = (...names: string[]): string[] => names.map((name) => keys.lane(lane, name));
  // Index first: an entry without a campaign does no harm, but a campaign without an entry could not be found.
  await redis.sadd(keys.lanes, lane);
  await redis.zadd(keys.campaigns, 0, indexMember(lane, id));
  await Promise.all([
    beginScript.run(
      redis,
      [...laneKeys('states', 'importing'), metaKey(keys, lane, id)],
      [id, JSON.stringify(stateOf(meta, 0, 0)), JSON.stringify(meta), leaseMs, ''],
    ),
    // So that the sweep discards the import if this process dies.
    markDue(store, [lane]),
  ]);
  const write = async (key: string, slices: readonly (string | Buffer)[]): Promise<void> => {
    const exists = await writeScript.run(
      redis,
      [...laneKeys('states', 'importing'), key],
      [id, leaseMs, '', ...slices],
    );
    if (!exists) throw new ImportLostError(id);
  };
  const recipients = new SliceWriter((slices) => write(slicesKey(keys, lane, id, 'slices'), slices));
  const suppressed = new SliceWriter((slices) => write(slicesKey(keys, lane, id, 'suppressed'), slices));
  const duplicates = new SliceWriter((slices) => write(slicesKey(keys, lane, id, 'duplicates'), slices));
  // A failed renewal shows with the next slice or with the commit.
  const renewal = setInterval(
    () => write(slicesKey(keys, lane, id, 'slices'), []).catch(() => {}),
    leaseMs / 3,
  );

  return {
    id,
    lane,
    recipients,
    suppressed,
    duplicates,
    async commit(whole) {
      await Promise.all([recipients.end(), suppressed.end(), duplicates.end()]);
      const state = stateOf({ ...whole, created }, recipients.count, suppressed.count);
      const committed = await activate(store, () =>
        commitScript.run(
          redis,
          [
            ...laneKeys('lane', 'states', 'importing', 'running', 'scheduled', 'lapsing', 'ended'),
            metaKey(keys, lane, id),
          ],
          [id, JSON.stringify(state), JSON.stringify(whole), whole.at ?? 0, whole.validForMs ?? 0, ''],
        ),
      );
      clearInterval(renewal);
      if (committed === null) throw new ImportLostError(id);
      return committed;
    },
    async discard() {
      clearInterval(renewal);
      await Promise.allSettled([recipients.end(), suppressed.end(), duplicates.end()]);
      await discardImport(redis, keys, lane, id, 'givenUp');
    },
  };
}

/** Why an import is discarded: its own process gave up, or its lease expired because its process died. */
type DiscardReason = 'givenUp' | 'expired';

/**
 * Discards an import and releases its idempotency key. First the import becomes impossible to commit, then its data is deleted.
 * Returns false, and does nothing, if the import was committed, or if its lease still runs and its process has not given up.
 */
export async function discardImport(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  campaign: string,
  reason: DiscardReason = 'expired',
): Promise<boolean> {
  const scriptKeys = ['states', 'importing'].map((name) => keys.lane(lane, name));
  const found = await dropScript.run(redis, scriptKeys, [campaign, reason === 'givenUp' ? 1 : 0, '']);
  if (found !== 'dropped') return false;
  const meta = await readMeta(redis, keys, lane, campaign);
  await deleteCampaign(redis, keys, { lane, campaign, ordinals: 0, idempotency: meta?.idempotency });
  return true;
}

/**
 * The state of an import that another process began: `committed`; `importing`, and its process is alive; or `gone`. An
 * import whose process died is discarded here.
 */
export async function settledImport(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  id: string,
): Promise<'committed' | 'importing' | 'gone'> {
  const state = await readState(redis, keys, lane, id);
  if (state !== null && state.state !== 'importing') return 'committed';
  return (await discardImport(redis, keys, lane, id)) || state === null ? 'gone' : 'importing';
}

function stateOf(meta: CampaignMeta, planned: number, suppressed: number): StoredState {
  return {
    state: 'importing',
    total: planned + suppressed,
    ordinals: planned,
    cursor: 0,
    // A shared message is limited by the lane's maximum instead, which may change.
    batch: meta.placeholders.length > 0 ? 1 : SLICE,
    slice: SLICE,
    released: [],
    remainder: 'planned',
    lapseAt: 0,
    weight: PRIORITY_WEIGHT[meta.priority],
    counts: { planned, suppressed },
    sends: 0,
    polls: 0,
    throttled: 0,
    contradictions: 0,
    refusals: 0,
    accepted: 0,
    createdAt: meta.created,
    launchAt: 0,
    endedAt: 0,
    pauseReason: '',
  };
}
