import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { LaneId } from '../../base/redis/keys.js';
import { DELIVERED_EVENTS, type DeliveredEvent } from '../../campaign/views/webhook-events.js';
import { type Place, type Position, RESULT_LISTS, rowsOf } from '../results-log.js';

/*
 * A delivery is what one request tells an endpoint. It names places in the log of a lane, and not what they contain: each attempt sends the
 * state that the recipients have then; one about a state of a campaign is dropped if the campaign has another by then. Its id is a digest of
 * the endpoint and the range of the log, so that a receiver can recognise a repeated request. A recipient that changes again is in a later range, which has another id, and no longer in this one.
 */

/** Consecutive positions of a list: the number of the campaign in the log of the lane, the list, the first position, how many. */
const entry = z.tuple([z.number(), z.enum(RESULT_LISTS), z.number(), z.number()]);
type Entry = z.output<typeof entry>;

const stored = z.object({
  type: z.enum(DELIVERED_EVENTS),
  lane: z.string(),
  /** What it names in the log of results. */
  entries: z.array(entry),
  /** Of a message of a person: its position in the log of the lane. Of a stopped lane: which of its stops. */
  ref: z.string(),
  /** ms. */
  createdAt: z.number(),
  attempts: z.number(),
  /** When the next attempt is due, ms. */
  dueAt: z.number(),
  /** How often the endpoint refused it with a 4xx status, and when first, ms. */
  refusals: z.number(),
  firstRefusedAt: z.number(),
  /** When it was given up on, ms; 0: it is still sent. */
  failedAt: z.number(),
  /** Why the last attempt failed. */
  reason: z.string(),
});

/** See above. */
export type Delivery = z.output<typeof stored> & { readonly id: string };

/** A delivery as Redis stores it. */
export function packDelivery({ id: _id, ...delivery }: Delivery): string {
  return JSON.stringify(delivery);
}

/** Reads what {@link packDelivery} packed. */
export function unpackDelivery(id: string, json: string): Delivery {
  return { id, ...stored.parse(JSON.parse(json)) };
}

const idOf = (...parts: readonly unknown[]): string =>
  `msg_${createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 27)}`;

/** The id of a request that tests an endpoint. */
export const testId = (nonce: string): string => idOf('test', nonce);

/** Which event tells what a list of the log names. */
export const typeOf = (list: Place['list']): DeliveredEvent =>
  list === 'state' ? 'campaign.state' : 'recipients.settled';

/** Divides the places that were read from a position on into deliveries of at most `most` places. */
export function deliveriesOf(
  endpoint: string,
  from: Position | undefined,
  places: readonly Place[],
  most: number,
  now: number,
): Delivery[] {
  const deliveries: Delivery[] = [];
  const start = from === undefined ? [] : [from.run, from.chunk, from.entry, from.within];
  for (let at = 0; at < places.length; ) {
    const some = placesTogether(places, at, most);
    const [first] = some;
    if (first === undefined) break;
    const id = idOf(endpoint, first.lane, start, at, some.length);
    deliveries.push(newDelivery(id, typeOf(first.list), { lane: first.lane, entries: entriesOf(some) }, now));
    at += some.length;
  }
  return deliveries;
}

/** The places of one delivery: recipients, or one campaign that has another state. */
function placesTogether(places: readonly Place[], from: number, most: number): Place[] {
  if (places[from]?.list === 'state') return places.slice(from, from + 1);
  const end = places.findIndex(({ list }, at) => at > from && list === 'state');
  return places.slice(from, Math.min(end === -1 ? places.length : end, from + most));
}

/** A delivery of something that is not in the log of results. */
export function deliveryOf(
  endpoint: string,
  type: 'lane.stopped' | 'inbound.received',
  lane: LaneId,
  ref: string,
  now: number,
): Delivery {
  return newDelivery(idOf(endpoint, type, lane, ref), type, { lane, entries: [], ref }, now);
}

function newDelivery(
  id: string,
  type: DeliveredEvent,
  { lane, entries, ref = '' }: { readonly lane: LaneId; readonly entries: Entry[]; readonly ref?: string },
  now: number,
): Delivery {
  return {
    id,
    type,
    lane,
    entries,
    ref,
    createdAt: now,
    attempts: 0,
    dueAt: now,
    refusals: 0,
    firstRefusedAt: 0,
    failedAt: 0,
    reason: '',
  };
}

function entriesOf(places: readonly Place[]): Entry[] {
  const entries: Entry[] = [];
  for (const { campaign, list, position } of places) {
    const last = entries.at(-1);
    if (last !== undefined && last[0] === campaign && last[1] === list && last[2] + last[3] === position)
      last[3] += 1;
    else entries.push([campaign, list, position, 1]);
  }
  return entries;
}

/** The places that a delivery names, in their order. */
export function placesOf({ lane, entries }: Pick<Delivery, 'lane' | 'entries'>): Place[] {
  return entries.flatMap(([campaign, list, first, count]) =>
    Array.from({ length: count }, (_, at) => ({ lane, campaign, list, position: first + at })),
  );
}

/** How many places a delivery names. */
export const sizeOf = ({ entries }: Pick<Delivery, 'entries'>): number =>
  entries.reduce((sum, [, , , count]) => sum + count, 0);

/** The two halves of a delivery that an endpoint has not accepted as a whole; null if it names only one place. */
export function halvesOf(delivery: Delivery, now: number): readonly [Delivery, Delivery] | null {
  const places = placesOf(delivery);
  if (places.length < 2) return null;
  const middle = Math.ceil(places.length / 2);
  const half = (name: string, some: readonly Place[]): Delivery =>
    newDelivery(
      idOf(delivery.id, name),
      delivery.type,
      { lane: delivery.lane, entries: entriesOf(some) },
      now,
    );
  return [half('first', places.slice(0, middle)), half('second', places.slice(middle))];
}

/** Whether two deliveries name the same recipient, or states of the same campaign. */
export function overlaps(one: Delivery, other: Delivery): boolean {
  if (one.lane !== other.lane) return false;
  return one.entries.some(([campaign, list, first, count]) =>
    other.entries.some(
      ([otherCampaign, otherList, otherFirst, otherCount]) =>
        campaign === otherCampaign &&
        rowsOf(list) === rowsOf(otherList) &&
        (list === 'state' || (first < otherFirst + otherCount && otherFirst < first + count)),
    ),
  );
}

/**
 * The delivery to send next: the oldest that is due and names no recipient of one that is in flight, whose states would otherwise race
 * each other. Undefined if there is none.
 */
export function nextDelivery(
  waiting: Iterable<Delivery>,
  inFlight: ReadonlyMap<string, Delivery>,
  now: number,
): Delivery | undefined {
  let next: Delivery | undefined;
  for (const delivery of waiting) {
    if (delivery.dueAt > now || inFlight.has(delivery.id)) continue;
    if (next !== undefined && next.createdAt <= delivery.createdAt) continue;
    if (![...inFlight.values()].some((other) => overlaps(delivery, other))) next = delivery;
  }
  return next;
}
