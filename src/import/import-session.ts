import { z } from 'zod';
import { type CampaignMeta, indexMember, readState, type StoredState } from '../lane/campaigns.js';
import { type ScriptEvent, scriptEvents } from '../lane/script-events.js';
import { metaKey, slicesKey } from '../recipients/campaign-keys.js';
import { SliceWriter } from '../recipients/slice-writer.js';
import { SLICE } from '../recipients/slices.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { loadScript } from '../redis/script.js';
import { discardImport, dropImport } from './remove-campaign.js';

/*
 *   begin ──► importing ── commit ──► running, scheduled or completed
 *                 │
 *                 └── given up by its importer, or its lease over ──► discarded, nothing is kept
 *
 * The lane's hash `states` decides: an import whose entry was taken out can write nothing more and never be committed.
 */

/** How long an import may give no sign of life; it gives one three times as often. */
export const IMPORT_LEASE_MS = 15_000;

const beginScript = loadScript(import.meta.url, './begin-import.lua', () => undefined);
const writeScript = loadScript(import.meta.url, './write-import.lua', (reply) => reply === 1);
const commitScript = loadScript(import.meta.url, './commit-import.lua', (reply): Committed | null => {
  const [isThere, launch, events] = z.tuple([z.number(), z.string(), z.string()]).parse(reply);
  return isThere === 1 ? { launchedAt: Number(launch), events: scriptEvents(events) } : null;
});

/** A committed campaign: when it is or was launched, ms. */
export interface Committed {
  readonly launchedAt: number;
  readonly events: readonly ScriptEvent[];
}

/** The import was discarded behind its importer's back: it gave no sign of life for the length of its lease. */
export class ImportLostError extends Error {
  override readonly name = 'ImportLostError';
}

/** A campaign that is being imported. */
export interface ImportSession {
  readonly id: string;
  readonly lane: string;
  /** Recipients in the order of their ordinals. */
  readonly recipients: SliceWriter;
  /** Those who were suppressed already; they can never be claimed. */
  readonly suppressed: SliceWriter;
  /** Makes it a campaign; all is written before. Throws an {@link ImportLostError} if it was discarded meanwhile. */
  commit(meta: CampaignMeta): Promise<Committed>;
  /** Gives it up; nothing of it is kept. */
  discard(): Promise<void>;
}

/** Begins an import. `meta` is what is known already; its lane, id and times count. */
export async function beginImport(
  redis: Redis,
  keys: Keys,
  meta: CampaignMeta,
  leaseMs: number = IMPORT_LEASE_MS,
): Promise<ImportSession> {
  const { id, lane, created } = meta;
  const named = (...names: string[]): string[] => names.map((name) => keys.lane(lane, name));
  // Entries without a campaign do no harm; a campaign that nobody finds would.
  await redis.sadd(keys.lanes, lane);
  await redis.zadd(keys.campaigns, 0, indexMember(lane, id));
  await beginScript.run(
    redis,
    [...named('states', 'importing'), metaKey(keys, lane, id)],
    [id, JSON.stringify(stateOf(meta, 0, 0)), JSON.stringify(meta), leaseMs, ''],
  );
  const write = async (key: string, slices: readonly (string | Buffer)[]): Promise<void> => {
    const isThere = await writeScript.run(
      redis,
      [...named('states', 'importing'), key],
      [id, leaseMs, '', ...slices],
    );
    if (!isThere)
      throw new ImportLostError(`the import of campaign ${id} was discarded: its process did not answer`);
  };
  const recipients = new SliceWriter((slices) => write(slicesKey(keys, lane, id, 'slices'), slices));
  const suppressed = new SliceWriter((slices) => write(slicesKey(keys, lane, id, 'suppressed'), slices));
  // What went wrong shows with the next slice or the commit.
  const signs = setInterval(
    () => write(slicesKey(keys, lane, id, 'slices'), []).catch(() => {}),
    leaseMs / 3,
  );

  return {
    id,
    lane,
    recipients,
    suppressed,
    async commit(whole) {
      await Promise.all([recipients.end(), suppressed.end()]);
      const state = stateOf({ ...whole, created }, recipients.count, suppressed.count);
      const committed = await commitScript.run(
        redis,
        [
          ...named('lane', 'states', 'importing', 'running', 'scheduled', 'lapsing', 'ended'),
          metaKey(keys, lane, id),
        ],
        [id, JSON.stringify(state), JSON.stringify(whole), whole.at ?? 0, whole.validForMs ?? 0, ''],
      );
      clearInterval(signs);
      if (committed === null) {
        throw new ImportLostError(`the import of campaign ${id} was discarded: its process did not answer`);
      }
      return committed;
    },
    async discard() {
      clearInterval(signs);
      await Promise.allSettled([recipients.end(), suppressed.end()]);
      await dropImport(redis, keys, lane, id, 'own');
    },
  };
}

/** What stands of a campaign that somebody else has begun: committed, still being imported, or discarded for good. */
export async function settledImport(
  redis: Redis,
  keys: Keys,
  lane: string,
  id: string,
): Promise<'committed' | 'importing' | 'gone'> {
  const state = await readState(redis, keys, lane, id);
  if (state !== null && state.s !== 'importing') return 'committed';
  return (await discardImport(redis, keys, lane, id)) || state === null ? 'gone' : 'importing';
}

function stateOf(meta: CampaignMeta, planned: number, suppressed: number): StoredState {
  return {
    s: 'importing',
    total: planned + suppressed,
    end: planned,
    cursor: 0,
    // A lane's own maximum, which may change, limits those of a shared text.
    batch: meta.placeholders.length > 0 ? 1 : SLICE,
    slice: SLICE,
    released: [],
    rest: 'planned',
    lapse: 0,
    weight: meta.priority === 'high' ? 4 : 1,
    n: { planned, suppressed },
    send: 0,
    poll: 0,
    throttled: 0,
    contradictions: 0,
    refusals: 0,
    accepted: 0,
    created: meta.created,
    launch: 0,
    ended: 0,
    blocked: '',
  };
}
