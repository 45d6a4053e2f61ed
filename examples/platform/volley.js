// The part of Volley's HTTP API that a platform needs.
import { setTimeout as delay } from 'node:timers/promises';

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

    /**
     * A page of the recipients that have become settled or unknown since the page with this cursor. If the cursor is too old, it
     * begins again with the oldest results.
     */
    results: (cursor) =>
      withRetries(async () => {
        const after = cursor === undefined ? '' : `&after=${encodeURIComponent(cursor)}`;
        try {
          return await (await send(`/v1/results?limit=1000${after}`)).json();
        } catch (error) {
          if (error.problem?.code !== 'gone') throw error;
          cursor = undefined;
          return (await send('/v1/results?limit=1000')).json();
        }
      }),
  };
}
