import { CATALOGUE, type FieldTable } from '../../events/catalogue.js';
import type { BroadcastEvent, FeedItem } from '../../reporting/event-feed.js';

/*
 * The text of a stream of events (WHATWG HTML, 9.2 Server-sent events).
 */

/** What the head of the answer says of it. */
export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Some proxies hold an answer back until it is long.
  'x-accel-buffering': 'no',
};

/** Who loses the line comes back after two seconds. */
export const COME_BACK = 'retry: 2000\n';

/** Says nothing, so that proxies and dead lines are found out. */
export const STILL_HERE = ': still here\n\n';

/** How a campaign stands. Without an id: the last one stays that of the last event. */
export function standingOf(statusJson: string): string {
  return `event: campaign.status\ndata: ${statusJson}\n\n`;
}

/** What is told to a follower, with the id from which whoever comes back goes on. */
export function toldOf(item: FeedItem): string {
  switch (item.kind) {
    case 'start':
      // An id without data is no event, and is kept as the last one all the same (HTML, Server-sent events).
      return `id: ${item.id}\n\n`;
    case 'gap':
      return `event: gap\ndata: ${JSON.stringify({ after: item.id })}\n\n`;
    case 'event': {
      const { id, at: time, event } = item;
      const { type } = event;
      return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ type, time, ...shown(event) })}\n\n`;
    }
    default:
      return item satisfies never;
  }
}

/** The fields of an event, its times as all times here are. */
function shown({ type, ...values }: BroadcastEvent): Record<string, unknown> {
  // A process of a later version may tell of what this one does not know.
  const known: Readonly<Record<string, { readonly fields: FieldTable } | undefined>> = CATALOGUE;
  const fields = known[type]?.fields ?? {};
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      fields[name]?.kind === 'time' && typeof value === 'number' ? new Date(value).toISOString() : value,
    ]),
  );
}
