import { setTimeout as delay } from 'node:timers/promises';
import { type Redis, serverTime } from '../base/redis/connection.js';
import type { Keys, LaneId } from '../base/redis/keys.js';
import { InputError, NotFoundError } from '../campaign/errors/errors.js';
import { type ListFilters, matchesFilters } from '../campaign/fields/list-filters.js';
import { CAMPAIGN_ID_LENGTH, type CampaignState, campaignIdTime } from '../campaign/states/campaign.js';
import { perName, RECIPIENT_STATES } from '../campaign/states/recipient.js';
import { type Time, timeIn } from '../campaign/time/moment.js';
import type { ProgressSample } from '../campaign/views/live-views.js';
import type { CampaignStatus, UnknownRequest } from '../campaign/views/views.js';
import type { Lane } from '../engine/lane/lane.js';
import type { LaneFinder } from '../engine/lane/lane-finder.js';
import type { LaneStatusRecord } from '../engine/lane/lane-status.js';
import { orNull } from '../engine/recipients/damaged.js';
import { readProgress } from '../engine/recipients/progress.js';
import { idempotencyDigest, readHolder } from '../engine/recipients/reservation.js';
import { countZones, readParts } from '../engine/recipients/zoned-slices.js';
import type { Heartbeats, WorkerProcess } from '../engine/recovery/heartbeats.js';
import { listUnknown } from '../engine/sending/unknown.js';
import { type CampaignMeta, readMeta } from '../engine/store/campaign-meta.js';
import { idsWithPrefix, listCampaigns, readState, type StoredState } from '../engine/store/campaigns.js';
import { costSoFar } from './accepted-cost.js';
import { inBatches } from './in-batches.js';
import { campaignStatus, unknownRequest } from './status.js';

/** Which campaigns {@link CampaignReader.list} returns. */
export interface CampaignFilter extends ListFilters {
  readonly state?: CampaignState | undefined;
  /** Only campaigns of these lanes; default all. */
  readonly lanes?: readonly string[] | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Created at or after this time: ms since the epoch, or ISO 8601 with an offset. */
  readonly createdFrom?: Time | undefined;
  /** Created before this time. */
  readonly createdBefore?: Time | undefined;
  /** Default 50. */
  readonly limit?: number | undefined;
}

/** Which campaigns {@link CampaignReader.page} returns. */
export interface CampaignPageOptions extends CampaignFilter {
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** Some campaigns; `nextCursor` is the `cursor` of the next page, null on the last one. */
export interface CampaignPage {
  readonly campaigns: CampaignStatus[];
  readonly nextCursor: string | null;
}

/** Which requests {@link CampaignReader.unknown} returns. */
export interface UnknownOptions {
  /** Default 100. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** Some requests; `nextCursor` is null on the last page. */
export interface UnknownPage {
  readonly requests: UnknownRequest[];
  readonly nextCursor: string | null;
}

/** How many campaigns there are. `isExact`: false if there may be more, because not all were read. */
export interface CampaignCount {
  readonly count: number;
  readonly isExact: boolean;
}

/** Options of {@link CampaignReader.finished}. */
export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with every status that was read, four times a second. */
  readonly onProgress?: ((status: CampaignStatus) => void) | undefined;
}

/** Reads the status of campaigns. */
export interface CampaignReader {
  status(id: string): Promise<CampaignStatus>;
  /** Newest first. */
  list(options?: CampaignFilter): Promise<CampaignStatus[]>;
  /**
   * Newest first, one page at a time. A page may be short, or even empty, before the end, because at most 5,000
   * campaigns are read for it.
   */
  page(options?: CampaignPageOptions): Promise<CampaignPage>;
  /** How many campaigns {@link CampaignReader.page} would return, without `limit`. At most 5,000 campaigns are read for it. */
  count(options?: CampaignPageOptions): Promise<CampaignCount>;
  /** How the counts of a campaign have changed, the oldest sample first; the last one is of now. */
  progress(id: string): Promise<ProgressSample[]>;
  /** Its requests with an unknown outcome, in the order in which they were claimed. */
  unknown(id: string, options?: UnknownOptions): Promise<UnknownPage>;
  /** The ids that begin with `prefix`, newest first, at most `limit`. */
  idsWith(prefix: string, limit: number): Promise<string[]>;
  /** Resolves with the status when the campaign has ended. */
  finished(id: string, options?: WaitOptions): Promise<CampaignStatus>;
}

/** Reads several campaigns at once, for what has read their lanes already. */
export interface CurrentReader {
  /** Their statuses, null for one that does not exist. `views`: what was read of their lanes. */
  current(
    campaigns: readonly { readonly id: string; readonly lane: Lane }[],
    views: ReadonlyMap<LaneId, LaneStatusRecord>,
    workers: readonly Pick<WorkerProcess, 'lacks'>[],
  ): Promise<(CampaignStatus | null)[]>;
}

/** What {@link createCampaignReader} needs. */
interface CampaignReaderOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: LaneFinder;
  readonly heartbeats: Heartbeats;
}

