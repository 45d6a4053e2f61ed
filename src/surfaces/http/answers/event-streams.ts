import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Volley } from '../../../app/volley.js';
import { NotFoundError } from '../../../campaign/errors/errors.js';
import type { Followed } from '../../../operations/operation.js';
import type { FeedItem } from '../../../reporting/event-feed.js';
import type { LiveText } from '../../../reporting/live/item.js';
import { apiKeyOf, keyTextOf } from '../access/access.js';
import { type HttpOptions, stallTimeoutOf } from '../route.js';
import { onClose } from '../server/connections.js';
import { Problem } from '../server/problem.js';
import { createSharedPoll } from '../server/shared-poll.js';
import { sendHead } from './body-stream.js';
import { HEARTBEAT, itemText, liveText, RETRY_AFTER, STREAM_HEADERS, statusText } from './sse.js';

const MAX_STREAMS = 5_000;
/** A stream that cannot start within this time is refused: Redis does not respond. */
const START_WITHIN_MS = 3_000;
/** How long the client may take to read the end of a stream. It can resume after any event. */
const END_WITHIN_MS = 2_000;
/** As `Last-Event-ID`: starts with all stored events. */
const ALL_STORED = '0-0';
const HEARTBEAT_EVERY_MS = 15_000;

/**
 * The event streams of one process. All of them share one connection to Redis. The status of a campaign and the validity of a key are read once a second,
 * however many streams depend on them.
 */
export function openEventStreams(options: HttpOptions) {
  const { volley } = options;
  const stallTimeoutMs = stallTimeoutOf(options);
  const slots = streamSlots(options.maxStreams ?? MAX_STREAMS);
  const statuses = createSharedPoll((id) => statusJson(options, id));
  const activeKeys = createSharedPoll((key) => volley.keys.isActive(key));
  return {
    /**
     * Sends the events that a feed has until either side closes the stream. Throws a Problem, `unavailable`, if there are too many streams or Redis does not respond.
     */
    async send(
      request: FastifyRequest,
      reply: FastifyReply,
      { includes, statusOf, live }: Followed,
    ): Promise<FastifyReply | undefined> {
      if (request.method === 'HEAD') return sendHead(reply.headers(STREAM_HEADERS));
      const { id: key } = apiKeyOf(request);
      const controller = new AbortController();
      const { signal } = controller;
      const release = slots.take(key, controller);
      const { raw } = reply;
      raw.on('error', () => controller.abort());
      onClose(request, reply, () => controller.abort());
      const last = String(request.headers['last-event-id'] ?? '') || undefined;
      const after = await positionAfter(volley, last).catch((error: unknown) => {
        release();
        throw error;
      });
      const items = volley.follow({ after, signal })[Symbol.asyncIterator]();
      const textOf = async (item: FeedItem): Promise<string> =>
        itemText(item, await volley.positions.conceal('events', item.id));
      // The first item fixes where the stream starts, so it contains every event that happens after the response begins.
      const begin = async (): Promise<string | null> => {
        const { value, done } = await items.next();
        if (done === true) return null;
        // An id that means nothing any more, because Redis lost its data: what happened since then is not known.
        const isLost = last !== undefined && after === undefined;
        return (await textOf(value)) + (isLost ? await textOf({ kind: 'gap', id: value.id }) : '');
      };
      const timer = setTimeout(() => controller.abort(), START_WITHIN_MS);
      const start = await begin().catch(() => null);
      clearTimeout(timer);
      if (start === null) {
        release();
        throw new Problem('unavailable', 'Redis does not respond. Retry in a moment.');
      }
      reply.hijack();
      raw.writeHead(200, {
        ...(reply.getHeaders() as Record<string, string>),
        ...STREAM_HEADERS,
        // The stream ends with the connection.
        connection: 'close',
      });
      raw.write(RETRY_AFTER + start);
      const unsubscribe = [
        activeKeys.subscribe(keyTextOf(request), keepAlive(raw, controller, stallTimeoutMs)),
        ...(statusOf === undefined ? [] : [statuses.subscribe(statusOf, writeStatus(raw, controller))]),
        ...(live === undefined ? [] : [volley.watchLive(live, writeLive(raw))]),
      ];
      try {
        for await (const item of { [Symbol.asyncIterator]: () => items }) {
          if (item.kind === 'event' && !includes(item.event)) continue;
          if (!raw.write(await textOf(item))) await once(raw, 'drain', { signal });
        }
      } catch {
        // The connection broke or Redis failed. The client resumes after the last event it received.
      } finally {
        for (const end of unsubscribe) end();
        release();
        raw.end();
        setTimeout(() => raw.destroy(), END_WITHIN_MS).unref();
      }
      return undefined;
    },

    /** Ends all streams and refuses new ones. */
    close(): void {
      slots.close();
      statuses.close();
      activeKeys.close();
    },
  };
}

