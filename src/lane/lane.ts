import { NotFoundError } from '../campaign/errors.js';
import { type Machine, type Random, systemMachine } from '../clock.js';
import type { Config, LaneSettings, LocalConfig } from '../config/index.js';
import type { Events } from '../events/events.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { untilAnswered } from '../redis/until-answered.js';
import { commandStore } from './command-store.js';
import { scriptEventEmitter } from './lane-events.js';
import type { LaneStore } from './lane-script.js';
import { readLaneStatus } from './lane-status.js';
import { scriptRules } from './rules.js';
import { singleFlight } from './single-flight.js';

/** Opens a lane: its settings, rules, clocks, commands, and status. Each stage opens its own store on it. */
export function openLane(
  redis: Redis,
  keys: Keys,
  config: Config | LocalConfig,
  settings: LocalConfig['lanes'][number] | LaneSettings,
  events: Events,
  random: Random,
  { clock, monotonic, alarm, nonce }: Omit<Machine, 'random'> = systemMachine,
) {
  const store: LaneStore = { redis, keys, name: settings.name, rules: scriptRules(settings, config) };
  return {
    ...store,
    settings,
    random,
    clock,
    monotonic,
    alarm,
    nonce,
    /** Repeats a call to Redis, which must be safe to repeat, until Redis replies. Rejects if the signal fires first. */
    retry: <Answer>(run: () => Promise<Answer>, signal?: AbortSignal): Promise<Answer> =>
      untilAnswered(run, signal === undefined ? { alarm } : { alarm, signal }),
    commands: commandStore(store),
    /** The lane's current status, read for this call alone. */
    freshStatus: () => readLaneStatus(store),
    /** The lane's current status; concurrent callers share one read. */
    status: singleFlight(() => readLaneStatus(store)),
    /** Emits the events that a script returned. */
    emit: scriptEventEmitter(events, settings.name),
  };
}

/** See {@link openLane}. */
export type Lane = ReturnType<typeof openLane>;

/** The error for a lane that is not configured. `names`: the configured lanes. */
export function noSuchLane(name: string, names: Iterable<string>): NotFoundError {
  return new NotFoundError(`there is no lane ${name}; the configured lanes are: ${[...names].join(', ')}`);
}
