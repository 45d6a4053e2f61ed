import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { NotFoundError } from '../../campaign/errors/errors.js';
import { sentOf } from '../../campaign/states/recipient.js';
import type { Lane } from '../../engine/lane/lane.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import type { WorkerProcess } from '../../engine/recovery/heartbeats.js';
import type { CurrentReader } from '../campaign-reader.js';
import { campaignWaiting } from '../waiting.js';
import { type LiveText, type LiveWanted, textOf } from './item.js';
import type { LiveLanes } from './lanes.js';

/** What {@link liveCampaigns} needs. */
interface LiveCampaignOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'of'>;
  readonly statuses: CurrentReader;
}

interface Sample {
  readonly at: number;
  readonly sent: number;
}

interface Entry {
  /** Null: there is no such campaign. */
  readonly lane: Lane | null;
  text: LiveText | undefined;
  /** What Redis had of its state at the last read. */
  state: string | null;
  readAt: number;
  samples: readonly Sample[];
}

/** Campaigns per tick, beside those that are shown in detail: an estimate takes a few milliseconds. */
const CAMPAIGNS_AT_ONCE = 10;
/** A campaign whose state is the same is read again so rarely, for the estimate. */
const AGAIN_AFTER_MS = 2_000;
/** One that does not run. */
const IDLE_AGAIN_AFTER_MS = 30_000;
const [RATE_OF_MS, RATE_FROM_MS] = [60_000, 10_000];

/** The campaigns of the live stream. */
export function liveCampaigns({ redis, keys, finder, statuses }: LiveCampaignOptions) {
  const entries = new Map<string, Entry>();

  const entryOf = async (id: string): Promise<Entry> => {
    const known = entries.get(id);
    if (known !== undefined && known.lane !== null) return known;
    const lane = await finder.of(id).catch((error: unknown) => {
      if (error instanceof NotFoundError) return null;
      throw error;
    });
    const made: Entry = { lane, text: undefined, state: null, readAt: 0, samples: [] };
    entries.set(id, made);
    return made;
  };

  /** The states as Redis has them now. */
  const statesOf = async (ids: readonly string[]): Promise<Map<string, string | null>> => {
    const byLane = new Map<Lane, string[]>();
    for (const id of ids) {
      const lane = entries.get(id)?.lane;
      if (lane != null) byLane.set(lane, [...(byLane.get(lane) ?? []), id]);
    }
    const read = await Promise.all(
      [...byLane].map(async ([lane, its]) => {
        const found = await redis.hmget(keys.lane(lane.id, 'states'), ...its);
        return its.map((id, at) => [id, found[at] ?? null] as const);
      }),
    );
    return new Map(read.flat());
  };

  return {
    /** Reads those in detail, and those whose state has changed; the others again after a while. */
    async read({
      running,
      idle,
      wanted,
      lanes,
      workers,
      now,
    }: {
      readonly running: readonly string[];
      /** Those that have ended, or start later. */
      readonly idle: readonly string[];
      readonly wanted: readonly LiveWanted[];
      readonly lanes: LiveLanes;
      readonly workers: readonly WorkerProcess[];
      readonly now: number;
    }): Promise<void> {
      const detailed = new Set(wanted.flatMap(({ campaigns }) => campaigns));
      const ids = [...new Set([...detailed, ...running, ...idle])];
      const isIdle = new Set(idle);
      for (const id of entries.keys()) if (!ids.includes(id)) entries.delete(id);
      await Promise.all(ids.map(entryOf));
      const states = await statesOf(ids);
      const due = ids
        .flatMap((id) => {
          const entry = entries.get(id);
          if (entry?.lane == null) return [];
          const againAfter = isIdle.has(id) && !detailed.has(id) ? IDLE_AGAIN_AFTER_MS : AGAIN_AFTER_MS;
          const isSame = states.get(id) === entry.state && now - entry.readAt < againAfter;
          return isSame ? [] : [{ id, lane: entry.lane, entry }];
        })
        .sort(
          (a, b) =>
            Number(detailed.has(b.id)) - Number(detailed.has(a.id)) || a.entry.readAt - b.entry.readAt,
        )
        .filter(({ id, entry }, at) => at < CAMPAIGNS_AT_ONCE || detailed.has(id) || entry.readAt === 0);
      const views = new Map(lanes.known(undefined).map(({ lane, view }) => [lane.id, view]));
      const current = await statuses.current(due, views, workers);
      for (const [at, { id, entry }] of due.entries()) {
        const status = current[at] ?? null;
        if (status === null) {
          entries.set(id, { ...entry, lane: null });
          continue;
        }
        entry.readAt = now;
        entry.state = states.get(id) ?? null;
        const { samples, rate } = withSample(entry.samples, { at: now, sent: sentOf(status.counts) });
        entry.samples = samples;
        const data = { status, waiting: campaignWaiting(status, now), sendsPerMinute: rate };
        entry.text = textOf({ type: 'campaign', data }, id);
      }
    },

    /** Those that a watcher may see; `gone` for those that it asks for and that do not exist for it. */
    texts(ids: readonly string[], { allowed, campaigns }: LiveWanted): LiveText[] {
      return [...new Set(ids)].flatMap((id) => {
        const { lane, text } = entries.get(id) ?? {};
        const isSeen = lane != null && (allowed?.includes(lane.name) ?? true);
        if (isSeen) return text ?? [];
        const isKnown = lane !== undefined;
        return isKnown && campaigns.includes(id) ? textOf({ type: 'gone', data: { campaign: id } }, id) : [];
      });
    },

    clear: (): void => entries.clear(),
  };
}

/** The samples of the last minute with one more, and how many recipients a minute they show; null if they show too little. */
function withSample(
  before: readonly Sample[],
  sample: Sample,
): { samples: readonly Sample[]; rate: number | null } {
  const samples = [...before.filter(({ at }) => at > sample.at - RATE_OF_MS), sample];
  const [first = sample] = samples;
  const ms = sample.at - first.at;
  if (ms < RATE_FROM_MS) return { samples, rate: null };
  return { samples, rate: Math.max(0, Math.round(((sample.sent - first.sent) / ms) * 60_000)) };
}
