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
  /** Retries temporary failures: no connection, a 5xx status, or too many requests. All requests here are safe to repeat. */
  async function send(method, path, body) {
    for (let wait = 500; ; wait = Math.min(wait * 2, 30_000)) {
      try {
        const response = await fetch(new URL(path, origin), {
          method,
          headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
          body: body && JSON.stringify(body),
        });
        const answer = await response.json();
        if (!response.ok) throw new ProblemError(answer);
        return answer;
      } catch (error) {
        const status = error instanceof ProblemError ? error.problem.status : 500;
        if (status < 500 && status !== 429) throw error;
        console.error(`retrying in ${wait} ms: ${error.message}`);
        await delay(wait);
      }
    }
  }

  const messagePath = (outbox, id) => `/v1/outboxes/${outbox}/messages/${encodeURIComponent(id)}`;

  return {
    createOutbox: (outbox) => send('POST', '/v1/outboxes', outbox),

    /** Stores the message with this id, or changes it: `created`, `updated`, `unchanged`, `stale`, or too late: `sent`, `ended`. */
    put: (outbox, id, message) =>
      send('PUT', messagePath(outbox, id), message).then(
        ({ outcome }) => outcome,
        (error) => tooLate(error),
      ),

    /** Cancels the message with this id: `cancelled`, or too late: `sent`. */
    cancel: (outbox, id, version) =>
      send('DELETE', `${messagePath(outbox, id)}?version=${version}`).then(
        ({ outcome }) => outcome,
        (error) => tooLate(error),
      ),

    /**
     * A page of the messages that have become settled or unknown since the page with this cursor. If the cursor is too old, it
     * begins again with the oldest results.
     */
    async results(cursor) {
      const after = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      try {
        return await send('GET', `/v1/results?limit=1000${after}`);
      } catch (error) {
        if (error.problem?.code !== 'gone') throw error;
        return send('GET', '/v1/results?limit=1000');
      }
    },
  };
}

function tooLate(error) {
  if (error.problem?.status !== 409) throw error;
  return error.problem.code;
}
