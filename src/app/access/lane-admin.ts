import type { Clock } from '../../base/clock.js';
import type { Events } from '../../base/events/events.js';
import { InputError, NoSuchLaneError } from '../../campaign/errors/errors.js';
import { type Actor, describeActor } from '../../campaign/states/actor.js';
import type { Operator } from '../../campaign/states/audit.js';
import type { Lane } from '../../engine/lane/lane.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import type { LaneSet } from '../../engine/lane/lane-set.js';
import {
  type LaneFields,
  LaneTakenError,
  type StoredLane,
  type StoredLanes,
} from '../../engine/lane/stored-lanes.js';

/** A lane that is stored in Redis, without its secrets. */
export interface StoredLaneDetails {
  readonly name: string;
  readonly id: string;
  /**
   * `active`: workers serve it; `closing`: its removal counts what it would cancel, or was interrupted meanwhile; `leaving`: it is being
   * removed, and waits for its last reports; `disabled`: a configured lane has its name or its credentials.
   */
  readonly state: 'active' | 'closing' | 'leaving' | 'disabled';
  /** Why no worker, or not this process, serves it; null if it can be served. */
  readonly problem: string | null;
  /** The settings that it was given. */
  readonly settings: LaneFields;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly createdBy: Actor;
}

/** What became of a removal. `unexpected`: nothing was changed, because another number of recipients would be cancelled. */
export type LaneRemoval =
  | { readonly outcome: 'removed'; readonly cancelled: number }
  | { readonly outcome: 'unexpected'; readonly recipientCount: number };

/**
 * The lanes that are stored in Redis, beside those of the configuration, which nothing here changes. Workers serve a new lane, and use changed
 * settings, within 5 s; when a change resolves, no request is claimed with the earlier settings, and those in flight finish. The methods
 * reject with a LaneTakenError if a name or credentials are in use, with an InputError for each invalid field or without `SECRETS_KEY`, and
 * with a NotFoundError.
 */
export interface LaneAdmin {
  /**
   * Adds a lane with the fields of a lane in a lanes file, except `baseUrl`: its credentials go where the configuration says. With the
   * credentials of a removed lane, it continues that lane and its quota.
   */
  add(name: string, settings: LaneFields): Promise<StoredLaneDetails>;
  /** Changes fields. Null resets a field to its default; a field that you leave out keeps its value. */
  set(name: string, changes: LaneFields): Promise<StoredLaneDetails>;
  /**
   * Cancels everything that waits on the lane, if it is `expect` recipients, and removes the lane. Requests in flight finish. Its credentials
   * stay until its last reports have arrived; then they and its subscription are deleted. It first closes the lane, and counts again once
   * every process knows, which takes 5 s; if more waits by then, it reopens the lane. If this process dies meanwhile, the lane stays closed:
   * call it again.
   */
  remove(name: string, expect: number): Promise<LaneRemoval>;
  get(name: string): Promise<StoredLaneDetails>;
  list(): Promise<StoredLaneDetails[]>;
}

interface LaneAdminDeps {
  readonly stored: StoredLanes;
  readonly lanes: LaneSet;
  readonly finder: LaneFinder;
  readonly events: Events;
  readonly clock: Clock;
  /** The names of the lanes that workers have configured. */
  configuredElsewhere(): Promise<readonly string[]>;
  /** How many recipients {@link LaneAdminDeps.cancelAll} would cancel. */
  countWaiting(lane: Lane): Promise<number>;
  /** Cancels everything that waits on a lane. Returns how many recipients that were. */
  cancelAll(lane: Lane): Promise<number>;
  /** Resolves when every process knows this revision of a lane. */
  untilKnown(revision: number): Promise<void>;
}

/** More waits on a lane than its removal may cancel. */
class MoreWaitError extends Error {
  override readonly name = 'MoreWaitError';
  readonly recipientCount: number;

  constructor(recipientCount: number) {
    super(`${recipientCount} recipients wait`);
    this.recipientCount = recipientCount;
  }
}

