import type { Clock } from '../../base/clock.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { inboundStore } from '../../engine/inbound/inbound-store.js';
import { parseClosed } from '../../engine/lane/closed.js';
import { asyncOf, inBatches } from '../in-batches.js';
import { type Position, ResultsGoneError, type ResultsLogs } from '../results-log.js';
import { deliveriesOf, deliveryOf } from './delivery.js';
import type { Cursors, Step } from './store.js';

/*
 * What has happened on a lane since the last requests to an endpoint. The cursors of an endpoint, by their names:
 *
 *   LANE          the position in its log of results: recipients that have a final or unknown state, campaigns that have another state
 *   inbound:LANE  the position in its log of messages from people
 *   stopped:LANE  the last of its stops that the endpoint got. A stop is compared, and not logged: no endpoint gets one that is over
 */

const inboundCursor = (lane: LaneId): string => `inbound:${lane}`;
const stopCursor = (lane: LaneId): string => `stopped:${lane}`;
const LANES_AT_ONCE = 50;
/** Parts of chunks that are read at a time. */
const MAX_READS = 50;
/** Before the first message of a log. */
const FIRST_MESSAGE = '0-0';

/** A position as a cursor has it; '' for the beginning of the log. */
const packPosition = (position: Position | undefined): string =>
  position === undefined ? '' : [position.run, position.chunk, position.entry, position.within].join(' ');

function unpackPosition(text = ''): Position | undefined {
  const [run, ...numbers] = text.split(' ');
  const [chunk = 0, entry = 0, within = 0] = numbers.map(Number);
  return run === undefined || numbers.length === 0 ? undefined : { run, chunk, entry, within };
}

/** What {@link laneReader} needs. */
export interface LaneReaderDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly logs: ResultsLogs;
  readonly clock: Clock;
}

/** How much to read: deliveries at most, and results in each. */
export interface Room {
  readonly deliveries: number;
  readonly results: number;
}

/** Which stop of a lane it is in; '' if it is not stopped. */
export async function stopOf(redis: Redis, keys: Keys, lane: LaneId): Promise<string> {
  const [closed, epoch] = await redis.hmget(keys.lane(lane, 'lane'), 'closed', 'epoch');
  return parseClosed(closed).stopped === undefined ? '' : String(epoch);
}

/** Opens the reader. It does not access Redis before the first call. */
export function laneReader({ redis, keys, logs, clock }: LaneReaderDeps) {
  const hasNews = async (lane: LaneId, cursors: Cursors): Promise<boolean> => {
    const [stop, newest, results] = await Promise.all([
      stopOf(redis, keys, lane),
      inboundStore(redis, keys, lane).newest(),
      logs.peek(lane, unpackPosition(cursors.get(lane))).then(
        ({ hasMore }) => hasMore,
        (error: unknown) => {
          if (error instanceof ResultsGoneError) return true;
          throw error;
        },
      ),
    ]);
    return (
      results ||
      newest !== (cursors.get(inboundCursor(lane)) ?? FIRST_MESSAGE) ||
      stop !== (cursors.get(stopCursor(lane)) ?? '')
    );
  };

  const stopStep = async (endpoint: string, lane: LaneId, cursors: Cursors): Promise<Step[]> => {
    const cursor = stopCursor(lane);
    const [from, to] = [cursors.get(cursor) ?? '', await stopOf(redis, keys, lane)];
    if (from === to) return [];
    const deliveries = to === '' ? [] : [deliveryOf(endpoint, 'lane.stopped', lane, to, clock())];
    return [{ cursor, from, to, deliveries }];
  };

  const inboundStep = async (
    endpoint: string,
    lane: LaneId,
    cursors: Cursors,
    most: number,
  ): Promise<Step[]> => {
    const cursor = inboundCursor(lane);
    const from = cursors.get(cursor) ?? '';
    const store = inboundStore(redis, keys, lane);
    // Before the messages: one that arrives meanwhile is read the next time.
    const newest = await store.newest();
    const found = await store.after(from || FIRST_MESSAGE, most);
    // What was erased meanwhile is not there, and its positions are not read again.
    const to = found.length === most ? found.at(-1)?.position : newest;
    if (to === undefined || to === (from || FIRST_MESSAGE)) return [];
    const told = found.filter(({ position }) => isUpTo(position, to));
    const deliveries = told.map(({ position }) =>
      deliveryOf(endpoint, 'inbound.received', lane, position, clock()),
    );
    return [{ cursor, from, to, deliveries }];
  };

  const resultsStep = async (
    endpoint: string,
    lane: LaneId,
    cursors: Cursors,
    room: Room,
  ): Promise<{ steps: Step[]; hasMore: boolean }> => {
    const from = cursors.get(lane) ?? '';
    const start = unpackPosition(from);
    try {
      const most = room.deliveries * room.results;
      const { places, position, hasMore } = await logs.read(lane, start, most, { left: MAX_READS });
      const to = packPosition(position);
      if (to === from) return { steps: [], hasMore };
      const deliveries = deliveriesOf(endpoint, start, places, room.results, clock());
      return { steps: [{ cursor: lane, from, to, deliveries }], hasMore };
    } catch (error) {
      if (!(error instanceof ResultsGoneError)) throw error;
      const to = packPosition(error.next);
      return {
        steps: [{ cursor: lane, from, to, removed: error.removedCount, deliveries: [] }],
        hasMore: true,
      };
    }
  };

  return {
    /** The lanes on which something has happened that an endpoint was not told. */
    async ahead(lanes: readonly LaneId[], cursors: Cursors): Promise<LaneId[]> {
      const found: LaneId[] = [];
      const look = async (lane: LaneId) => ({ lane, isAhead: await hasNews(lane, cursors) });
      for await (const { lane, isAhead } of inBatches(asyncOf(lanes), LANES_AT_ONCE, look))
        if (isAhead) found.push(lane);
      return found;
    },

    /** Reads what an endpoint was not told of a lane, and how far. */
    async read(
      endpoint: string,
      lane: LaneId,
      cursors: Cursors,
      room: Room,
    ): Promise<{ steps: readonly Step[]; hasMore: boolean }> {
      const [stops, messages, results] = await Promise.all([
        stopStep(endpoint, lane, cursors),
        inboundStep(endpoint, lane, cursors, room.deliveries),
        resultsStep(endpoint, lane, cursors, room),
      ]);
      const isFull = messages.some(({ deliveries }) => deliveries.length === room.deliveries);
      return { steps: [...stops, ...messages, ...results.steps], hasMore: results.hasMore || isFull };
    },

    /** The cursors of a new endpoint, which gets what happens from now on. */
    async ends(lanes: readonly LaneId[]): Promise<Map<string, string>> {
      const all = await Promise.all(
        lanes.map(async (lane): Promise<[string, string][]> => {
          const [results, newest, stop] = await Promise.all([
            logs.end(lane),
            inboundStore(redis, keys, lane).newest(),
            stopOf(redis, keys, lane),
          ]);
          return [
            [lane, packPosition(results)],
            [inboundCursor(lane), newest],
            [stopCursor(lane), stop],
          ];
        }),
      );
      return new Map(all.flat().filter(([, text]) => text !== ''));
    },
  };
}

/** See {@link laneReader}. */
export type LaneReader = ReturnType<typeof laneReader>;

/** Whether a position of a log of messages is not after another one. */
function isUpTo(position: string, other: string): boolean {
  const [ms = 0, number = 0] = position.split('-').map(Number);
  const [otherMs = 0, otherNumber = 0] = other.split('-').map(Number);
  return ms < otherMs || (ms === otherMs && number <= otherNumber);
}
