/**
 * Preloaded into the simulator with `--import`: reports the progress of each contestant, so that the bench knows when to kill
 * a worker and when all are done. The figures do not come from here but from the simulator's logs.
 */
import diagnostics from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { WORKER_HEADER } from './meter.js';
import { isFinal } from './service.js';

/** A response that the simulator has just sent. */
export interface Sighting {
  /** The API key, which is the contestant's name. */
  readonly key: string;
  readonly worker: number;
  readonly what: 'accepted' | 'final' | 'other';
  /** Sends of this worker that have arrived but are not answered yet. */
  readonly sending: number;
}

const sending = new Map<string, number>();
const add = (whose: string, change: number): number => {
  const now = (sending.get(whose) ?? 0) + change;
  sending.set(whose, now);
  return now;
};

diagnostics.subscribe('http.server.request.start', (message) => {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
  const [, key] = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '') ?? [];
  const worker = Number(request.headers[WORKER_HEADER]);
  if (key === undefined || Number.isNaN(worker)) return;
  const isSend = request.method === 'POST';
  const whose = `${key} ${worker}`;
  if (isSend) add(whose, 1);
  let isOpen = true;
  const close = (): number => {
    const change = isSend && isOpen ? -1 : 0;
    isOpen = false;
    return add(whose, change);
  };
  response.once('close', close);

  const end = response.end.bind(response);
  response.end = (body: unknown): ServerResponse => {
    const left = close();
    const what = isSend ? (response.statusCode === 201 ? 'accepted' : 'other') : resultOf(response, body);
    process.send?.({ key, worker, what, sending: left } satisfies Sighting);
    return end(body);
  };
});

// The bench process has ended.
process.on('disconnect', () => process.exit());

function resultOf({ statusCode }: ServerResponse, body: unknown): Sighting['what'] {
  return statusCode === 200 && isFinal(String(body)) ? 'final' : 'other';
}
