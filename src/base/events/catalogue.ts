import { ACCESS_EVENTS } from './catalogue/access.js';
import { RECORDS_EVENTS } from './catalogue/call-records.js';
import { CAMPAIGN_EVENTS } from './catalogue/campaigns.js';
import { LANE_EVENTS } from './catalogue/lanes.js';
import { PROCESS_EVENTS } from './catalogue/process.js';
import { REDIS_EVENTS } from './catalogue/redis.js';
import { SENDING_EVENTS } from './catalogue/sending.js';
import type { Field } from './field.js';

/**
 * Every event that Volley emits. To add one, add an entry: the kinds of its fields define its type and keep phone
 * numbers, keys, and tokens out of the log. In all events, `request` is our reference of a request (as in `resolve
 * --request`), and `requestId` is the service's id.
 *
 * Levels: `trace` for every request, `debug` for every turn, `info` for what an operator wants to read later, `warn` for
 * what may need attention, `error` for what does.
 */
export const CATALOGUE = {
  ...PROCESS_EVENTS,
  ...SENDING_EVENTS,
  ...LANE_EVENTS,
  ...CAMPAIGN_EVENTS,
  ...REDIS_EVENTS,
  ...ACCESS_EVENTS,
  ...RECORDS_EVENTS,
} as const;

type Catalogue = typeof CATALOGUE;
type ValueOf<Kind> = Kind extends Field<infer Value> ? Value : never;

/** The type of an event, such as `lane.backingOff`. */
export type EventType = keyof Catalogue;

/** The event of one type with its fields; see the {@link CATALOGUE}. */
export type EventOf<Type extends EventType> = Type extends EventType
  ? { type: Type } & {
      -readonly [Name in keyof Catalogue[Type]['fields']]: ValueOf<Catalogue[Type]['fields'][Name]>;
    }
  : never;

/** Any event; `type` tells which. */
export type VolleyEvent = EventOf<EventType>;
