/**
 * Loaded with `--import` into the simulator: tells the bench, as it happens, how far each contestant is, so that it knows
 * when to kill and when all is done. No figure comes from here: those are read from the simulator's own books at the end.
 */
import diagnostics from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { WORKER_HEADER } from './meter.js';
import { isFinal } from './service.js';

/** An answer that the service has just given. */
export interface Sighting {
  /** The API key, which is the contestant's name. */
  readonly key: string;
  readonly worker: number;
  readonly what: 'accepted' | 'final' | 'other';
  /** Sends of this worker that have come and are not answered. */
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
    const what = isSend ? (response.statusCode === 201 ? 'accepted' : 'other') : toldBy(response, body);
    process.send?.({ key, worker, what, sending: left } satisfies Sighting);
    return end(body);
  };
});

// The bench is gone, however that came about.
process.on('disconnect', () => process.exit());

function toldBy({ statusCode }: ServerResponse, body: unknown): Sighting['what'] {
  return statusCode === 200 && isFinal(String(body)) ? 'final' : 'other';
}
