import { type Alarm, systemAlarm } from '../../base/clock.js';
import type { Config, LaneRules, LaneSettings, LocalConfig } from '../../base/config/index.js';
import type { LaneId } from '../../base/redis/keys.js';
import { type RepeatingTask, repeating } from '../../base/repeating.js';
import { singleFlight } from './single-flight.js';
import type { StoredLane, StoredLanes } from './stored-lanes.js';

/*
 * The lanes that a process knows: those of its configuration, and those that are stored in Redis. Everything else asks here, so that a lane
 * can come and go while the process runs. A long-lived process looks every second for changes, with one command; a caller that needs what
 * was stored a moment ago refreshes first.
 */

/** How often a process that follows the stored lanes looks for changes. */
const LOOK_MS = 1_000;

/** See above. */
export interface LaneSet {
  /** The lanes as of the last refresh: first those of the configuration, then the stored ones that this process can serve. */
  readonly lanes: readonly (LaneRules | LaneSettings)[];
  /** All stored lanes, also those that are not served. */
  readonly stored: readonly StoredLane[];
  /** Why this process cannot serve a stored lane; undefined if it can. */
  problemOf(id: LaneId): string | undefined;
  /** The same for all; a sentence for each. */
  readonly problems: readonly string[];
  /** Reads what has changed. */
  refresh(): Promise<void>;
  /** Reads everything again: Redis may have lost its last writes. */
  reload(): Promise<void>;
  /** Called after each change. Returns the function that ends that. */
  onChange(listener: () => void): () => void;
}

/** Opens the lanes of a process. Before the first refresh, they are those of the configuration. */
export function laneSet(config: Config | LocalConfig, stored: StoredLanes): LaneSet {
  const configured = new Set(config.lanes.map(({ name }) => name));
  const records = new Map<LaneId, StoredLane>();
  const opened = new Map<LaneId, { readonly revision: number; readonly settings: LaneRules | string }>();
  const listeners = new Set<() => void>();
  let [revision, isReread] = [0, false];
  let lanes: LaneSet['lanes'] = config.lanes;

  /** The settings of a lane, or why there are none. They stay the same object until the lane is changed. */
  const open = (lane: StoredLane): LaneRules | string => {
    const known = opened.get(lane.id);
    if (known?.revision === lane.revision) return known.settings;
    let settings: LaneRules | string;
    try {
      settings = stored.settingsOf(lane);
    } catch (error) {
      settings = `the stored lane ${lane.name} cannot be served here: ${error instanceof Error ? error.message : String(error)}`;
    }
    opened.set(lane.id, { revision: lane.revision, settings });
    return settings;
  };
  const problemOf = (id: LaneId): string | undefined => {
    const settings = opened.get(id)?.settings;
    return typeof settings === 'string' ? settings : settings?.stored?.problem;
  };
  const isServed = ({ name, state }: StoredLane): boolean =>
    (state === 'active' || state === 'leaving') && !configured.has(name);

  const apply = (changed: ReadonlyMap<LaneId, StoredLane | null>): void => {
    for (const [id, lane] of changed) {
      if (lane === null || lane.state === 'removed') records.delete(id);
      else records.set(id, lane);
    }
    for (const id of opened.keys()) if (!records.has(id)) opened.delete(id);
    const all = [...records.values()].filter(isServed).map(open);
    lanes = [...config.lanes, ...all.filter((settings) => typeof settings !== 'string')];
    for (const listener of listeners) listener();
  };
  const refresh = singleFlight(async () => {
    const since = isReread ? 0 : revision;
    const { changed, latest } = await stored.since(since);
    if (since === 0) records.clear();
    [revision, isReread] = [latest, false];
    if (since === 0 || changed.size > 0) apply(changed);
  });

  return {
    get lanes() {
      return lanes;
    },
    get stored() {
      return [...records.values()];
    },
    problemOf,
    get problems() {
      return [...opened.keys()].flatMap((id) => problemOf(id) ?? []);
    },
    refresh,
    async reload() {
      isReread = true;
      await refresh();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** Keeps the lanes of a process current until it is stopped. Errors pass: the next look reads what this one has missed. */
export function followLanes(look: () => Promise<unknown>, alarm: Alarm = systemAlarm): RepeatingTask {
  return repeating(alarm, () => look().catch(() => {}), { everyMs: LOOK_MS });
}
