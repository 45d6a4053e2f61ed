import { afterAll } from 'vitest';
import type { ApiScope } from '../../src/campaign/views.js';
import { API_SCOPES } from '../../src/campaign/views.js';
import type { Clock } from '../../src/clock.js';
import { loadLocalConfig } from '../../src/config/index.js';
import { createEvents } from '../../src/events/events.js';
import { createHttp, type HttpApp } from '../../src/http/index.js';
import { createVolley, type Volley } from '../../src/runtime.js';

/** An API that listens on a port of its own, over a Volley that speaks with Redis alone. */
export interface Served {
  readonly app: HttpApp;
  readonly volley: Volley;
  /** `http://127.0.0.1:port`. */
  readonly origin: string;
  /** Everything that was logged, at the level `trace`. */
  readonly log: readonly string[];
  /** A key of the API: default all scopes on all lanes. */
  key(scopes?: readonly ApiScope[], lanes?: readonly string[]): Promise<string>;
  /** Asks with a key of all scopes and lanes unless another is given; `body` is sent as JSON. */
  ask(method: string, path: string, options?: Asking): Promise<Answer>;
}

export interface Asking {
  readonly key?: string | undefined;
  readonly body?: unknown;
  readonly form?: FormData;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer; `said` is its JSON, or its text where it is none. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly said: unknown;
}

export interface ServedOptions {
  readonly clock?: Clock;
  readonly lingerMs?: number;
  readonly patienceMs?: number;
  readonly closeGraceMs?: number;
  readonly mostStreams?: number;
  /** Adds routes. */
  readonly also?: (app: HttpApp) => void;
}

/** Serves until the file's last test is over. `settings` are those of the environment. */
export async function served(
  settings: Record<string, string>,
  { clock, lingerMs, patienceMs, closeGraceMs, mostStreams, also }: ServedOptions = {},
): Promise<Served> {
  const log: string[] = [];
  const config = loadLocalConfig({ API_KEY: 'key', SENDER_ADDRESS: 'ACME', ...settings });
  const events = createEvents({ level: 'trace', destination: { write: (line) => void log.push(line) } });
  const volley = createVolley({ config, events });
  const app = createHttp({ volley, config, clock, lingerMs, patienceMs, closeGraceMs, mostStreams });
  also?.(app);
  afterAll(async () => {
    await app.close();
    await volley.close();
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const key: Served['key'] = async (scopes = API_SCOPES, lanes) =>
    (await volley.keys.create({ name: 'a test', scopes, lanes })).key;
  let whole: Promise<string> | undefined;
  const ofAll = (): Promise<string> => {
    whole ??= key();
    return whole;
  };
  return {
    app,
    volley,
    origin,
    log,
    key,
    async ask(method, path, { key: given, body, form, headers } = {}) {
      const reply = await fetch(`${origin}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${given ?? (await ofAll())}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(form === undefined ? {} : { body: form }),
      });
      const text = await reply.text();
      const isJson = /^application\/(problem\+)?json/.test(reply.headers.get('content-type') ?? '');
      return { status: reply.status, headers: reply.headers, said: isJson ? JSON.parse(text) : text };
    },
  };
}

/** A form with a campaign and its list. */
export function formOf(campaign: object, csv: string | Blob): FormData {
  const form = new FormData();
  form.append('campaign', JSON.stringify(campaign));
  form.append('recipients', typeof csv === 'string' ? new Blob([csv]) : csv, 'list.csv');
  return form;
}