/** Opens the stored lanes for an operator. */
export function laneAdmin(deps: LaneAdminDeps, by: Operator): LaneAdmin {
  const { stored, lanes, finder, events, clock } = deps;
  const actor = describeActor(by.actor);
  const all = async (): Promise<readonly StoredLane[]> => {
    await lanes.refresh();
    return lanes.stored;
  };
  const detailsOf = ({
    id,
    name,
    state,
    by: other,
    isClosing,
    fields,
    createdAt,
    createdBy,
  }: StoredLane): StoredLaneDetails => ({
    name,
    id,
    state: isClosing ? 'closing' : state === 'removed' ? 'leaving' : state,
    problem:
      state === 'disabled'
        ? `the configured lane ${other} has its name or its credentials`
        : (lanes.problemOf(id) ?? null),
    settings: fields,
    createdAt: new Date(createdAt).toISOString(),
    createdBy,
  });
  const require = async (name: string): Promise<StoredLane> => {
    const known = await all();
    const lane = known.find((each) => each.name === name);
    if (lane !== undefined) return lane;
    if (lanes.lanes.some((each) => each.name === name))
      throw new InputError(`lane ${name} belongs to the configuration, which only its owner changes`, {
        field: 'name',
      });
    throw new NoSuchLaneError(
      name,
      lanes.lanes.map((each) => each.name),
      'configured',
    );
  };
  /** When it resolves, every process knows the lane, or starts nothing on it. */
  const settled = async (id: string, revision: number): Promise<StoredLaneDetails> => {
    const lane = await finder.withId(id);
    await lane.retry(() => lane.commands.requireSettings(revision));
    await finder.live.refresh();
    const found = lanes.stored.find((each) => each.id === id);
    if (found === undefined) throw new LaneTakenError('the lane was removed at the same time');
    return detailsOf(found);
  };

  const reopen = async (lane: StoredLane): Promise<void> => {
    await stored.reopen(lane);
    await finder.live.refresh();
  };
  /** Closes a lane for good, unless more than `most` recipients wait once no process adds any: then it throws a MoreWaitError. */
  const close = async (lane: StoredLane, most: number): Promise<void> => {
    const { revision } = lane.isClosing ? lane : await stored.leave(lane, true);
    await finder.live.refresh();
    await deps.untilKnown(revision);
    const recipientCount = await deps.countWaiting(await finder.withId(lane.id));
    const closed = { ...lane, revision };
    if (recipientCount <= most) return void (await stored.leave(closed, false));
    await reopen(closed);
    throw new MoreWaitError(recipientCount);
  };

  const isConfigured = async (name: string): Promise<boolean> =>
    lanes.lanes.some((lane) => lane.name === name && lane.stored === undefined) ||
    (await deps.configuredElsewhere()).includes(name);

  return {
    async add(name, settings) {
      stored.checked(name, settings);
      if (await isConfigured(name))
        throw new LaneTakenError(`there is a lane ${name} in the configuration`, { field: 'name' });
      const created = { createdAt: clock(), createdBy: by.actor };
      const { id, revision } = await by.audited({ action: 'lane.add', details: { name } }, () =>
        stored.add(name, settings, created),
      );
      events.emit({ type: 'lane.stored', lane: name, change: 'added', actor });
      return settled(id, revision);
    },

    async set(name, changes) {
      const lane = await require(name);
      if (lane.state === 'leaving') throw new LaneTakenError(`lane ${name} is being removed`);
      if (lane.state === 'disabled' && (await isConfigured(lane.by)))
        throw new LaneTakenError(
          `the configured lane ${lane.by} has the name or the credentials of lane ${name}`,
        );
      const details = { name, fields: Object.keys(changes).join(',') };
      const { id, revision } = await by.audited({ action: 'lane.set', lane: lane.id, details }, () =>
        stored.set(lane, changes),
      );
      events.emit({ type: 'lane.stored', lane: name, change: 'changed', actor });
      return settled(id, revision);
    },

    async remove(name, expect) {
      const lane = await require(name);
      const details = { name };
      // Its id is that of the configured lane, whose campaigns stay.
      if (lane.state === 'disabled') {
        if (expect !== 0) return { outcome: 'unexpected', recipientCount: 0 };
        await by.audited({ action: 'lane.remove', lane: lane.id, details }, () => stored.remove(lane));
        await lanes.refresh();
        return { outcome: 'removed', cancelled: 0 };
      }
      const opened = await finder.withId(lane.id);
      const recipientCount = await deps.countWaiting(opened);
      if (recipientCount !== expect) {
        // A process that died has closed it.
        if (lane.isClosing) await reopen(lane);
        return { outcome: 'unexpected', recipientCount };
      }
      const remove = async (): Promise<number> => {
        if (lane.state !== 'leaving' || lane.isClosing) await close(lane, expect);
        await finder.live.refresh();
        return deps.cancelAll(await finder.withId(lane.id));
      };
      let cancelled: number;
      try {
        cancelled = await by.audited({ action: 'lane.remove', lane: lane.id, details }, remove);
      } catch (error) {
        if (!(error instanceof MoreWaitError)) throw error;
        return { outcome: 'unexpected', recipientCount: error.recipientCount };
      }
      events.emit({ type: 'lane.stored', lane: name, change: 'leaving', actor });
      return { outcome: 'removed', cancelled };
    },

    get: async (name) => detailsOf(await require(name)),
    list: async () => (await all()).map(detailsOf).sort((a, b) => a.name.localeCompare(b.name)),
  };
}
