import type { Clock } from '../../base/clock.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import type { DeliveredEvent } from '../../campaign/views/webhook-events.js';
import { inboundStore } from '../../engine/inbound/inbound-store.js';
import { parseClosed } from '../../engine/lane/closed.js';
import { orNull } from '../../engine/recipients/damaged.js';
import { messageListOf, readEdition } from '../../engine/recipients/outbox-messages.js';
import { readMeta } from '../../engine/store/campaign-meta.js';
import {
  campaignIdIn,
  type Place,
  type Position,
  ResultsGoneError,
  type ResultsLogs,
} from '../results-log.js';
import { type Delivery, deliveriesOf, deliveryOf, typeOf } from './delivery.js';
import { type EventFilter, wantsType } from './endpoint.js';

/*
 * Where events come from. An endpoint has a cursor for each source and lane: how far it was read. A new source is one more entry of the
 * list at the end; its events need a schema (campaign/views/webhook-events.ts) and a payload (payload.ts).
 */

/** Parts of chunks that are read at a time. */
const MAX_READS = 50;
/** Before the first message of a log. */
const FIRST_MESSAGE = '0-0';

/** How much to read: deliveries at most, and results in each. */
export interface Room {
  readonly deliveries: number;
  readonly results: number;
}

/** Who reads. */
export type Reader = EventFilter & { readonly id: string };

/** What was read, up to a cursor. */
interface Read {
  readonly to: string;
  readonly deliveries: readonly Delivery[];
  /** Results that no longer exist. */
  readonly removed?: number;
  readonly hasMore: boolean;
}

/** One kind of things that happen on a lane. A cursor is '' at the beginning. */
interface Source {
  /** The events that it leads to. */
  readonly types: readonly DeliveredEvent[];
  /** The name of its cursor. */
  cursor(lane: LaneId): string;
  /** Changes with everything that happens. It is read every second. */
  mark(lane: LaneId): Promise<string>;
  hasNews(lane: LaneId, from: string): Promise<boolean>;
  read(reader: Reader, lane: LaneId, from: string, room: Room): Promise<Read>;
  /** The cursor of one who gets what happens from now on. */
  end(lane: LaneId): Promise<string>;
}

/** What sources need. */
export interface SourceDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly logs: ResultsLogs;
  readonly clock: Clock;
}

/** A position as a cursor has it; '' for the beginning of the log. */
const packPosition = (position: Position | undefined): string =>
  position === undefined ? '' : [position.run, position.chunk, position.entry, position.within].join(' ');

function unpackPosition(text: string): Position | undefined {
  const [run, ...numbers] = text.split(' ');
  const [chunk = 0, entry = 0, within = 0] = numbers.map(Number);
  return run === undefined || numbers.length === 0 ? undefined : { run, chunk, entry, within };
}

