import type { Machine } from '../base/clock.js';
import { startStopwatch } from '../base/clock.js';
import { openDownload } from '../service/client/download.js';
import type { Transport } from '../service/client/got-transport.js';
import { onlyPublicAddresses, type Route } from '../service/client/public-addresses.js';
import { createTransport } from '../service/client/transport.js';
import {
  type NoAnswer,
  problemOf,
  type RequestOutcome,
  requestOutcome,
  type StatusOutcome,
  statusOutcome,
} from './answers.js';
import type { Contract, ContractPart } from './contract.js';
import { fillForm, fillHeaders, fillJson, fillPath, type Values } from './template.js';

/** A file that is being downloaded. */
export interface OpenFile {
  readonly kind: 'file';
  readonly contentType: string;
  /** Null if the service does not state it. */
  readonly length: number | null;
  /** Unchanged. Throws if the file does not arrive complete. */
  readonly body: AsyncIterable<Buffer>;
}

/** Until when a request may be sent. */
interface SendOptions {
  readonly signal?: AbortSignal | undefined;
  /** Nothing is written once this is true. */
  readonly isLate: () => boolean;
}

/** A request that is complete, but not sent. Call it once. */
type Prepared<Outcome> = (options: SendOptions) => Promise<Outcome>;

/** The requests of a contract. Preparing one throws an InputError if a value cannot be written; sending it never throws. */
export interface RecordsClient {
  request(values: Values, credentials: Values): Prepared<RequestOutcome>;
  status(values: Values, credentials: Values): Prepared<StatusOutcome>;
  /** `address`: from the response to the status request; null if the contract has a path. */
  download(values: Values, address: string | null, credentials: Values): Prepared<OpenFile | NoAnswer>;
  close(): void;
}

/** A media type as a header of a response may repeat it. */
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+( ?; ?[\w-]+=[\w.-]+)*$/;

/**
 * A client for the service of a contract. `origin` replaces that of the contract, for a simulator. Requests go only to the origin
 * of the contract and, without credentials, to its `downloadOrigins`.
 */
export function createRecordsClient(
  contract: Contract,
  {
    origin,
    machine,
    route,
  }: { readonly origin?: string | undefined; readonly machine: Machine; readonly route: Route },
): RecordsClient {
  const own = new URL(contract.baseUrl);
  const baseUrl = origin === undefined ? contract.baseUrl : origin + own.pathname.replace(/\/+$/, '');
  const simulator = origin === undefined ? [] : [new URL(origin).hostname.replace(/^\[|\]$/g, '')];
  const downloadOrigins = origin === undefined ? contract.downloadOrigins : [];
  const agents = onlyPublicAddresses([...contract.privateAddresses, ...simulator], route);
  const transports = new Map<string, Transport>();
  const transportFor = (name: 'request' | 'status'): Transport => {
    const known = transports.get(name);
    if (known !== undefined) return known;
    const made = createTransport({
      baseUrl,
      timeoutMs: contract.timeouts[name],
      clocks: machine,
      headers: { 'user-agent': 'volley', 'accept-encoding': 'identity' },
      maxBodyBytes: contract.maxBytes.response,
      agents,
    });
    transports.set(name, made);
    return made;
  };
  const prepared = (name: 'request' | 'status', values: Values, credentials: Values) => {
    const part = contract[name];
    const body = bodyOf(part, values);
    const path = fillPath(part.path, values);
    const headers = fillHeaders(part.headers, { ...values, ...credentials });
    return ({ signal, isLate }: SendOptions) => {
      const age = startStopwatch(machine);
      return transportFor(name).exchange({
        method: part.method,
        path,
        headers,
        ...(body !== undefined && { body }),
        signal,
        isLate: () => isLate() || age() > contract.timeouts[name],
      });
    };
  };
  const reading = (credentials: Values) => ({
    secrets: Object.values(credentials).map(String),
    now: machine.clock(),
  });

  return {
    request(values, credentials) {
      const send = prepared('request', values, credentials);
      return async (options) => requestOutcome(await send(options), contract, reading(credentials));
    },
    status(values, credentials) {
      const send = prepared('status', values, credentials);
      return async (options) => statusOutcome(await send(options), contract, reading(credentials));
    },
    download(values, address, credentials) {
      const { download, timeouts, maxBytes } = contract;
      const target =
        download.path === null
          ? addressOf(address, baseUrl, downloadOrigins)
          : baseUrl + fillPath(download.path, values);
      if (typeof target !== 'string') return async () => target;
      const isOwn = new URL(target).origin === new URL(baseUrl).origin;
      // The contract's headers belong to its own service; any of them may be a credential.
      const headers = isOwn ? fillHeaders(download.headers, { ...values, ...credentials }) : {};
      const body = bodyOf(download, values);
      return async (options) => {
        const exchange = await openDownload(
          { method: download.method, url: target, headers, body, ...options },
          { timeoutMs: timeouts.download, silenceMs: timeouts.silence, maxBytes: maxBytes.download, agents },
        );
        if (exchange.kind !== 'file') return problemOf(exchange, reading(credentials));
        const { length } = exchange;
        if (length !== null && length > maxBytes.download) {
          exchange.discard();
          return {
            kind: 'stopped',
            reason: `the file has ${length} bytes; the contract allows ${maxBytes.download}`,
          };
        }
        const type = exchange.headers['content-type'] ?? '';
        const contentType = MEDIA_TYPE.test(type) ? type : 'application/octet-stream';
        return { kind: 'file', contentType, length, body: exchange.body };
      };
    },
    close() {
      for (const transport of transports.values()) transport.close();
    },
  };
}

/** The absolute address of a download, or why it cannot be used. */
function addressOf(address: string | null, baseUrl: string, origins: readonly string[]): string | NoAnswer {
  if (address === null) {
    return {
      kind: 'later',
      reason: 'the response to the status request has no download address',
      retryAfterMs: null,
    };
  }
  const url = URL.canParse(address, `${baseUrl}/`) ? new URL(address, `${baseUrl}/`) : undefined;
  const allowed = [new URL(baseUrl).origin, ...origins];
  if (url === undefined || url.username !== '' || url.password !== '' || !allowed.includes(url.origin)) {
    const host = url === undefined ? 'an invalid address' : url.origin;
    return {
      kind: 'stopped',
      reason: `the download address leads to ${host}, which downloadOrigins does not list`,
    };
  }
  return url.href;
}

function bodyOf({ body }: ContractPart, values: Values): string | undefined {
  if (body === null) return undefined;
  return 'json' in body ? fillJson(body.json, values) : fillForm(body.form, values);
}
