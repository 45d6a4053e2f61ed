import { connect, type Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { REAL_TIME, type SpreadTime } from '../../src/app/runtime/instance.js';
import { openVolley } from '../../src/app/runtime/open-volley.js';
import type { Volley } from '../../src/app/volley.js';
import type { Clock } from '../../src/base/clock.js';
import { loadConfig, loadLocalConfig } from '../../src/base/config/index.js';
import { createEvents } from '../../src/base/events/events.js';
import type { ApiScope } from '../../src/campaign/states/api-key.js';
import { API_SCOPES } from '../../src/campaign/states/api-key.js';
import { createHttp, type HttpApp } from '../../src/surfaces/http/index.js';
import type { BodyRate } from '../../src/surfaces/http/limits/body-rate.js';
import { openApiDocument } from '../../src/surfaces/http/openapi/openapi.js';
import { messagesOf, notSentences } from '../sentence-rule.js';
import { documentedBy, type ResponseCheck } from './documented.js';

/** An HTTP API on a port of its own, with a Volley that connects only to Redis. */
export interface ApiServer {
  readonly app: HttpApp;
  readonly volley: Volley;
  /** `http://127.0.0.1:port`. */
  readonly origin: string;
  /** All log lines, at the level `trace`. */
  readonly log: readonly string[];
  /** Creates an API key; default: all scopes on all lanes. */
  key(scopes?: readonly ApiScope[], lanes?: readonly string[]): Promise<string>;
  /** Sends a request, and checks that its response is documented; default key: all scopes on all lanes. `body` is sent as JSON. */
  call(method: string, path: string, options?: CallOptions): Promise<ApiResponse>;
}

export interface CallOptions {
  readonly key?: string | undefined;
  readonly body?: unknown;
  readonly form?: FormData;
  /** A body as it is, with the content type of `headers`. */
  readonly text?: string | Buffer<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A response; `json` is its parsed body, or its text if it is not JSON. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly json: unknown;
}

export interface ApiServerOptions {
  /** The time in which changes of stored lanes spread. */
  readonly time?: SpreadTime;
  readonly clock?: Clock;
  readonly linger?: string;
  readonly stallTimeout?: string;
  readonly closeGrace?: string;
  readonly maxStreams?: number;
  readonly bodyRate?: BodyRate;
  readonly maxConnectionsPerKey?: number;
  readonly consoleFolder?: string;
  /** Whether it can also call the service, whose address and credentials are in the settings. */
  readonly hasService?: boolean;
  /** Adds routes to the app. */
  readonly also?: (app: HttpApp) => void;
}

/** Checks responses of any server of this process. All have the same document, which takes longer to make than a server. */
let documented: ResponseCheck | undefined;

/** Serves the API; see `api` of a scene. */
export async function serveApi(
  settings: Readonly<Record<string, string>>,
  later: (close: () => Promise<void>) => void,
  { also, time = REAL_TIME, hasService = false, ...options }: ApiServerOptions = {},
): Promise<ApiServer> {
  const log: string[] = [];
  const config = (hasService ? loadConfig : loadLocalConfig)({
    ...('LANES_FILE' in settings ? {} : { API_KEY: 'key' }),
    SENDER_ADDRESS: 'ACME',
    // Their campaigns start in the far future, so that nothing is sent.
    MAX_SCHEDULE_AHEAD: '365000d',
    ...settings,
  });
  const events = createEvents({ level: 'trace', destination: { write: (line) => void log.push(line) } });
  const volley = openVolley({ config, events }, time);
  const app = createHttp({ volley, config, ...options });
  also?.(app);
  // Before it is serialised, which leaves out what the schema does not name: the library and `--json` have the same members.
  const undocumented: unknown[] = [];
  app.addHook('preSerialization', async ({ method, url: path }, reply, payload) => {
    const type = String(reply.getHeader('content-type') ?? 'application/json');
    try {
      check({ method, path, status: reply.statusCode, type, body: JSON.stringify(payload) });
    } catch (error) {
      undocumented.push(error);
    }
  });
  later(async () => {
    await app.close();
    await volley.close();
    const [first] = undocumented;
    if (first !== undefined) throw first;
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  documented ??= documentedBy({ ...openApiDocument(app) });
  const check = documented;
  const key: ApiServer['key'] = async (scopes = API_SCOPES, lanes) =>
    (await volley.keys.create({ name: 'a test', scopes, lanes })).key;
  let shared: Promise<string> | undefined;
  const defaultKey = (): Promise<string> => {
    shared ??= key();
    return shared;
  };
  return {
    app,
    volley,
    origin,
    log,
    key,
    async call(method, path, { key: own, body, form, text: asIs, headers } = {}) {
      const reply = await fetch(`${origin}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${own ?? (await defaultKey())}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(form === undefined ? {} : { body: form }),
        ...(asIs === undefined ? {} : { body: asIs }),
      });
      const text = await reply.text();
      const type = reply.headers.get('content-type') ?? '';
      check({ method, path, status: reply.status, type, body: text });
      const isJson = /^application\/(problem\+)?json/.test(type);
      const json: unknown = isJson ? JSON.parse(text) : text;
      if (reply.status >= 400 && isJson) expect(notSentences(messagesOf(json))).toEqual([]);
      return { status: reply.status, headers: reply.headers, json };
    },
  };
}

/** A connection on which a test writes HTTP by hand, until the test ends. */
export function client(origin: string): Socket {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** A form that uploads a campaign and its list. */
export function campaignForm(campaign: object, csv: string | Blob): FormData {
  const form = new FormData();
  form.append('campaign', JSON.stringify(campaign));
  form.append('recipients', typeof csv === 'string' ? new Blob([csv]) : csv, 'list.csv');
  return form;
}
