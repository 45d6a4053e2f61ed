import { type Random, within } from '../../base/clock.js';
import {
  type Config,
  type LaneRules,
  type LocalConfig,
  MAX_RECIPIENTS_PER_REQUEST,
  secretsOf,
} from '../../base/config/index.js';
import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId, LaneName } from '../../base/redis/keys.js';
import { InputError, NoSuchLaneError, NotFoundError } from '../../campaign/errors/errors.js';
import { findLane } from '../store/campaigns.js';
import { type Lane, laneNamed, openLane } from './lane.js';
import { type LaneSet, laneSet } from './lane-set.js';
import { type FoundLane, type LaneRegistry, laneRegistry } from './registry.js';
import { singleFlight } from './single-flight.js';
import { storedLanes } from './stored-lanes.js';

/** The lanes of a process by name: those of its configuration, and the stored ones. */
export type Lanes = ReadonlyMap<string, Lane>;

/** The lanes of a process as they are now, and a notice when they change. */
export interface LiveLanes {
  current(): Lanes;
  /** Returns the function that ends the notices. */
  onChange(listener: () => void): () => void;
  /** Reads what has changed. */
  refresh(): Promise<void>;
}

/** Opens lanes under the ids that belong to their names, and finds them. */
export interface LaneFinder {
  /** The lanes of this process. Registers nothing: a configured lane that no process has registered may get another id later. */
  configured(): Promise<Lanes>;
  /**
   * The same, with all configured lanes registered, or at least this one: before anything is imported, sent, or changed. Rejects with a
   * ConfigError if it is refused.
   */
  registered(only?: string): Promise<Lanes>;
  readonly live: LiveLanes;
  /** Why configured lanes would be refused by {@link LaneFinder.registered}, and what to do. Registers nothing. */
  problems(): Promise<string[]>;
  /** Gives a lane a new name. This process keeps the names of its configuration. See {@link LaneRegistry.rename}. */
  rename(from: string, to: string): Promise<{ readonly id: string }>;
  /** Writes the registered lanes to the registry again, in case Redis has lost them, and reads the stored ones again. */
  restore(): Promise<void>;
  /** A configured lane, registered. Rejects with a NotFoundError if it is not configured. */
  named(name: string): Promise<Lane>;
  /** The lane of a campaign, configured or not. Rejects with a NotFoundError if there is no such campaign. */
  of(campaign: string): Promise<Lane>;
  /** Any lane, configured or not. */
  withId(id: LaneId): Promise<Lane>;
  /** The name of a lane: the configured one, else its alias. */
  nameOf(id: LaneId): Promise<LaneName>;
  /** The id of the lane with this name, configured, registered, or with data; null if there is none. Registers nothing. */
  find(name: string): Promise<LaneId | null>;
  /** The same for a name that a caller gives. Rejects with a NoSuchLaneError if there is none. */
  idOf(name: string): Promise<LaneId>;
  /** The ids of all lanes that are configured or registered. */
  ids(): Promise<LaneId[]>;
  /** The same, for what is stored with the id: a configured lane is registered, so that the id is final. */
  known(name: string): Promise<LaneId>;
  /** The id of a lane that this process has opened, by its name. */
  openedIdOf(name: string): LaneId;
}

/** What {@link openLanes} needs. */
interface LanesOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  /** As it was loaded. */
  readonly config: Config | LocalConfig;
  /** Default: the lanes of the configuration and those that are stored. */
  readonly set?: LaneSet;
  readonly events: Events;
  readonly random: Random;
}

/**
 * What is known of a lane that is not configured. The size of a batch is the largest possible one, because a cancel after a loss
 * of data must not count too few recipients as possibly sent.
 */
const UNCONFIGURED: Omit<LaneRules, 'name'> = {
  hourlyQuota: 'auto',
  pollShare: 0.2,
  pacing: 'burst',
  maxRecipientsPerRequest: MAX_RECIPIENTS_PER_REQUEST,
  unknownOutcome: { action: 'hold' },
  clientCorrelator: 'off',
  profile: 'v1',
};

const ANSWER_WITHIN_MS = 5_000;
/** How long a lane that is not registered is known by the id that it would get. */
const FIND_AGAIN_MS = 1_000;