/** The position of a stream that continues after the id `last`; undefined if it begins now. */
async function positionAfter({ positions }: Volley, last: string | undefined): Promise<string | undefined> {
  if (last === undefined || last === ALL_STORED) return last;
  return (await positions.reveal('events', last)) ?? undefined;
}

/** The status as JSON, serialised once for all streams; null if the campaign no longer exists. */
async function statusJson({ volley }: HttpOptions, id: string): Promise<string | null> {
  try {
    return JSON.stringify(await volley.status(id));
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

/**
 * Limits the streams of the process. One key gets at most half of the slots that the other keys leave, so that every key
 * finds some.
 */
function streamSlots(max: number) {
  const open = new Map<AbortController, string>();
  let isClosing = false;
  return {
    /** Takes a slot until the returned function is called; throws a Problem if there is none. */
    take(key: string, controller: AbortController): () => void {
      // Such a stream was admitted before the app began to close, and `close` would not end it.
      if (isClosing) throw new Problem('unavailable', 'This process is shutting down. Retry.');
      const ofKey = [...open.values()].filter((other) => other === key).length;
      if (ofKey >= max - open.size) {
        throw new Problem(
          'unavailable',
          `This process has ${open.size} event streams, ${ofKey} of them with this key. Retry later or on another process.`,
        );
      }
      open.set(controller, key);
      return () => void open.delete(controller);
    },
    close(): void {
      isClosing = true;
      for (const controller of open.keys()) controller.abort();
    },
  };
}

/**
 * Ends the stream if its key is revoked, disconnects a client that reads nothing for `stallTimeoutMs`, and writes a
 * heartbeat to an otherwise silent stream. The returned function is called about once a second, and whenever another stream
 * with the same key begins.
 */
function keepAlive(
  raw: ServerResponse,
  controller: AbortController,
  stallTimeoutMs: number,
): (isActive: boolean) => void {
  let heartbeatAt = performance.now();
  let readyAt = heartbeatAt;
  return (isActive) => {
    const now = performance.now();
    if (!raw.writableNeedDrain) readyAt = now;
    const isStalled = now - readyAt > stallTimeoutMs;
    if (isStalled) raw.destroy();
    if (isStalled || !isActive) controller.abort();
    else if (now - heartbeatAt >= HEARTBEAT_EVERY_MS && readyAt === now) {
      heartbeatAt = now;
      raw.write(HEARTBEAT);
    }
  };
}

/** Writes each new status; a slow client skips to the newest. The stream ends if the campaign no longer exists (null). */
function writeStatus(raw: ServerResponse, controller: AbortController): (json: string | null) => void {
  let written = '';
  return (json) => {
    if (json === null) controller.abort();
    else if (json !== written && !raw.writableNeedDrain) {
      written = json;
      raw.write(statusText(json));
    }
  };
}

/** Writes each tick, and what has changed since the last one that the client received; a slow client skips to the newest. */
function writeLive(raw: ServerResponse): (items: readonly LiveText[]) => void {
  const written = new Map<string, string>();
  return (items) => {
    if (raw.writableNeedDrain) return;
    const changed = items.filter(({ type, key, json }) => type === 'tick' || written.get(key) !== json);
    for (const { key, json } of changed) written.set(key, json);
    raw.write(changed.map(liveText).join(''));
  };
}
