import type { Clock } from '../../base/clock.js';
import { type Redis, serverTime } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import type { Ledger } from '../../campaign/views/live-views.js';
import { laneNamed } from '../../engine/lane/lane.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import type { Heartbeats, WorkerProcess } from '../../engine/recovery/heartbeats.js';
import type { CurrentReader } from '../campaign-reader.js';
import type { FeedItem } from '../event-feed.js';
import type { EventLog } from '../event-log.js';
import { liveCampaigns } from './campaigns.js';
import { type LiveText, type LiveWanted, textOf } from './item.js';
import { type LiveLaneOptions, liveLanes, throttledTimes } from './lanes.js';
import { ledgerOf } from './ledger.js';
import { type OtherAttention, overviewOf } from './overview.js';

/*
 * What is happening, for any number of watchers in this process: one read of Redis per tick serves them all. A tick reads what a watcher
 * shows in detail, what an event was about, and of the rest only so much that hundreds of lanes and campaigns cost no more than twenty.
 */

/** Watches what is happening. */
export interface LiveReader {
  /**
   * Calls `onTick` soon, and then twice a second until the returned function is called, with everything that the watcher sees: a text is the
   * same until something changes. While Redis is unavailable, there is only a `tick` that says so.
   */
  watchLive(wanted: LiveWanted, onTick: (items: readonly LiveText[]) => void): () => void;
  /** The ledger of a lane as it is now. */
  ledger(lane: string): Promise<Ledger>;
}

interface LiveOptions extends LiveLaneOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: LaneFinder;
  readonly heartbeats: Pick<Heartbeats, 'alive'>;
  readonly statuses: CurrentReader;
  readonly log: Pick<EventLog, 'after'>;
  readonly monotonic: Clock;
  /** What needs attention besides lanes and campaigns; `lanes` of a webhook: null for all. */
  others(): Promise<readonly OtherAttention[]>;
  follow(options: { readonly signal: AbortSignal }): AsyncIterable<FeedItem>;
}

const TICK_MS = 500;
/** A read that takes longer means that Redis does not respond. */
const SILENT_MS = 1_000;
const FLEET_EVERY_MS = 2_000;

/** What is read of the whole installation now and then. */
interface Fleet {
  readonly workers: readonly WorkerProcess[];
  readonly others: readonly OtherAttention[];
  readonly at: number;
}

/** Creates the reader. It reads nothing while nothing is watched. */
export function createLiveReader(options: LiveOptions): LiveReader & { close(): void } {
  const { redis, finder, heartbeats, monotonic } = options;
  const watchers = new Map<LiveWanted, (items: readonly LiveText[]) => void>();
  const lanes = liveLanes(options);
  const campaigns = liveCampaigns(options);
  let fleet: Fleet = { workers: [], others: [], at: 0 };
  let ticking: { readonly timer: NodeJS.Timeout; readonly following: AbortController } | undefined;
  let readingSince: number | undefined;
  let isAgain = false;

  const read = async (): Promise<(wanted: LiveWanted) => LiveText[]> => {
    const all = [...watchers.keys()];
    const [now, configured] = await Promise.all([serverTime(redis), finder.configured()]);
    if (now - fleet.at >= FLEET_EVERY_MS) {
      const [workers, others] = await Promise.all([
        heartbeats.alive(),
        options.others(),
        finder.live.refresh(),
      ]);
      fleet = { workers, others, at: now };
    }
    await lanes.read([...configured.values()], new Set(all.flatMap((each) => each.lanes)), now);
    const views = new Map<string, ReturnType<typeof overviewOf>>();
    const overviewFor = ({ allowed }: LiveWanted) => {
      const name = JSON.stringify(allowed);
      const made = views.get(name) ?? overviewOf(lanes.known(allowed), allowed, fleet);
      views.set(name, made);
      return made;
    };
    const seen = all.map((each) => overviewFor(each).overview);
    const running = seen.flatMap((each) => each.running);
    const idle = seen.flatMap(({ scheduled, ended }) => [...scheduled, ...ended]);
    await campaigns.read({ running, idle, wanted: all, lanes, workers: fleet.workers, now });
    const tick = textOf({ type: 'tick', data: { at: new Date(now).toISOString(), redis: 'ok' } });
    return (wanted) => {
      const { overview, text } = overviewFor(wanted);
      return [
        tick,
        text,
        ...lanes.texts(wanted),
        ...campaigns.texts(
          [...wanted.campaigns, ...overview.running, ...overview.scheduled, ...overview.ended],
          wanted,
        ),
      ];
    };
  };

  const sayUnavailable = (): void => {
    const data = { at: new Date().toISOString(), redis: 'unavailable' } as const;
    for (const onTick of watchers.values()) onTick([textOf({ type: 'tick', data })]);
  };
  const tick = (): void => {
    if (readingSince !== undefined) {
      if (monotonic() - readingSince > SILENT_MS) sayUnavailable();
      return;
    }
    readingSince = monotonic();
    read()
      .then((textsFor) => {
        // One that arrived during the read may want more than was read.
        for (const [wanted, onTick] of watchers) onTick(textsFor(wanted));
      })
      .catch(sayUnavailable)
      .finally(() => {
        readingSince = undefined;
        if (isAgain && watchers.size > 0) {
          isAgain = false;
          tick();
        }
      });
  };
  const followEvents = async (signal: AbortSignal): Promise<void> => {
    for await (const item of options.follow({ signal })) {
      if (item.kind !== 'event') continue;
      lanes.changed(item.event, Date.parse(item.createdAt));
    }
  };
  const start = (): NonNullable<typeof ticking> => {
    const following = new AbortController();
    // Without the events, changes are seen a little later.
    followEvents(following.signal).catch(() => {});
    return { timer: setInterval(tick, TICK_MS), following };
  };
  const stop = (): void => {
    clearInterval(ticking?.timer);
    ticking?.following.abort();
    ticking = undefined;
    // What happens while nothing is watched is not followed.
    lanes.clear();
    campaigns.clear();
  };

  return {
    async ledger(name) {
      const lane = laneNamed(await finder.configured(), name);
      const view = await lane.ledger();
      return ledgerOf(name, view, await throttledTimes(options.log, lane.id, view.now - view.window));
    },
    watchLive(given, onTick) {
      // The same wish of two watchers is two keys.
      const wanted = { ...given };
      watchers.set(wanted, onTick);
      ticking ??= start();
      isAgain = readingSince !== undefined;
      tick();
      return () => {
        watchers.delete(wanted);
        if (watchers.size === 0) stop();
      };
    },
    close() {
      watchers.clear();
      stop();
    },
  };
}
