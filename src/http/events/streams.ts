import { once } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { NotFoundError } from '../../campaign/errors.js';
import type { BroadcastEvent } from '../../reporting/event-feed.js';
import { keyOf } from '../access.js';
import { answerHead } from '../body-stream.js';
import { onceOver } from '../on-close.js';
import { Problem } from '../problem.js';
import type { HttpOptions } from '../routes.js';
import { everySecond } from './every-second.js';
import { keepAlive, showStanding } from './sse-connection.js';
import { streamPlaces } from './stream-limits.js';
import { COME_BACK, STREAM_HEADERS, toldOf } from './text.js';

/** What is left to be taken in when a stream ends is waited for as long; it can be resumed. */
const LAST_WORDS_MS = 2_000;
const MOST_STREAMS = 5_000;
const ANSWERED_WITHIN_MS = 3_000;

/** The streams of events of one process. */
export interface EventStreams {
  /**
   * Answers with the events that are wanted, and with how the campaign stands, if one is given, until either side ends it.
   * Throws a Problem, `unavailable`, when there is no place, or Redis says nothing within three seconds.
   */
  answer(
    request: FastifyRequest,
    reply: FastifyReply,
    isWanted: (event: BroadcastEvent) => boolean,
    campaign?: string,
  ): Promise<FastifyReply | undefined>;
  /** Ends all of them, and begins no other. */
  close(): void;
}

/**
 * Begins with none. One connection to Redis serves all who follow; how a campaign stands, and whether a key does, is asked
 * once a second, however many watch it.
 */
export function eventStreams(options: HttpOptions): EventStreams {
  const { volley, patienceMs, mostStreams = MOST_STREAMS } = options;
  const places = streamPlaces(mostStreams);
  const standings = everySecond((id) => standing(options, id));
  const standingKeys = everySecond((id) => volley.keys.isActive(id));
  return {
    async answer(request, reply, isWanted, campaign) {
      if (request.method === 'HEAD') return answerHead(reply.headers(STREAM_HEADERS));
      const { id: key } = keyOf(request);
      const over = new AbortController();
      const leave = places.take(key, over);
      const { signal } = over;
      const { raw } = reply;
      raw.on('error', () => over.abort());
      onceOver(request, reply, () => over.abort());
      const after = String(request.headers['last-event-id'] ?? '') || undefined;
      const items = volley.follow({ after, signal })[Symbol.asyncIterator]();
      // From where on he hears is settled before he is answered: whatever he does then is told to him.
      const late = setTimeout(() => over.abort(), ANSWERED_WITHIN_MS);
      const start = await items.next().catch(() => null);
      clearTimeout(late);
      if (start === null || start.done === true) {
        leave();
        throw new Problem('unavailable', 'Redis does not answer; ask again');
      }
      reply.hijack();
      raw.writeHead(200, {
        ...(reply.getHeaders() as Record<string, string>),
        ...STREAM_HEADERS,
        // It ends only when one of both wants no more of the other.
        connection: 'close',
      });
      raw.write(`${COME_BACK}${toldOf(start.value)}`);
      const ends = [
        standingKeys.follow(key, keepAlive(raw, over, patienceMs)),
        ...(campaign === undefined ? [] : [standings.follow(campaign, showStanding(raw, over))]),
      ];
      try {
        for await (const item of { [Symbol.asyncIterator]: () => items }) {
          if (item.kind === 'event' && !isWanted(item.event)) continue;
          if (!raw.write(toldOf(item))) await once(raw, 'drain', { signal });
        }
      } catch {
        // The line broke, or Redis did: who comes back with the id of the last event misses nothing.
      } finally {
        for (const end of ends) end();
        leave();
        raw.end();
        setTimeout(() => raw.destroy(), LAST_WORDS_MS).unref();
      }
      return undefined;
    },

    close() {
      places.close();
      standings.close();
      standingKeys.close();
    },
  };
}

/** The status as JSON, made once for all who watch; null when the campaign is not there any more. */
async function standing({ volley }: HttpOptions, id: string): Promise<string | null> {
  try {
    return JSON.stringify(await volley.status(id));
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}
