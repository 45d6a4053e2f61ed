import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Arrival } from './arrivals.js';
import type { LedgerEntry } from './ledger.js';
import type { SimulatorOptions } from './options.js';
import type { Summary } from './summary.js';
import { carryOut, failure, type Incoming, json } from './wire.js';

/** What can be asked of and told to a simulator, by a test beside it or over HTTP. */
export interface Controls {
  entries(): Iterable<LedgerEntry>;
  arrivals(): Iterable<Arrival>;
  summary(): Summary;
  configure(change: SimulatorOptions): void;
  clear(): void;
}

/** Lines of NDJSON that are written in one piece. */
const LINES_AT_ONCE = 500;

/**
 * Serves the paths below `/_simulator/`, which are no part of the interface page:
 * `GET ledger` and `GET arrivals` (NDJSON, oldest first), `GET summary`, `POST configure` (a part of the options),
 * `DELETE ledger` (forgets what was accepted, the arrivals, and which magic recipients have struck).
 */
export function control(
  { method, path, body }: Incoming,
  response: ServerResponse,
  controls: Controls,
): void {
  switch (`${method} ${path}`) {
    case 'GET /_simulator/ledger':
      stream(controls.entries(), response);
      break;
    case 'GET /_simulator/arrivals':
      stream(controls.arrivals(), response);
      break;
    case 'GET /_simulator/summary':
      carryOut(json(200, controls.summary()), response);
      break;
    case 'DELETE /_simulator/ledger':
      controls.clear();
      carryOut({ kind: 'reply', status: 204, headers: [], body: '' }, response);
      break;
    case 'POST /_simulator/configure':
      configure(body, response, controls);
      break;
    default:
      carryOut(failure(404, 'there are ledger, arrivals, summary and configure'), response);
  }
}

function configure(body: string, response: ServerResponse, controls: Controls): void {
  try {
    controls.configure(JSON.parse(body));
    carryOut(json(200, {}), response);
  } catch (error) {
    carryOut(failure(400, error instanceof Error ? error.message : String(error)), response);
  }
}

function stream(entries: Iterable<object>, response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
  Readable.from(lines(entries)).pipe(response);
}

function* lines(entries: Iterable<object>): Generator<string> {
  let piece = '';
  let count = 0;
  for (const entry of entries) {
    piece += `${JSON.stringify(entry)}\n`;
    count += 1;
    if (count % LINES_AT_ONCE !== 0) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}