const DEFAULT_LIMIT = 50;
/** Bounds a page of campaigns in a rare state, which would otherwise read every campaign. */
const MAX_READ_PER_PAGE = 5_000;
const READ_AT_ONCE = 50;
const PROGRESS_MS = 250;

/** Creates a reader. It does not access Redis before the first call. */
export function createCampaignReader({
  redis,
  keys,
  finder,
  heartbeats,
}: CampaignReaderOptions): CampaignReader & CurrentReader {
  /** The parts of a campaign's status that come from its lane. */
  const readLane = (lane: Lane, view: LaneStatusRecord | Promise<LaneStatusRecord> = lane.status()) => {
    const read = Promise.all([view, listUnknown(lane)]).then(([view, unknown]) => ({
      view,
      unknown,
    }));
    // It is awaited late, or never if another read fails first: an unhandled rejection would end the process.
    read.catch(() => {});
    let outlook: ReturnType<Lane['outlook']> | undefined;
    return {
      read,
      outlook: () => {
        outlook ??= lane.outlook();
        return outlook;
      },
    };
  };

  /** Null for a campaign that does not exist: its id is indexed before it is written, and until after it is removed. */
  const readStatus = async (
    id: string,
    lane: Lane,
    laneRead: ReturnType<typeof readLane>,
    workers: readonly Pick<WorkerProcess, 'lacks'>[],
    isDetailed: boolean,
    isWanted: (meta: CampaignMeta, state: StoredState) => boolean = () => true,
  ): Promise<CampaignStatus | null> => {
    const reading = Promise.all([readMeta(redis, keys, lane.id, id), readState(redis, keys, lane.id, id)]);
    const [meta, state] = isDetailed ? await reading : ((await orNull(reading)) ?? [null, null]);
    if (meta === null || state === null || !isWanted(meta, state)) return null;
    const { view, unknown } = await laneRead.read;
    const ofCampaign = (requests: typeof unknown) => requests.filter(({ campaign }) => campaign === id);
    let unknownOutcomes = ofCampaign(unknown);
    // A request may have become unknown after the lane was read. The counts include it, so the list must, too.
    if (unknownOutcomes.length === 0 && (state.counts.unknown ?? 0) > 0) {
      unknownOutcomes = ofCampaign(await listUnknown(lane));
    }
    const isConfigured = (await finder.configured()).get(lane.name)?.id === lane.id;
    const isOver = state.endedAt > 0 || state.state === 'importing';
    const outlook = isOver ? null : await laneRead.outlook();
    const acceptedCost = await costSoFar(redis, keys, meta, state, { isDetailed });
    const parts = state.part === undefined ? null : await readParts(redis, keys, lane.id, id);
    const zones = parts && countZones(parts, state);
    const stored = { meta, state, unknownOutcomes, acceptedCost, zones };
    const hasWorkers = workers.some(({ lacks }) => !lacks.includes(lane.name));
    const lacksCredentials = workers.length > 0 && !hasWorkers;
    return campaignStatus({
      ...stored,
      lane,
      isConfigured,
      view,
      outlook,
      hasWorkers,
      lacksCredentials,
    });
  };

  const status = async (id: string): Promise<CampaignStatus> => {
    const lane = await finder.of(id);
    const current = await readStatus(id, lane, readLane(lane), await heartbeats.alive(), true);
    if (current !== null) return current;
    throw new NotFoundError(
      `campaign ${id} does not exist: its import was not completed, or its retention period has ended`,
    );
  };

  /** The campaigns among which a page is, newest first, the id before which it ends, and which lanes it is about. */
  const rangeOf = async ({
    lanes,
    createdFrom,
    createdBefore,
    idempotencyKey,
    cursor,
  }: CampaignPageOptions) => {
    const wantedIds = lanes && (await Promise.all(lanes.map(finder.idOf)));
    // Ids begin with their time, so a date is a place in the list.
    if (cursor !== undefined && !CAMPAIGN_ID.test(cursor))
      throw new InputError('not the `nextCursor` of a page', { field: 'cursor' });
    const [before] = [
      cursor,
      createdBefore === undefined ? undefined : idAt(timeIn('createdBefore', createdBefore)),
    ]
      .filter((bound) => bound !== undefined)
      .sort();
    return {
      all:
        idempotencyKey === undefined
          ? listCampaigns(redis, keys, before)
          : withIdempotencyKey(idempotencyKey, before, wantedIds ?? (await finder.ids())),
      last: createdFrom === undefined ? '' : idAt(timeIn('createdFrom', createdFrom)),
      isOnLanes: (lane: LaneId): boolean => wantedIds?.includes(lane) ?? true,
    };
  };

  const count = async (options: CampaignPageOptions): Promise<CampaignCount> => {
    const isWanted = filterOf(options);
    const { all, last, isOnLanes } = await rangeOf(options);
    const read = async ({ id, lane }: { id: string; lane: LaneId }) => {
      if (!isOnLanes(lane)) return { id, counts: false };
      const reading = Promise.all([readMeta(redis, keys, lane, id), readState(redis, keys, lane, id)]);
      const [meta, state] = (await orNull(reading)) ?? [null, null];
      return { id, counts: meta !== null && state !== null && isWanted(meta, state) };
    };
    let [seen, counted] = [0, 0];
    for await (const { id, counts } of inBatches(all, READ_AT_ONCE, read)) {
      if (id < last) break;
      if (seen === MAX_READ_PER_PAGE) return { count: counted, isExact: false };
      seen += 1;
      if (counts) counted += 1;
    }
    return { count: counted, isExact: true };
  };

  const readPage = async (options: CampaignPageOptions, maxRead: number): Promise<CampaignPage> => {
    const { limit = DEFAULT_LIMIT } = options;
    const [workers, isWanted] = [await heartbeats.alive(), filterOf(options)];
    const campaigns: CampaignStatus[] = [];
    const { all, last, isOnLanes } = await rangeOf(options);
    // Each lane is read once, however many of its campaigns are on the page.
    const laneReads = new Map<LaneId, Promise<{ lane: Lane; laneRead: ReturnType<typeof readLane> }>>();
    const laneReadOf = async (id: LaneId) => {
      const lane = await finder.withId(id);
      return { lane, laneRead: readLane(lane) };
    };
    const read = async ({ id, lane: laneId }: { id: string; lane: LaneId }) => {
      if (!isOnLanes(laneId)) return { id, campaign: null };
      const reading = laneReads.get(laneId) ?? laneReadOf(laneId);
      laneReads.set(laneId, reading);
      const { lane, laneRead } = await reading;
      return { id, campaign: await readStatus(id, lane, laneRead, workers, false, isWanted) };
    };
    let count = 0;
    for await (const { id, campaign } of inBatches(all, READ_AT_ONCE, read)) {
      if (id < last) break;
      count += 1;
      if (campaign !== null) campaigns.push(campaign);
      if (campaigns.length >= limit || count >= maxRead) return { campaigns, nextCursor: id };
    }
    return { campaigns, nextCursor: null };
  };

  /** The campaigns with this idempotency key, newest first: one of each of these lanes. */
  async function* withIdempotencyKey(
    key: string,
    after: string | undefined,
    lanes: readonly LaneId[],
  ): AsyncGenerator<{ id: string; lane: LaneId }> {
    const holders = await Promise.all(
      lanes.map((lane) => readHolder(redis, keys.idempotency(idempotencyDigest(key, lane)))),
    );
    const campaigns = holders
      .filter((holder) => holder !== null)
      .map(({ campaign, lane }) => ({ id: campaign, lane }));
    yield* campaigns
      .filter(({ id }) => after === undefined || id < after)
      .sort((a, b) => (a.id < b.id ? 1 : -1));
  }

  return {
    status,

    async current(campaigns, views, workers) {
      const reads = new Map(
        [...new Set(campaigns.map(({ lane }) => lane))].map((lane) => [
          lane,
          readLane(lane, views.get(lane.id)),
        ]),
      );
      return Promise.all(
        campaigns.map(({ id, lane }) =>
          readStatus(id, lane, reads.get(lane) ?? readLane(lane), workers, false),
        ),
      );
    },

    async progress(id) {
      const lane = await finder.of(id);
      const [samples, state, now] = await Promise.all([
        readProgress(redis, keys, lane.id, id),
        readState(redis, keys, lane.id, id),
        serverTime(redis),
      ]);
      if (state === null) return [];
      const counts = perName(RECIPIENT_STATES, (name) => state.counts[name] ?? 0);
      // After its end, nothing changes.
      const last = { at: state.endedAt > 0 ? state.endedAt : now, counts };
      return [...samples.filter(({ at }) => at < last.at), last].map((sample) => ({
        at: new Date(sample.at).toISOString(),
        counts: { total: state.total, ...sample.counts },
      }));
    },

    async unknown(id, { limit = 100, cursor } = {}) {
      const lane = await finder.of(id);
      const left = (await listUnknown(lane))
        .filter(({ campaign, number }) => campaign === id && number > Number(cursor ?? 0))
        .sort((a, b) => a.number - b.number);
      const last = left.length > limit ? left[limit - 1] : undefined;
      return {
        requests: left.slice(0, limit).map((batch) => unknownRequest(id, batch)),
        nextCursor: last === undefined ? null : String(last.number),
      };
    },

    list: async (options = {}) => (await readPage(options, Number.POSITIVE_INFINITY)).campaigns,

    page: (options = {}) => readPage(options, MAX_READ_PER_PAGE),

    count: (options = {}) => count(options),

    idsWith: (prefix, limit) => idsWithPrefix(redis, keys, prefix, limit),

    async finished(id, { signal, onProgress } = {}) {
      for (;;) {
        signal?.throwIfAborted();
        const current = await status(id);
        onProgress?.(current);
        if (current.endedAt !== null) return current;
        await delay(PROGRESS_MS, undefined, signal === undefined ? {} : { signal });
      }
    },
  };
}

const CAMPAIGN_ID = new RegExp(`^[0-9a-z]{${CAMPAIGN_ID_LENGTH}}$`);

/** How ids of this time begin. Ids of later times have another length, which would sort before it. */
const LATEST = 36 ** 8 - 1;
const idAt = (time: number): string => campaignIdTime(Math.min(Math.ceil(time), LATEST));

/** Decides by what is cheap to read whether a page contains a campaign. */
function filterOf({
  state,
  ...filters
}: CampaignPageOptions): (meta: CampaignMeta, state: StoredState) => boolean {
  return (meta, own) => (state === undefined || own.state === state) && matchesFilters(meta, filters);
}