/** The log of results: recipients that have a final or unknown state, campaigns that have another state. The cursor is a position in it. */
function resultsSource({ redis, keys, logs, clock }: SourceDeps): Source {
  /** Whether an endpoint gets what belongs to the campaign, or the outbox, with a number in the log. */
  const belongs = async (lane: LaneId, number: number, { outboxes, tags }: EventFilter): Promise<boolean> => {
    const id = await campaignIdIn(redis, keys, lane, number);
    if (id === null) return false;
    const outbox = messageListOf(id)?.outbox;
    if (outbox !== undefined && outboxes?.includes(outbox)) return true;
    if (tags === null) return false;
    const tagged: Promise<{ readonly tags?: readonly string[] | undefined } | null> =
      outbox === undefined ? readMeta(redis, keys, lane, id) : readEdition(redis, keys, lane, outbox);
    return (await orNull(tagged))?.tags?.some((tag) => tags.includes(tag)) === true;
  };
  const wanted = async (
    reader: Reader,
    lane: LaneId,
    places: readonly Place[],
  ): Promise<readonly Place[]> => {
    const ofType = places.filter(({ list }) => wantsType(reader, typeOf(list)));
    if (reader.outboxes === null && reader.tags === null) return ofType;
    const numbers = [...new Set(ofType.map(({ campaign }) => campaign))];
    const are = await Promise.all(numbers.map((number) => belongs(lane, number, reader)));
    const kept = new Set(numbers.filter((_, at) => are[at]));
    return ofType.filter(({ campaign }) => kept.has(campaign));
  };
  return {
    types: ['recipients.settled', 'campaign.state'],
    cursor: (lane) => lane,
    async mark(lane) {
      const [chunk, length] = await Promise.all([
        redis.hget(keys.lane(lane, 'results'), 'chunk'),
        redis.strlen(keys.lane(lane, 'latestResults')),
      ]);
      return `${chunk} ${length}`;
    },
    hasNews: (lane, from) =>
      logs.peek(lane, unpackPosition(from)).then(
        ({ hasMore }) => hasMore,
        (error: unknown) => {
          if (error instanceof ResultsGoneError) return true;
          throw error;
        },
      ),
    async read(reader, lane, from, room) {
      const start = unpackPosition(from);
      try {
        const most = room.deliveries * room.results;
        const { places, position, hasMore } = await logs.read(lane, start, most, { left: MAX_READS });
        const some = await wanted(reader, lane, places);
        const deliveries = deliveriesOf(reader.id, start, some, room.results, clock());
        return { to: packPosition(position), deliveries, hasMore };
      } catch (error) {
        if (!(error instanceof ResultsGoneError)) throw error;
        return { to: packPosition(error.next), removed: error.removedCount, deliveries: [], hasMore: true };
      }
    },
    end: async (lane) => packPosition(await logs.end(lane)),
  };
}

/** Messages from people. The cursor is a position in their log. */
function inboundSource({ redis, keys, clock }: SourceDeps): Source {
  const newest = (lane: LaneId): Promise<string> => inboundStore(redis, keys, lane).newest();
  return {
    types: ['inbound.received'],
    cursor: (lane) => `inbound:${lane}`,
    mark: newest,
    hasNews: async (lane, from) => (await newest(lane)) !== (from || FIRST_MESSAGE),
    async read({ id }, lane, from, { deliveries: most }) {
      const start = from || FIRST_MESSAGE;
      // Before the messages: one that arrives meanwhile is read the next time.
      const last = await newest(lane);
      const found = await inboundStore(redis, keys, lane).after(start, most);
      // What was erased meanwhile is not there, and its positions are not read again.
      const to = (found.length === most ? found.at(-1)?.position : last) ?? start;
      const told = found.filter(({ position }) => isUpTo(position, to));
      const deliveries = told.map(({ position }) =>
        deliveryOf(id, 'inbound.received', lane, position, clock()),
      );
      return { to: to === start ? from : to, deliveries, hasMore: deliveries.length === most };
    },
    end: newest,
  };
}

/** Stops of a lane. The cursor is the last one that the endpoint got. A stop is compared, and not logged: no endpoint gets one that is over. */
function stopSource({ redis, keys, clock }: SourceDeps): Source {
  /** Which stop the lane is in; '' if it is not stopped. */
  const stopOf = async (lane: LaneId): Promise<string> => {
    const [closed, epoch] = await redis.hmget(keys.lane(lane, 'lane'), 'closed', 'epoch');
    return parseClosed(closed).stopped === undefined ? '' : String(epoch);
  };
  return {
    types: ['lane.stopped'],
    cursor: (lane) => `stopped:${lane}`,
    mark: stopOf,
    hasNews: async (lane, from) => (await stopOf(lane)) !== from,
    async read({ id }, lane, from) {
      const to = await stopOf(lane);
      const isNew = to !== '' && to !== from;
      const deliveries = isNew ? [deliveryOf(id, 'lane.stopped', lane, to, clock())] : [];
      return { to, deliveries, hasMore: false };
    },
    end: stopOf,
  };
}

/** Everything that events come from. It does not access Redis before the first call. */
export function webhookSources(deps: SourceDeps): readonly Source[] {
  return [stopSource(deps), inboundSource(deps), resultsSource(deps)];
}

/** Whether a position of a log of messages is not after another one. */
function isUpTo(position: string, other: string): boolean {
  const [ms = 0, number = 0] = position.split('-').map(Number);
  const [otherMs = 0, otherNumber = 0] = other.split('-').map(Number);
  return ms < otherMs || (ms === otherMs && number <= otherNumber);
}
