import { z } from 'zod';
import { serverTime } from '../../../base/redis/connection.js';
import { orNull } from '../../../engine/recipients/damaged.js';
import { type LaneStore, laneScript } from '../../../engine/scripts/lane-script.js';
import type { ScriptEvent } from '../../../engine/scripts/script-events.js';
import { lapseOutbox, type Tended, type TendOptions, tendOutbox } from './tend-outbox.js';

/*
 * What the outboxes of a lane have to do now.
 */

const dueScript = laneScript(import.meta.url, './due-outboxes.lua', (reply) =>
  z.array(z.string()).parse(reply),
);

/** What was done with these outboxes, without those that cannot be read: they are held until an operator removes them. */
const eachReadable = async <Done>(
  names: readonly string[],
  tend: (name: string) => Promise<Done>,
): Promise<Done[]> =>
  (await Promise.all(names.map((name) => orNull(tend(name))))).filter((done) => done !== null);

/** Tends the outboxes of a lane that have something to do. */
export async function tendDue(lane: LaneStore, options: TendOptions): Promise<Tended> {
  const names = await dueScript(lane, { time: options.now });
  const done = await eachReadable(names, (name) => tendOutbox(lane, name, options));
  return {
    planned: done.reduce((sum, { planned }) => sum + planned, 0),
    lapsed: done.reduce((sum, { lapsed }) => sum + lapsed, 0),
    events: done.flatMap(({ events }) => events),
  };
}

/**
 * Lets messages lapse that are too late, on a lane that no process serves: nothing is planned, and a process that serves the lane later finds
 * everything as it was. `next`: when to do so again, ms by the clock of Redis; null if the lane has no outbox that waits.
 */
export async function lapseDue(
  lane: LaneStore,
  options: TendOptions,
): Promise<{ readonly next: number | null; readonly events: readonly ScriptEvent[] }> {
  const names = await dueScript(lane, { time: options.now });
  const done = await eachReadable(names, (name) => lapseOutbox(lane, name, options));
  const outboxes = lane.keys.lane(lane.id, 'outboxes');
  const now = options.now ?? (await serverTime(lane.redis));
  const [, later] = await lane.redis.zrangebyscore(outboxes, `(${now}`, '+inf', 'WITHSCORES', 'LIMIT', 0, 1);
  const times = [...done.map(({ lapsesAt }) => lapsesAt), ...(later === undefined ? [] : [Number(later)])];
  const next = Math.min(...times);
  const isWaiting = names.length > 0 || later !== undefined;
  return { next: isWaiting ? next : null, events: done.flatMap(({ events }) => events) };
}
