// What a platform needs of Volley's HTTP API, and no more.
import { setTimeout as delay } from 'node:timers/promises';
import { EventSourceParserStream } from 'eventsource-parser/stream';

/** An answer that says no: `problem` is its body, `application/problem+json`. */
export class Refused extends Error {
  constructor(problem) {
    super(`${problem.title}: ${problem.detail}`);
    this.problem = problem;
  }
}

export function connectVolley(origin, key) {
  async function ask(path, { headers, ...request } = {}) {
    const response = await fetch(new URL(path, origin), {
      ...request,
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
    if (!response.ok) throw new Refused(await response.json());
    return response;
  }

  /** What may pass is tried again: no connection, an answer 5xx, too many requests at a time. */
  async function untilAnswered(run) {
    for (let wait = 500; ; wait = Math.min(wait * 2, 30_000)) {
      try {
        return await run();
      } catch (error) {
        if (error instanceof Refused && error.problem.status < 500 && error.problem.status !== 429)
          throw error;
        console.error(`again in ${wait} ms: ${error.message}`);
        await delay(wait);
      }
    }
  }

  return {
    /** Repeating it is safe: the same key makes no second campaign while the first is kept. */
    createCampaign: (campaign, idempotencyKey) =>
      untilAnswered(async () => {
        const response = await ask('/v1/campaigns', {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
          body: JSON.stringify(campaign),
        });
        return response.json();
      }),

    campaign: (id) => untilAnswered(async () => (await ask(`/v1/campaigns/${id}`)).json()),

    /** Every recipient, in the order of the list. */
    async *report(id) {
      const response = await untilAnswered(() => ask(`/v1/campaigns/${id}/report?format=ndjson`));
      let rest = '';
      for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + text).split('\n');
        rest = lines.pop();
        for (const line of lines) yield JSON.parse(line);
      }
    },

    /**
     * What happens to campaigns and lanes, from after the event `lastId` on; for ever. A connection that breaks is made
     * again where it broke off, so nothing is missed and nothing comes twice. `gap`: some events are not kept any more.
     */
    async *events(lastId) {
      for (;;) {
        const response = await untilAnswered(() =>
          ask('/v1/events', { headers: { 'last-event-id': lastId } }),
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
          console.error(`the events broke off: ${error.message}`);
        }
        await delay(500);
      }
    },
  };
}
