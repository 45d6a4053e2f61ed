import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { NotFoundError } from '../campaign/errors.js';
import { CATALOGUE, type FieldTable } from '../events/catalogue.js';
import { FED, type FedEvent, type FeedItem } from '../pipeline/event-feed.js';
import { keyOf, maySee, mustSee } from './access.js';
import { refused } from './answers.js';
import { countAtOnce } from './at-once.js';
import { campaignId, mustSeeCampaign } from './campaign-id.js';
import { everySecond } from './every-second.js';
import { onceOver } from './over.js';
import { answerHead } from './pieces.js';
import { Problem } from './problem.js';
import type { HttpOptions, Routes } from './routes.js';

/** A line that says nothing, so that proxies and dead lines are found out. */
const SAY_SOMETHING_EVERY_MS = 15_000;
/** What is left to be taken in when a stream ends is waited for as long; it can be resumed. */
const LAST_WORDS_MS = 2_000;
const MOST_STREAMS = 5_000;
const ANSWERED_WITHIN_MS = 3_000;

const STREAMED = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Some proxies hold an answer back until it is long.
  'x-accel-buffering': 'no',
};

const stream = {
  200: {
    description: 'Server-sent events, without end',
    content: { 'text/event-stream': { schema: z.string() } },
  },
  ...refused('unavailable'),
};

const resume = z.looseObject({
  'last-event-id': z
    .string()
    .regex(
      /^(\d{1,15}-\d{1,10})?$/,
      'must be the id of an event, such as 1795300343076-0, or 0-0 for all that is kept',
    )
    .optional()
    .describe('The `id` of the event that came last: those that came after it are told first'),
});

/**
 * Live events (server-sent events). One connection to Redis serves all who follow; how a campaign stands is asked once
 * a second, however many watch it.
 */
export const live: Routes = (app, options) => {
  const { volley, config, patienceMs, mostStreams = MOST_STREAMS } = options;
  let isClosing = false;
  const watchers = new Set<AbortController>();
  const streams = countAtOnce();
  const standings = everySecond((id) => standing(options, id));
  const standingKeys = everySecond((id) => volley.keys.stands(id));
  app.addHook('preClose', async () => {
    isClosing = true;
    for (const watcher of watchers) watcher.abort();
    standings.close();
    standingKeys.close();
  });

  app.get(
    '/events',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'followEvents',
        summary: 'Follow what happens',
        description: `Server-sent events: what happens to campaigns and lanes that the key may see, each with its \`id\`. \`Last-Event-ID\` resumes after one; \`gap\` says that some are not kept any more. There are ${FED.map((type) => `\`${type}\``).join(', ')}.`,
        tags: ['Events'],
        headers: resume,
        querystring: z.strictObject({
          lane: z.string().min(1).max(100).optional().describe('Only of this lane'),
        }),
        response: { ...stream, ...refused('notFound') },
      },
    },
    async (request, reply) => {
      const { lane } = request.query;
      const key = keyOf(request);
      if (lane !== undefined) mustSee(key, lane);
      if (lane !== undefined && !config.lanes.some(({ name }) => name === lane)) {
        throw new Problem('notFound', `there is no lane ${lane}`);
      }
      return serve(
        request,
        reply,
        (event) => maySee(key, event.lane) && (lane === undefined || event.lane === lane),
      );
    },
  );

  app.get(
    '/campaigns/:id/events',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'followCampaign',
        summary: 'Follow a campaign',
        description:
          'Server-sent events: what happens to it, and `campaign.status`, its status, at first and whenever it has changed, at most once a second. It does not end with the campaign: close it when `endedAt` is set.',
        tags: ['Events'],
        params: campaignId,
        headers: resume,
        response: { ...stream, ...refused('notFound') },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      await mustSeeCampaign(volley, request, id);
      return serve(request, reply, (event) => 'campaign' in event && event.campaign === id, id);
    },
  );

  /** Answers with the events that are wanted, and with how the campaign stands, until either side ends it. */
  async function serve(
    request: FastifyRequest,
    reply: FastifyReply,
    isWanted: (event: Extract<FeedItem, { kind: 'event' }>['event']) => boolean,
    campaign?: string,
  ): Promise<FastifyReply | undefined> {
    if (request.method === 'HEAD') return answerHead(reply.headers(STREAMED));
    // It was let in before; nobody would end it any more.
    if (isClosing) throw new Problem('unavailable', 'this process is ending; ask again');
    const { id: key } = keyOf(request);
    // Half of what is left, so that there is some for every other key.
    if (streams.of(key) >= mostStreams - watchers.size) {
      throw new Problem(
        'unavailable',
        `there are ${watchers.size} streams, ${streams.of(key)} of this key; ask another process, or later`,
      );
    }
    const after = String(request.headers['last-event-id'] ?? '') || undefined;
    const over = new AbortController();
    const { signal } = over;
    const { raw } = reply;
    raw.on('error', () => over.abort());
    onceOver(request, reply, () => over.abort());
    watchers.add(over);
    const endOfOne = streams.begin(key);
    const leave = (): void => {
      watchers.delete(over);
      endOfOne();
    };
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
      ...STREAMED,
      // It ends only when one of both wants no more of the other.
      connection: 'close',
    });
    raw.write(`retry: 2000\n${wordsOf(start.value)}`);
    const ends = [
      standingKeys.follow(key, keepAlive(raw, over, patienceMs)),
      ...(campaign === undefined ? [] : [standings.follow(campaign, showStanding(raw, over))]),
    ];
    try {
      for await (const item of { [Symbol.asyncIterator]: () => items }) {
        if (item.kind === 'event' && !isWanted(item.event)) continue;
        if (!raw.write(wordsOf(item))) await once(raw, 'drain', { signal });
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
  }
};

/** Sees to it that a line is used now and then, that a key which was revoked ends it, and that nobody blocks it. */
function keepAlive(
  raw: ServerResponse,
  over: AbortController,
  patienceMs = Number.POSITIVE_INFINITY,
): (stands: boolean) => void {
  let saidAt = performance.now();
  let fullSince = saidAt;
  // It is called at every tick, and whenever somebody else comes with the key.
  return (stands) => {
    const now = performance.now();
    if (!raw.writableNeedDrain) fullSince = now;
    const isStuck = now - fullSince > patienceMs;
    if (isStuck) raw.destroy();
    if (isStuck || !stands) over.abort();
    else if (now - saidAt >= SAY_SOMETHING_EVERY_MS && fullSince === now) {
      saidAt = now;
      raw.write(': still here\n\n');
    }
  };
}

/** Shows how a campaign stands when that has changed. Who is slow gets the newest when he is ready. */
function showStanding(raw: ServerResponse, over: AbortController): (json: string | null) => void {
  let shown = '';
  return (json) => {
    if (json === null) over.abort();
    else if (json !== shown && !raw.writableNeedDrain) {
      shown = json;
      // Without an id: the last one stays that of the last event.
      raw.write(`event: campaign.status\ndata: ${json}\n\n`);
    }
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

function wordsOf(item: FeedItem): string {
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
function shown({ type, ...values }: FedEvent): Record<string, unknown> {
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
