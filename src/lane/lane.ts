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

/** A lane: its name, its rules, its clocks, and how it stands. Each stage opens its own store on it. */
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
    /** Runs something on Redis that may run twice until it is answered; a signal that fires ends the waiting. */
    retry: <Answer>(run: () => Promise<Answer>, signal?: AbortSignal): Promise<Answer> =>
      untilAnswered(run, signal === undefined ? { alarm } : { alarm, signal }),
    commands: commandStore(store),
    /** How the lane stands now, without sharing the answer of an earlier call. */
    freshStatus: () => readLaneStatus(store),
    /** How the lane stands now; callers that ask at the same time share an answer. */
    status: singleFlight(() => readLaneStatus(store)),
    emit: scriptEventEmitter(events, settings.name),
  };
}

/** See {@link openLane}. */
export type Lane = ReturnType<typeof openLane>;

/** For a lane that is not configured; `names`: those that are. */
export function noSuchLane(name: string, names: Iterable<string>): NotFoundError {
  return new NotFoundError(`there is no lane ${name}; there are: ${[...names].join(', ')}`);
}
