import { type Machine, startStopwatch } from '../../base/clock.js';
import { openDownload } from '../../service/client/download.js';
import type { Exchange } from '../../service/client/exchange.js';
import { onlyPublicAddresses, type Route } from '../../service/client/public-addresses.js';
import { createTransport } from '../../service/client/transport.js';
import { later, type NoAnswer, problemOf, requestOutcome, statusOutcome } from './answers.js';
import type { Contract } from './contract.js';
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

interface ClientOptions {
  readonly origin?: string | undefined;
  readonly machine: Machine;
  readonly route: Route;
}

/** A media type as a header of a response may repeat it. */
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+( ?; ?[\w-]+=[\w.-]+)*$/;

/**
 * A client for the service of a contract. `origin` replaces that of the contract, for a simulator. Requests go only to the origin
 * of the contract and, without credentials, to its `downloadOrigins`. Preparing a request throws an InputError if a value cannot be
 * written; sending it never throws.
 */
export function createRecordsClient(contract: Contract, { origin, machine, route }: ClientOptions) {
  const { timeouts, maxBytes } = contract;
  const baseUrl =
    origin === undefined ? contract.baseUrl : origin + new URL(contract.baseUrl).pathname.replace(/\/+$/, '');
  const simulator = origin === undefined ? [] : [new URL(origin).hostname.replace(/^\[|\]$/g, '')];
  const downloadOrigins = origin === undefined ? contract.downloadOrigins : [];
  const agents = onlyPublicAddresses([...contract.privateAddresses, ...simulator], route);
  const transportOf = (name: 'request' | 'status') =>
    createTransport({
      baseUrl,
      timeoutMs: timeouts[name],
      clocks: machine,
      headers: { 'user-agent': 'volley', 'accept-encoding': 'identity' },
      maxBodyBytes: maxBytes.response,
      agents,
    });
  const transports = { request: transportOf('request'), status: transportOf('status') };
  const reading = (credentials: Values) => ({
    secrets: Object.values(credentials).map(String),
    now: machine.clock(),
  });
  const preparing =
    <Outcome>(
      name: 'request' | 'status',
      read: (exchange: Exchange, contract: Contract, how: ReturnType<typeof reading>) => Outcome,
    ) =>
    (values: Values, credentials: Values): Prepared<Outcome> => {
      const part = contract[name];
      const body = bodyOf(part, values);
      const exchange = {
        method: part.method,
        path: fillPath(part.path, values),
        headers: fillHeaders(part.headers, { ...values, ...credentials }),
        ...(body !== undefined && { body }),
      };
      return async ({ signal, isLate }) => {
        const age = startStopwatch(machine);
        const late = (): boolean => isLate() || age() > timeouts[name];
        const answer = await transports[name].exchange({ ...exchange, signal, isLate: late });
        return read(answer, contract, reading(credentials));
      };
    };

  return {
    request: preparing('request', requestOutcome),
    status: preparing('status', statusOutcome),
    /** `address`: from the response to the status request; null if the contract has a path. */
    download(values: Values, address: string | null, credentials: Values): Prepared<OpenFile | NoAnswer> {
      const { download } = contract;
      const url =
        download.path === null
          ? addressOf(address, baseUrl, downloadOrigins)
          : baseUrl + fillPath(download.path, values);
      if (typeof url !== 'string') return async () => url;
      const isOwn = new URL(url).origin === new URL(baseUrl).origin;
      // The contract's headers belong to its own service; any of them may be a credential.
      const headers = isOwn ? fillHeaders(download.headers, { ...values, ...credentials }) : {};
      const body = bodyOf(download, values);
      return async (options) => {
        const exchange = await openDownload(
          { method: download.method, url, headers, body, ...options },
          { timeoutMs: timeouts.download, silenceMs: timeouts.silence, maxBytes: maxBytes.download, agents },
        );
        if (exchange.kind !== 'file') return problemOf(exchange, reading(credentials));
        const { length } = exchange;
        if (length !== null && length > maxBytes.download) {
          exchange.discard();
          const reason = `the file has ${length} bytes; the contract allows ${maxBytes.download}`;
          return { kind: 'stopped', reason };
        }
        const type = exchange.headers['content-type'] ?? '';
        const contentType = MEDIA_TYPE.test(type) ? type : 'application/octet-stream';
        return { kind: 'file', contentType, length, body: exchange.body };
      };
    },
    close(): void {
      transports.request.close();
      transports.status.close();
    },
  };
}

/** See {@link createRecordsClient}. */
export type RecordsClient = ReturnType<typeof createRecordsClient>;

/** The absolute address of a download, or why it cannot be used. */
function addressOf(address: string | null, baseUrl: string, origins: readonly string[]): string | NoAnswer {
  if (address === null) return later('the response to the status request has no download address');
  const url = URL.canParse(address, `${baseUrl}/`) ? new URL(address, `${baseUrl}/`) : undefined;
  const allowed = [new URL(baseUrl).origin, ...origins];
  if (url !== undefined && url.username === '' && url.password === '' && allowed.includes(url.origin))
    return url.href;
  const where = url?.origin ?? 'an invalid address';
  return {
    kind: 'stopped',
    reason: `the download address leads to ${where}, which downloadOrigins does not list`,
  };
}

function bodyOf({ body }: Pick<Contract['request'], 'body'>, values: Values): string | undefined {
  if (body === null) return undefined;
  return 'json' in body ? fillJson(body.json, values) : fillForm(body.form, values);
}
