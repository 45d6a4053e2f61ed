import { LRUCache } from 'lru-cache';
import { type Redis, serverTime } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import type { LiveLane } from '../../campaign/views/live-views.js';
import type { LaneStatus } from '../../campaign/views/views.js';
import type { Lane } from '../../engine/lane/lane.js';
import type { LaneStatusRecord } from '../../engine/lane/lane-status.js';
import { orNull } from '../../engine/recipients/damaged.js';
import { readMeta } from '../../engine/store/campaign-meta.js';
import type { BroadcastEvent } from '../event-feed.js';
import type { EventLog } from '../event-log.js';
import { type CampaignCounts, type CountedCampaign, countCampaigns, rateLimited } from '../fleet-snapshot.js';
import { laneStatus } from '../status.js';
import { laneWaiting } from '../waiting.js';
import { type LiveText, type LiveWanted, textOf } from './item.js';
import { ledgerOf } from './ledger.js';

/** What {@link liveLanes} needs. */
export interface LiveLaneOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly log: Pick<EventLog, 'after'>;
  readonly monotonic: () => number;
  /** The host of the service of a lane; null if this process does not know it. */
  hostOf(lane: string): string | null;
  isSimulated(lane: string): Promise<boolean>;
}

/** A campaign that runs, or a campaign or an outbox that needs a person. */
export interface NotableCampaign extends CountedCampaign {
  readonly id: string;
  /** Null if it was not read: it needs no person, or it is older than many others that do. */
  readonly name: string | null;
}

/** What was last read of a lane. */
export interface KnownLane {
  readonly lane: Lane;
  readonly view: LaneStatusRecord;
  readonly status: LaneStatus;
  readonly counts: CampaignCounts;
  /** Newest first. */
  readonly notable: readonly NotableCampaign[];
  /** Those that start within a week, the soonest first, and those that ended within a day, newest first. */
  readonly scheduled: readonly TimedCampaign[];
  readonly ended: readonly TimedCampaign[];
}

/** A campaign and what orders it among others, ms. */
interface TimedCampaign {
  readonly id: string;
  readonly at: number;
}

interface Entry {
  readonly lane: Lane;
  readonly count: () => Promise<Pick<KnownLane, 'counts' | 'notable' | 'scheduled' | 'ended'>>;
  known: KnownLane | undefined;
  texts: readonly LiveText[];
  ledger: { readonly text: LiveText; readonly content: string; readonly at: number } | undefined;
  throttledAt: number[] | undefined;
  isSimulator: boolean;
  isDirty: boolean;
  readAt: number;
}

/** Lanes per tick, beside those that are shown in detail. */
const LANES_AT_ONCE = 20;
/** A ledger in which nothing has changed but the time is written again so rarely. */
const LEDGER_EVERY_MS = 5_000;
const EVENTS_AT_ONCE = 1_000;
const NAMES_KNOWN = 1_000;
/** Campaigns of one kind that need a person; the newest. */
export const ATTENTION_SHOWN = 50;
/** Campaigns that start soon, and those that ended lately. */
const AROUND_SHOWN = 20;
const [WEEK_MS, DAY_MS] = [7 * 86_400_000, 86_400_000];

