import { z } from 'zod';
import { type Machine, type Random, startStopwatch, systemMachine } from '../../base/clock.js';
import type { Config, LaneSettings, LocalConfig } from '../../base/config/index.js';
import { exactDuration } from '../../base/duration.js';
import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId, LaneName } from '../../base/redis/keys.js';
import { untilAnswered } from '../../base/redis/until-answered.js';
import { NoSuchLaneError } from '../../campaign/errors/errors.js';
import { CAMPAIGN_STATES } from '../../campaign/states/campaign.js';
import { toEvents } from '../scripts/announced-events.js';
import { type LaneStore, laneScript } from '../scripts/lane-script.js';
import { scriptRules } from '../scripts/rules.js';
import { type ScriptEvent, scriptEvents } from '../scripts/script-events.js';
import { createServerClock } from '../scripts/server-clock.js';
import { announceLoss } from './announced-losses.js';
import { readLaneOutlook } from './lane-outlook.js';
import { readLaneStatus } from './lane-status.js';
import { singleFlight } from './single-flight.js';

const outcomes = z.enum(['done', 'missing', 'sent', ...CAMPAIGN_STATES]);

/** The result of a campaign command: `done`, `missing` (no such campaign), `sent` (there is nothing to cancel), or the state that does not allow it. */
export interface CommandResult {
  readonly outcome: z.infer<typeof outcomes>;
  /** Requests of the campaign that are still running. */
  readonly inFlight: number;
  /** Recipients. */
  readonly cancelled: number;
  readonly events: readonly ScriptEvent[];
  /** Whether the state changed. A repeated command changes nothing. */
  readonly isNew: boolean;
}

const commandCampaign = laneScript(import.meta.url, './command-campaign.lua', (reply): CommandResult => {
  const [outcome, inFlight, cancelled, events, isNew] = z
    .tuple([outcomes, z.number(), z.number(), z.string(), z.number()])
    .parse(reply);
  return { outcome, inFlight, cancelled, events: scriptEvents(events), isNew: isNew === 1 };
});
const commandLane = laneScript(import.meta.url, './command-lane.lua', (reply) => z.number().parse(reply));

/** The command scripts of a lane. Operators use them, and so do turns that find a fault. */
export function commandStore(store: LaneStore) {
  return {
    /** `reason`: why the campaign is paused, for people. */
    campaign: (
      command: 'pause' | 'resume' | 'cancel',
      id: string,
      reason = 'held by an operator',
      now?: number,
    ): Promise<CommandResult> => commandCampaign(store, { command, id, reason, time: now }),
    /**
     * `unchanged`: the lane was already held, or already open. `refused`: an operator for all lanes holds the lane, and this one is limited
     * to some.
     */
    async lane(
      command: 'hold' | 'resume',
      reason = '',
      now?: number,
      isLimited = false,
    ): Promise<'changed' | 'unchanged' | 'refused'> {
      const args = { command, reason, epoch: 0, inMs: 0, isLimited: isLimited ? 1 : 0, time: now };
      const reply = await commandLane(store, args);
      return reply < 0 ? 'refused' : reply === 0 ? 'unchanged' : 'changed';
    },
    /**
     * Stops the lane for a cause that waiting cannot fix. `epoch`: the lane's epoch, read before you checked the cause. Returns
     * false if the lane is already stopped for this reason, or an operator has resumed it since that epoch.
     */
    stop: async (reason: string, epoch: number): Promise<boolean> =>
      (await commandLane(store, { command: 'stop', reason, epoch, inMs: 0, isLimited: 0 })) === 1,
    /** Lets only processes with this revision of the settings of a stored lane start requests. */
    requireSettings: async (revision: number): Promise<void> =>
      void (await commandLane(store, {
        command: 'settings',
        reason: '',
        epoch: revision,
        inMs: 0,
        isLimited: 0,
      })),
    /**
     * Notes that the lane has no token, and tries again to get one in `inMs` ms; 0: it is trying, which keeps an earlier reason. Its next
     * claim shows that it has one.
     */
    async awaitToken(reason: string, inMs: number): Promise<void> {
      await commandLane(store, {
        command: 'awaitToken',
        reason,
        epoch: 0,
        inMs: Math.ceil(inMs),
        isLimited: 0,
      });
    },
  };
}

/**
 * Opens a lane: its settings, rules, clocks, commands, and status. Each stage opens its own store on it. `id`: from the registry;
 * by default the name, which is the id of a lane that was never renamed.
 */
export function openLane(
  redis: Redis,
  keys: Keys,
  config: Config | LocalConfig,
  { id, ...settings }: (LocalConfig['lanes'][number] | LaneSettings) & { readonly id?: LaneId },
  events: Events,
  random: Random,
  machine: Omit<Machine, 'random'> = systemMachine,
) {
  const { clock, monotonic, alarm, nonce } = machine;
  const name: LaneName = settings.name;
  const store: LaneStore = {
    redis,
    keys,
    id: id ?? settings.name,
    rules: scriptRules(settings, config),
    serverClock: createServerClock(machine),
    clockChanged: (byMs) =>
      events.emit({
        type: 'redis.clockChanged',
        lane: settings.name,
        direction: byMs > 0 ? 'forward' : 'back',
        by: exactDuration(Math.abs(byMs)),
      }),
  };
  return {
    ...store,
    name,
    settings,
    random,
    clock,
    monotonic,
    alarm,
    nonce,
    /** Starts a stopwatch that also counts the time in which the machine is suspended. */
    startStopwatch: () => startStopwatch(machine),
    /** Repeats a call to Redis, which must be safe to repeat, until Redis replies. Rejects if the signal fires first, or after so many tries. */
    retry: <Answer>(run: () => Promise<Answer>, signal?: AbortSignal, tries?: number): Promise<Answer> =>
      untilAnswered(run, { alarm, ...(signal && { signal }), ...(tries && { tries }) }),
    commands: commandStore(store),
    /** The lane's current status, read for this call alone. */
    freshStatus: () => readLaneStatus(store),
    /** The lane's current status; concurrent callers share one read. */
    status: singleFlight(() => readLaneStatus(store)),
    /** The same with the buckets of its ledger. */
    ledger: singleFlight(() => readLaneStatus(store, undefined, true)),
    /** What an estimate of the lane's campaigns needs; concurrent callers share one read. */
    outlook: singleFlight(() => readLaneOutlook(store)),
    /** Emits the events that a script returned, and announces a loss of data to all workers. */
    emit(list: readonly ScriptEvent[]): void {
      for (const event of list.flatMap((one) => toEvents(name, one))) events.emit(event);
      for (const event of list) {
        if (event.type !== 'dataLoss' && event.type !== 'awaiting') continue;
        untilAnswered(() => announceLoss(redis, keys, store.id, event.lossName), { alarm }).catch(() => {});
      }
    },
  };
}

/** See {@link openLane}. */
export type Lane = ReturnType<typeof openLane>;

/** The error for a lane that is not configured. `names`: the configured lanes. */
export function noSuchLane(name: string, names: Iterable<string>): NoSuchLaneError {
  return new NoSuchLaneError(name, [...names], 'configured');
}

/** The lane with that name. Throws a NoSuchLaneError that lists the configured lanes. */
export function laneNamed<Found>(lanes: ReadonlyMap<string, Found>, name: string): Found {
  const lane = lanes.get(name);
  if (lane !== undefined) return lane;
  throw noSuchLane(name, lanes.keys());
}