/** Opens the lanes of a process. It does not access Redis before the first call. */
export function openLanes({ redis, keys, config, events, random, ...options }: LanesOptions): LaneFinder {
  const { set = laneSet(config, storedLanes(redis, keys, config)) } = options;
  const registry = laneRegistry(redis, keys, config);
  let found: readonly FoundLane[] = [];
  let lanes: Lanes = new Map();
  let byId: ReadonlyMap<LaneId, Lane> = new Map();
  const settingsOf = new WeakMap<Lane, LaneRules>();
  let isLoaded = false;
  const listeners = new Set<() => void>();
  const others = new Map<LaneId, Lane>();
  let isRegistered = false;
  let findAgainAt = 0;

  /** A lane keeps its object as long as it keeps its id and its settings, so that its caches last. */
  const reopen = (settings: LaneRules, id: LaneId): Lane => {
    const known = lanes.get(settings.name);
    if (known?.id === id && settingsOf.get(known) === settings) return known;
    const opened = openLane(redis, keys, config, { ...settings, id }, events, random);
    settingsOf.set(opened, settings);
    return opened;
  };
  const openAll = (): Lanes => {
    const idOf = new Map(found.map(({ name, id }) => [name, id]));
    const waiting = new Set(found.flatMap(({ name, isReserved }) => (isReserved ? name : [])));
    const opened = set.lanes
      .filter(({ name }) => !waiting.has(name))
      .map((settings) => reopen(settings, settings.stored?.id ?? idOf.get(settings.name) ?? settings.name));
    // The secrets of a lane that was renamed or stored are not those that the configuration shows.
    for (const lane of opened.filter(({ id }) => !byId.has(id))) {
      if (String(lane.id) === lane.name && lane.settings.stored === undefined) continue;
      events.hide(secretsOf({ ...config, lanes: [{ ...lane.settings, name: lane.id }] }));
    }
    lanes = new Map(opened.map((lane) => [lane.name, lane]));
    byId = new Map(opened.map((lane) => [lane.id, lane]));
    for (const listener of listeners) listener();
    return lanes;
  };
  const open = (now: readonly FoundLane[]): Lanes => {
    found = now;
    findAgainAt = performance.now() + FIND_AGAIN_MS;
    return openAll();
  };
  set.onChange(() => {
    if (found.length > 0) openAll();
  });
  // A call that is never answered must not block those that follow.
  const answered = <Answer>(answer: Promise<Answer>): Promise<Answer> =>
    within(ANSWER_WITHIN_MS, answer, { late: `Redis did not answer within ${ANSWER_WITHIN_MS} ms` });
  const load = async (): Promise<void> => {
    if (isLoaded) return;
    await answered(set.refresh());
    isLoaded = true;
  };
  const find = singleFlight(async () => open(await answered(registry.find())));
  const register = singleFlight(async () => {
    if (isRegistered) return lanes;
    await load();
    const opened = open(await answered(registry.register()));
    isRegistered = !found.some(({ isReserved }) => isReserved);
    return opened;
  });
  const configured = async (): Promise<Lanes> => {
    await load();
    const isFinal = found.length > 0 && found.every((lane) => lane.isRegistered);
    return isFinal || performance.now() < findAgainAt ? lanes : find();
  };

  const registered = async (only?: string): Promise<Lanes> => {
    if (isRegistered) return lanes;
    if (only === undefined) return register();
    const known = (await configured()).get(only);
    if (known?.settings.stored !== undefined) return lanes;
    const lane = found.find(({ name }) => name === only);
    return lane?.isRegistered && lane.problem === null ? lanes : open(await registry.register(only));
  };
  /** The lane of this name, also one that was stored a moment ago. */
  const known = async (name: string): Promise<Lane | undefined> => {
    const lane = (await configured()).get(name);
    if (lane !== undefined || config.lanes.some((one) => one.name === name)) return lane;
    await answered(set.refresh());
    return lanes.get(name);
  };

  const nameOf = async (id: LaneId): Promise<LaneName> => {
    await configured();
    const known = byId.get(id);
    if (known !== undefined) return known.name;
    const alias = await redis.hget(keys.registry.names, id);
    // A process keeps the names of its configuration, even if another lane has one of them by now.
    return alias === null || lanes.has(alias) ? String(id) : alias;
  };
  const withId = async (id: LaneId): Promise<Lane> => {
    const name = await nameOf(id);
    const known = byId.get(id) ?? others.get(id);
    if (known?.name === name) return known;
    const other = openLane(redis, keys, config, { ...UNCONFIGURED, name, id }, events, random);
    others.set(id, other);
    return other;
  };

  const findId = async (name: string): Promise<LaneId | null> => {
    const lane = await known(name);
    if (lane !== undefined) return lane.id;
    // A lane without an alias has its id as its name: see `nameOf`.
    const [id, isId, hasData] = await Promise.all([
      redis.hget(keys.registry.ids, name),
      redis.hexists(keys.registry.names, name),
      redis.sismember(keys.lanes, name),
    ]);
    return id ?? (isId + hasData > 0 ? name : null);
  };
  const idOf = async (name: string): Promise<LaneId> => {
    const id = await findId(name);
    if (id !== null) return id;
    const names = new Set([...lanes.keys(), ...(await registry.names()).values()]);
    throw new NoSuchLaneError(name, [...names].sort());
  };

  return {
    configured,
    registered,
    live: {
      current: () => lanes,
      onChange(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
      async refresh() {
        await answered(set.refresh());
        // A lane whose credentials are reserved waits.
        if (found.some(({ isReserved }) => isReserved) && performance.now() >= findAgainAt) await register();
      },
    },
    problems: async () => (await registry.find()).flatMap(({ problem }) => problem ?? []),
    async rename(from, to) {
      await load();
      if (set.stored.some(({ name }) => name === from))
        throw new InputError(
          `lane ${from} is stored in Redis, and keeps its name: add it again under another one`,
        );
      const id = await registry.rename(from, to);
      findAgainAt = 0;
      return { id };
    },
    async restore() {
      if (isRegistered) await registry.restore(found);
      await set.reload();
    },
    async named(name) {
      if (!config.lanes.some((lane) => lane.name === name)) await known(name);
      laneNamed(new Map(set.lanes.map((lane) => [lane.name, lane])), name);
      const lane = laneNamed(await registered(name), name);
      if (lane.settings.stored?.isLeaving)
        throw new InputError(`lane ${name} is being removed: it waits for its last reports`, {
          field: 'lane',
        });
      return lane;
    },
    async of(campaign) {
      const id = await findLane(redis, keys, campaign);
      if (id !== null) return withId(id);
      throw new NotFoundError(`there is no campaign ${campaign}; \`volley list\` shows all campaigns`);
    },
    withId,
    nameOf,
    find: findId,
    idOf,
    ids: async () => [
      ...new Set([
        ...[...(await configured()).values()].map(({ id }) => id),
        ...(await registry.names()).keys(),
      ]),
    ],
    async known(name) {
      return config.lanes.some((lane) => lane.name === name)
        ? laneNamed(await registered(name), name).id
        : idOf(name);
    },
    openedIdOf: (name) =>
      lanes.get(name)?.id ?? [...others.values()].find((lane) => lane.name === name)?.id ?? name,
  };
}
