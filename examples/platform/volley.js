// The part of Volley's HTTP API that a platform needs.
import { setTimeout as delay } from 'node:timers/promises';
import { EventSourceParserStream } from 'eventsource-parser/stream';

/** An error response; `problem` is its body (`application/problem+json`). */
export class ProblemError extends Error {
  constructor(problem) {
    super(`${problem.title}: ${problem.detail}`);
    this.problem = problem;
  }
}

export function connectVolley(origin, key) {
  async function send(path, { headers, ...request } = {}) {
    const response = await fetch(new URL(path, origin), {
      ...request,
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
    if (!response.ok) throw new ProblemError(await response.json());
    return response;
  }

  /** Retries temporary failures: no connection, a 5xx status, or too many requests. */
  async function withRetries(run) {
    for (let wait = 500; ; wait = Math.min(wait * 2, 30_000)) {
      try {
        return await run();
      } catch (error) {
        const status = error instanceof ProblemError ? error.problem.status : 500;
        if (status < 500 && status !== 429) throw error;
        console.error(`retrying in ${wait} ms: ${error.message}`);
        await delay(wait);
      }
    }
  }

  return {
    /** Safe to repeat: the same idempotency key creates no second campaign. */
    createCampaign: (campaign, idempotencyKey) =>
      withRetries(async () => {
        const response = await send('/v1/campaigns', {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
          body: JSON.stringify(campaign),
        });
        return response.json();
      }),

    campaign: (id) => withRetries(async () => (await send(`/v1/campaigns/${id}`)).json()),

    /** Every recipient, in the order of the list. */
    async *report(id) {
      const response = await withRetries(() => send(`/v1/campaigns/${id}/report?format=ndjson`));
      let incomplete = '';
      for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
        const lines = (incomplete + text).split('\n');
        incomplete = lines.pop();
        for (const line of lines) yield JSON.parse(line);
      }
    },

    /**
     * The events of all campaigns and lanes after the event `lastId`, without end. When the connection breaks, it resumes
     * after the last event, so you receive each event once. A `gap` means that older events are no longer stored.
     */
    async *events(lastId) {
      for (;;) {
        const response = await withRetries(() =>
          send('/v1/events', { headers: { 'last-event-id': lastId } }),
        );
        try {
          const events = response.body
            .pipeThrough(new TextDecoderStream())
            .pipeThrough(new EventSourceParserStream());
          for await (const { id, event, data } of events) {
            lastId = id ?? lastId;
            yield { ...JSON.parse(data), id: lastId, type: event };
          }
        } catch (error) {
          console.error(`the event stream broke: ${error.message}`);
        }
        await delay(500);
      }
    },
  };
}
