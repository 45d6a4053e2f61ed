import { CATALOGUE } from '../../../base/events/catalogue.js';
import type { FieldTable } from '../../../base/events/entry.js';
import type { BroadcastEvent, FeedItem } from '../../../reporting/event-feed.js';
import type { LiveText } from '../../../reporting/live/item.js';

/*
 * The text of an event stream (WHATWG HTML, section 9.2, Server-sent events).
 */

/** The headers of an event stream. */
export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // nginx would otherwise buffer the stream.
  'x-accel-buffering': 'no',
};

/** Tells the client to reconnect two seconds after the connection breaks. */
export const RETRY_AFTER = 'retry: 2000\n';

/** A comment, which clients ignore: it keeps proxies from closing the connection, and detects a broken one. */
export const HEARTBEAT = ': heartbeat\n\n';

/** The status of a campaign. It has no id, so a client resumes after the last event before it. */
export function statusText(statusJson: string): string {
  return `event: campaign.status\ndata: ${statusJson}\n\n`;
}

/** An item of the live stream, without an id. */
export function liveText({ type, json }: Pick<LiveText, 'type' | 'json'>): string {
  return `event: ${type}\ndata: ${json}\n\n`;
}

/** An item of the feed. A client can resume after its `id`, a token for the id of the feed. */
export function itemText(item: FeedItem, id: string): string {
  switch (item.kind) {
    case 'start':
      // Clients remember an id without data but dispatch no event for it.
      return `id: ${id}\n\n`;
    case 'gap':
      return `event: gap\ndata: ${JSON.stringify({ after: id })}\n\n`;
    case 'event': {
      const { createdAt, event } = item;
      const { type } = event;
      return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ type, createdAt, ...fieldsOf(event) })}\n\n`;
    }
    default:
      return item satisfies never;
  }
}

/** The fields of an event, with times in ISO 8601, as everywhere in the API. */
function fieldsOf({ type, ...values }: BroadcastEvent): Record<string, unknown> {
  // A process of a later version may emit events that this one does not know.
  const catalogue: Readonly<Record<string, { readonly fields: FieldTable } | undefined>> = CATALOGUE;
  const fields = catalogue[type]?.fields ?? {};
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      fields[name]?.kind === 'time' && typeof value === 'number' ? new Date(value).toISOString() : value,
    ]),
  );
}