/** The lanes of the live stream. */
export function liveLanes({ redis, keys, log, monotonic, hostOf, isSimulated }: LiveLaneOptions) {
  const entries = new Map<string, Entry>();
  const names = new LRUCache<string, string>({ max: NAMES_KNOWN });

  const entryOf = (lane: Lane): Entry => {
    const known = entries.get(lane.name);
    if (known?.lane === lane) return known;
    const count = rateLimited(async () => {
      const found: (CountedCampaign & { readonly id: string })[] = [];
      const scheduled: TimedCampaign[] = [];
      const ended: TimedCampaign[] = [];
      const now = await serverTime(redis);
      const counts = await countCampaigns(redis, keys, lane.id, (id, state) => {
        if (isNotable(state)) found.push({ id, ...state });
        if (state.outbox !== undefined) return;
        if (state.state === 'scheduled' && state.launchAt < now + WEEK_MS)
          scheduled.push({ id, at: state.launchAt });
        if (state.endedAt > now - DAY_MS) ended.push({ id, at: -state.endedAt });
      });
      const newest = found.sort((a, b) => (a.id < b.id ? 1 : -1));
      const named = new Set(newest.filter(needsPerson).slice(0, ATTENTION_SHOWN));
      const nameOf = async (id: string): Promise<string | null> => {
        const name = names.get(id) ?? (await orNull(readMeta(redis, keys, lane.id, id)))?.name ?? null;
        if (name !== null) names.set(id, name);
        return name;
      };
      const notable = newest.map(async (each) => ({
        ...each,
        name: each.outbox ?? (named.has(each) ? await nameOf(each.id) : null),
      }));
      const around = { scheduled: firstOf(scheduled), ended: firstOf(ended) };
      return { counts, notable: await Promise.all(notable), ...around };
    }, monotonic);
    const made: Entry = {
      lane,
      count,
      known: undefined,
      texts: [],
      ledger: undefined,
      throttledAt: undefined,
      isSimulator: false,
      isDirty: true,
      readAt: 0,
    };
    entries.set(lane.name, made);
    return made;
  };

  const readOne = async (entry: Entry, isDetailed: boolean, now: number): Promise<void> => {
    const { lane } = entry;
    entry.isDirty = false;
    entry.readAt = now;
    // The service may be slow to say whether it is a simulator.
    void isSimulated(lane.name).then((is) => {
      entry.isSimulator = is;
    });
    const [view, counted, refusals] = await Promise.all([
      isDetailed ? lane.ledger() : lane.status(),
      entry.count(),
      isDetailed && entry.throttledAt === undefined ? throttledTimes(log, lane.id, 0) : undefined,
    ]);
    const status = laneStatus(lane, view);
    entry.known = { lane, view, status, ...counted };
    entry.throttledAt ??= refusals;
    const data: LiveLane = {
      status,
      host: hostOf(lane.name),
      simulator: entry.isSimulator,
      waiting: laneWaiting(status, view.now),
      perMinute: view.perMinute.toReversed(),
    };
    entry.texts = [textOf({ type: 'lane', data }, lane.name)];
    if (!isDetailed) return;
    const ledger = ledgerOf(lane.name, view, entry.throttledAt ?? []);
    const content = JSON.stringify({ ...ledger, at: '' });
    if (content === entry.ledger?.content && now - entry.ledger.at < LEDGER_EVERY_MS) return;
    entry.ledger = { text: textOf({ type: 'ledger', data: ledger }, lane.name), content, at: now };
  };

  return {
    /** Reads those in detail, those that changed, and of the others those that were read longest ago. */
    async read(lanes: readonly Lane[], detailed: ReadonlySet<string>, now: number): Promise<void> {
      const all = lanes.map(entryOf);
      for (const [name, entry] of entries) if (!all.includes(entry)) entries.delete(name);
      const [inDetail, others] = [
        all.filter(({ lane }) => detailed.has(lane.name)),
        all.filter(({ lane }) => !detailed.has(lane.name)),
      ];
      const due = others
        .sort((a, b) => Number(b.isDirty) - Number(a.isDirty) || a.readAt - b.readAt)
        // The first tick shows all of them.
        .filter(({ known }, at) => at < LANES_AT_ONCE || known === undefined);
      await Promise.all([
        ...inDetail.map((entry) => readOne(entry, true, now)),
        ...due.map((entry) => readOne(entry, false, now)),
      ]);
    },

    /** What is known of the lanes that a watcher may see. */
    known: (allowed: readonly string[] | undefined): KnownLane[] =>
      [...entries.values()].flatMap(({ lane, known }) =>
        known !== undefined && (allowed?.includes(lane.name) ?? true) ? [known] : [],
      ),

    /** Reads a lane at the next tick. `at`: when the event happened, ms. */
    changed(event: BroadcastEvent, at: number): void {
      const entry = entries.get(event.lane);
      if (entry === undefined) return;
      entry.isDirty = true;
      if (event.type === 'lane.backingOff' && event.cause === 'throttled') entry.throttledAt?.push(at);
    },

    texts: ({ allowed, lanes }: LiveWanted): LiveText[] =>
      [...entries.values()]
        .filter(({ lane }) => allowed?.includes(lane.name) ?? true)
        .flatMap(({ lane, texts, ledger }) =>
          ledger !== undefined && lanes.includes(lane.name) ? [...texts, ledger.text] : texts,
        ),

    clear: (): void => entries.clear(),
  };
}

/** See {@link liveLanes}. */
export type LiveLanes = ReturnType<typeof liveLanes>;

/** Those that are shown of them. */
export const firstOf = (campaigns: readonly TimedCampaign[]): TimedCampaign[] =>
  campaigns.toSorted((a, b) => a.at - b.at).slice(0, AROUND_SHOWN);

/** Whether a campaign or an outbox waits for a person. */
export const isPaused = ({ state }: CountedCampaign): boolean => state === 'paused';
export const isUnknown = ({ counts }: CountedCampaign): boolean => (counts['unknown'] ?? 0) > 0;
const needsPerson = (campaign: CountedCampaign): boolean => isPaused(campaign) || isUnknown(campaign);

/** An outbox never ends: it is shown while it needs a person. */
function isNotable(campaign: CountedCampaign): boolean {
  if (campaign.outbox !== undefined) return needsPerson(campaign);
  return isUnknown(campaign) || (campaign.endedAt === 0 && campaign.state !== 'scheduled');
}

/** When a lane backed off after a 429 since a time, ms, as far as the log of events goes back. */
export async function throttledTimes(
  log: Pick<EventLog, 'after'>,
  lane: string,
  since: number,
): Promise<number[]> {
  const times: number[] = [];
  for (let last = `${since}-0`; ; ) {
    const events = await log.after(last, EVENTS_AT_ONCE);
    for (const { id, json } of events) {
      // Few of them are parsed.
      if (!json.includes('"lane.backingOff"')) continue;
      const event = JSON.parse(json);
      if (event.lane === lane && event.cause === 'throttled') times.push(Number(id.split('-')[0]));
    }
    const newest = events.at(-1);
    if (newest === undefined || events.length < EVENTS_AT_ONCE) return times;
    last = newest.id;
  }
}
