import { createHash, timingSafeEqual } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { type InboundText, inboundSchema } from './messages/inbound.js';
import type { RecordsEntry } from './records.js';
import type { SimulatorOptions } from './rules/options.js';
import type { Activity } from './state/activity.js';
import type { Arrival } from './state/arrivals.js';
import type { LedgerEntry } from './state/ledger.js';
import type { Summary } from './summary.js';
import { empty, failure, type Incoming, json, sendAnswer } from './wire/wire.js';

/** The operations of a simulator for tests, in the same process or over HTTP. */
export interface Controls {
  /** The accepted requests, oldest first. */
  entries(): Iterable<LedgerEntry>;
  /** Every messaging request, oldest first. */
  arrivals(): Iterable<Arrival>;
  /** The activity log of an account, or of all; undefined for an unknown account. */
  activity(account?: string): readonly Activity[] | undefined;
  summary(): Summary;
  /** Every accepted request for call records, oldest first. */
  records(): Iterable<RecordsEntry>;
  /** The most requests for call records of one credential that were in flight at the same time. */
  recordsInFlight(): number;
  /**
   * Sends a message of a person to the inbound subscription of a key, by default to all of them. Returns how many there are. The service
   * repeats it until it gets a success.
   */
  inbound(message: InboundText, key?: string): number;
  /**
   * Changes options at run time: tables of faults and other objects are merged; everything else (keys, accounts, …) is
   * replaced. A change of `accounts` unblocks all accounts. Throws a `SimulatorOptionsError` without any change if the
   * options are invalid.
   */
  configure(change: SimulatorOptions): void;
  /** Clears the ledger, the arrivals, the activity logs, and the list of used magic recipients. Quotas keep their counts. */
  clear(): void;
}

/** Lines of NDJSON per write. */
const LINES_PER_CHUNK = 500;

/**
 * Serves the paths below `/_simulator/`, which are not part of the interface:
 * `GET ledger` and `GET arrivals` (NDJSON, oldest first), `GET activity?account=` (the activity log of an account, or of all),
 * `GET records` (call records, with the header `Max-In-Flight`), `GET summary`, `POST configure` (a part of the options),
 * `POST inbound` (a message of a person: `from`, `to`, `text` or its parts, and maybe `messageId` and the `key` whose subscription gets it),
 * `DELETE ledger` (clears the ledger, the arrivals, the activity logs, the call records, and the list of magic recipients that have
 * already been used).
 * With a `token`, every request needs it, except `GET identity`, by which clients see that this is a simulator: anyone who reaches it could
 * otherwise read all texts and numbers.
 */
export function control(
  { method, path, query, headers, body }: Incoming,
  response: ServerResponse,
  controls: Controls,
  token: string | undefined,
): void {
  if (headers.origin !== undefined) {
    sendAnswer(failure(403, 'web pages may not use the control interface'), response);
    return;
  }
  if (`${method} ${path}` === 'GET /_simulator/identity') {
    sendAnswer(json(200, { simulator: true }), response);
    return;
  }
  if (token !== undefined && !isBearer(headers.authorization ?? '', token)) {
    sendAnswer(failure(401, 'send the control token, which the simulator printed at its start'), response);
    return;
  }
  switch (`${method} ${path}`) {
    case 'GET /_simulator/ledger':
      stream(controls.entries(), response);
      break;
    case 'GET /_simulator/arrivals':
      stream(controls.arrivals(), response);
      break;
    case 'GET /_simulator/activity': {
      const account = new URLSearchParams(query).get('account') ?? undefined;
      const activity = controls.activity(account);
      if (activity === undefined) sendAnswer(failure(404, `there is no account ${account}`), response);
      else stream(activity, response);
      break;
    }
    case 'GET /_simulator/records':
      response.setHeader('Max-In-Flight', controls.recordsInFlight());
      stream(controls.records(), response);
      break;
    case 'GET /_simulator/summary':
      sendAnswer(json(200, controls.summary()), response);
      break;
    case 'DELETE /_simulator/ledger':
      controls.clear();
      sendAnswer(empty(204), response);
      break;
    case 'POST /_simulator/configure':
      change(body, response, (given) => {
        controls.configure(given as SimulatorOptions);
        return {};
      });
      break;
    case 'POST /_simulator/inbound':
      change(body, response, (given) => {
        const { key, ...message } = inboundSchema.extend({ key: z.string().optional() }).parse(given);
        return { subscriptions: controls.inbound(message, key) };
      });
      break;
    default:
      sendAnswer(
        failure(404, 'use ledger, arrivals, activity, records, summary, configure, or inbound'),
        response,
      );
  }
}

function isBearer(header: string, token: string): boolean {
  const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digestOf(header), digestOf(`Bearer ${token}`));
}

function change(body: string, response: ServerResponse, apply: (given: unknown) => object): void {
  try {
    sendAnswer(json(200, apply(JSON.parse(body))), response);
  } catch (error) {
    sendAnswer(failure(400, error instanceof Error ? error.message : String(error)), response);
  }
}

function stream(entries: Iterable<object>, response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
  Readable.from(lines(entries)).pipe(response);
}

function* lines(entries: Iterable<object>): Generator<string> {
  let chunk = '';
  let count = 0;
  for (const entry of entries) {
    chunk += `${JSON.stringify(entry)}\n`;
    count += 1;
    if (count % LINES_PER_CHUNK !== 0) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}
