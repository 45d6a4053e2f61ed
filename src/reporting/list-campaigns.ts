import { setTimeout as delay } from 'node:timers/promises';
import { NotFoundError } from '../campaign/errors.js';
import type { CampaignState, CampaignStatus } from '../campaign/views.js';
import { listCampaigns, readMeta, readState } from '../lane/campaigns.js';
import type { Lane } from '../lane/lane.js';
import type { LaneFinder } from '../lane/lane-finder.js';
import type { Roster } from '../recovery/heartbeats.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import type { Volley } from '../volley.js';
import { ahead } from './read-ahead.js';
import { campaignStatus } from './status.js';

/** Where it is asked how campaigns stand. */
export type CampaignStatuses = Pick<Volley, 'status' | 'list' | 'page' | 'finished'>;

/** What {@link campaignStatuses} goes by. */
export interface CampaignStatusesOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly finder: LaneFinder;
  readonly roster: Roster;
}

const LISTED = 50;
/** A page of the few that are in a rare state must not look through all there are. */
const LOOKED_AT_FOR_A_PAGE = 5_000;
const LOOKED_UP_AT_ONCE = 50;
const PROGRESS_MS = 500;

/** Tells how campaigns stand; nothing is asked of Redis before somebody asks. */
export function campaignStatuses({
  redis,
  keys,
  lanes,
  finder,
  roster,
}: CampaignStatusesOptions): CampaignStatuses {
  /** What the status of a campaign needs to know of its lane. */
  const stand = (lane: Lane) => {
    const stands = Promise.all([lane.look(), lane.commands.unknown()]).then(([view, unknown]) => ({
      view,
      unknown,
    }));
    // It is awaited last, or not at all where something before it failed: that must not end the process.
    stands.catch(() => {});
    return stands;
  };
  /** Null for one that is not there: its index is written before it and removed after it. */
  const look = async (
    id: string,
    lane: Lane,
    stands: ReturnType<typeof stand>,
    workers: boolean,
    wanted?: CampaignState,
  ): Promise<CampaignStatus | null> => {
    const [meta, state] = await Promise.all([
      readMeta(redis, keys, lane.name, id),
      readState(redis, keys, lane.name, id),
    ]);
    if (meta === null || state === null || (wanted !== undefined && state.s !== wanted)) return null;
    const { view, unknown } = await stands;
    const ofIt = (batches: typeof unknown) => batches.filter(({ campaign }) => campaign === id);
    const known = ofIt(unknown);
    // One that became unknown after the lane was asked is counted already: whoever decides on it needs its name.
    const own =
      known.length === 0 && (state.n.unknown ?? 0) > 0 ? ofIt(await lane.commands.unknown()) : known;
    return campaignStatus(meta, state, lane, view, own, workers);
  };
  const hasWorkers = async (): Promise<boolean> => (await roster.alive()).length > 0;
  const status = async (id: string): Promise<CampaignStatus> => {
    const lane = await finder.of(id);
    const found = await look(id, lane, stand(lane), await hasWorkers());
    if (found !== null) return found;
    throw new NotFoundError(
      `campaign ${id} is not there any more: removed after its retention, or never committed`,
    );
  };

  const page = async (
    { state, lanes: only, limit = LISTED, after }: NonNullable<Parameters<Volley['page']>[0]>,
    most: number,
  ) => {
    const workers = await hasWorkers();
    const campaigns: CampaignStatus[] = [];
    // A lane is asked once, however many of its campaigns are listed.
    const standing = new Map<Lane, ReturnType<typeof stand>>();
    const lookUp = async ({ id, lane: name }: { id: string; lane: string }) => {
      const lane = only === undefined || only.includes(name) ? lanes.get(name) : undefined;
      if (lane === undefined) return { id, campaign: null };
      const stands = standing.get(lane) ?? stand(lane);
      standing.set(lane, stands);
      return { id, campaign: await look(id, lane, stands, workers, state) };
    };
    let looked = 0;
    const all = listCampaigns(redis, keys, after);
    for await (const { id, campaign } of ahead(all, LOOKED_UP_AT_ONCE, lookUp)) {
      looked += 1;
      if (campaign !== null) campaigns.push(campaign);
      if (campaigns.length >= limit || looked >= most) return { campaigns, next: id };
    }
    return { campaigns, next: null };
  };

  return {
    status,

    list: async ({ state, limit = LISTED } = {}) =>
      (await page({ state, limit }, Number.POSITIVE_INFINITY)).campaigns,

    page: (wanted = {}) => page(wanted, LOOKED_AT_FOR_A_PAGE),

    async finished(id, { signal, onProgress, everyMs = PROGRESS_MS } = {}) {
      for (;;) {
        signal?.throwIfAborted();
        const now = await status(id);
        onProgress?.(now);
        if (now.endedAt !== null) return now;
        await delay(everyMs, undefined, signal === undefined ? {} : { signal });
      }
    },
  };
}
