import { NotFoundError } from '../campaign/errors.js';
import { type Machine, type Random, systemMachine } from '../clock.js';
import type { Config, LaneSettings, LocalConfig } from '../config/index.js';
import type { Events } from '../events/events.js';
import { laneCrew } from '../recovery/recovery-barrier.js';
import { laneReassertion } from '../recovery/replay-claim.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { untilAnswered } from '../redis/until-answered.js';
import { laneClaims } from '../sending/claims.js';
import { laneSettlements } from '../sending/settlements.js';
import { laneCommands } from './commands.js';
import { teller } from './lane-events.js';
import { laneViews } from './lane-status.js';
import { type ScriptRules, scriptRules } from './rules.js';
import { coalesced } from './single-flight.js';

/** A lane as the pipeline sees it: its name, its rules, and what may be asked of its keys. */
export function openLane(
  redis: Redis,
  keys: Keys,
  config: Config | LocalConfig,
  settings: LocalConfig['lanes'][number] | LaneSettings,
  events: Events,
  random: Random,
  { clock, alarm, nonce }: Pick<Machine, 'clock' | 'alarm' | 'nonce'> = systemMachine,
) {
  const { name } = settings;
  const rules: ScriptRules = scriptRules(settings, config);
  const json = JSON.stringify(rules);
  const views = laneViews(redis, keys, name, json);
  return {
    name,
    settings,
    rules,
    random,
    clock,
    nonce,
    /** Runs something on Redis that may run twice until it is answered; a signal that fires ends the waiting. */
    answered: <Answer>(run: () => Promise<Answer>, signal?: AbortSignal): Promise<Answer> =>
      untilAnswered(run, signal === undefined ? { alarm } : { alarm, signal }),
    claims: laneClaims(redis, keys, name, json),
    settlements: laneSettlements(redis, keys, name, json, rules.notify),
    commands: laneCommands(redis, keys, name, json),
    reassert: laneReassertion(redis, keys, name),
    crew: laneCrew(redis, keys, name, json),
    views,
    /** How the lane stands now; those who ask at the same time share an answer. */
    look: coalesced(() => views.look()),
    tell: teller(events, name),
  };
}

/** See {@link openLane}. */
export type Lane = ReturnType<typeof openLane>;

/** For a lane that is not configured; `names`: those that are. */
export function noSuchLane(name: string, names: Iterable<string>): NotFoundError {
  return new NotFoundError(`there is no lane ${name}; there are: ${[...names].join(', ')}`);
}
