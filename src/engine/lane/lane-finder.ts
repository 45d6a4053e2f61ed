import { type Random, within } from '../../base/clock.js';
import {
  type Config,
  type LaneRules,
  type LocalConfig,
  laneCallback,
  MAX_RECIPIENTS_PER_REQUEST,
} from '../../base/config/index.js';
import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId, LaneName } from '../../base/redis/keys.js';
import { NoSuchLaneError, NotFoundError } from '../../campaign/errors.js';
import { findLane } from './campaigns.js';
import { type Lane, laneNamed, openLane } from './lane.js';
import { type FoundLane, type LaneRegistry, laneRegistry } from './registry.js';
import { singleFlight } from './single-flight.js';

/** The configured lanes by name. */
export type Lanes = ReadonlyMap<string, Lane>;

/** Opens lanes under the ids that belong to their names, and finds them. */
export interface LaneFinder {
  /** The configured lanes. Registers nothing: a lane that no process has registered may get another id later. */
  configured(): Promise<Lanes>;
  /**
   * The configured lanes, all registered, or at least this one: before anything is imported, sent, or changed. Rejects with a
   * ConfigError if it is refused.
   */
  registered(only?: string): Promise<Lanes>;
  /** Why configured lanes would be refused by {@link LaneFinder.registered}, and what to do. Registers nothing. */
  problems(): Promise<string[]>;
  /** Gives a lane a new name. This process keeps the names of its configuration. See {@link LaneRegistry.rename}. */
  rename(from: string, to: string): Promise<{ readonly id: string }>;
  /** Writes the registered lanes to the registry again, in case Redis has lost them. */
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
  readonly config: Config | LocalConfig;
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
export function openLanes({ redis, keys, config, events, random }: LanesOptions): LaneFinder {
  const registry = laneRegistry(redis, keys, config);
  let found: readonly FoundLane[] = [];
  let lanes: Lanes = new Map();
  let byId: ReadonlyMap<LaneId, Lane> = new Map();
  const configuredLanes = new Map(config.lanes.map((lane) => [lane.name, lane]));
  const others = new Map<LaneId, Lane>();
  let isRegistered = false;
  let findAgainAt = 0;

  /** A lane keeps its object as long as it keeps its id, so that its caches last. */
  const open = (now: readonly FoundLane[]): Lanes => {
    found = now;
    findAgainAt = performance.now() + FIND_AGAIN_MS;
    const opened = config.lanes.map((settings, at) => {
      const id: LaneId = now[at]?.id ?? settings.name;
      const known = lanes.get(settings.name);
      return known?.id === id ? known : openLane(redis, keys, config, { ...settings, id }, events, random);
    });
    const { callback } = config;
    // The secrets of a lane that was renamed are not those that its configuration shows.
    if (callback !== undefined) {
      for (const { id } of opened.filter((lane) => String(lane.id) !== lane.name && !byId.has(lane.id))) {
        const { segment, securityToken } = laneCallback(callback, id);
        events.hide([segment, securityToken]);
      }
    }
    lanes = new Map(opened.map((lane) => [lane.name, lane]));
    byId = new Map(opened.map((lane) => [lane.id, lane]));
    return lanes;
  };
  // A call that is never answered must not block those that follow.
  const answered = <Answer>(answer: Promise<Answer>): Promise<Answer> =>
    within(ANSWER_WITHIN_MS, answer, { late: `Redis did not answer within ${ANSWER_WITHIN_MS} ms` });
  const find = singleFlight(async () => open(await answered(registry.find())));
  const register = singleFlight(async () => {
    if (isRegistered) return lanes;
    const opened = open(await answered(registry.register()));
    isRegistered = true;
    return opened;
  });
  const configured = async (): Promise<Lanes> => {
    const isFinal = found.length > 0 && found.every((lane) => lane.isRegistered);
    return isFinal || performance.now() < findAgainAt ? lanes : find();
  };

  const registered = async (only?: string): Promise<Lanes> => {
    if (isRegistered) return lanes;
    if (only === undefined) return register();
    await configured();
    const lane = found.find(({ name }) => name === only);
    return lane?.isRegistered && lane.problem === null ? lanes : open(await registry.register(only));
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
    const lane = (await configured()).get(name);
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
    const names = new Set([...configuredLanes.keys(), ...(await registry.names()).values()]);
    throw new NoSuchLaneError(name, [...names].sort());
  };

  return {
    configured,
    registered,
    problems: async () => (await registry.find()).flatMap(({ problem }) => problem ?? []),
    async rename(from, to) {
      const id = await registry.rename(from, to);
      findAgainAt = 0;
      return { id };
    },
    restore: async () => (isRegistered ? registry.restore(found) : undefined),
    async named(name) {
      laneNamed(configuredLanes, name);
      return laneNamed(await registered(name), name);
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
      return configuredLanes.has(name) ? laneNamed(await registered(name), name).id : idOf(name);
    },
    openedIdOf: (name) =>
      lanes.get(name)?.id ?? [...others.values()].find((lane) => lane.name === name)?.id ?? name,
  };
}
