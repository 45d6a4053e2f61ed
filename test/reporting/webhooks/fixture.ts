import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeEach } from 'vitest';
import { z } from 'zod';
import type { Redis } from '../../../src/base/redis/connection.js';
import type { ApiKey, KeyLife } from '../../../src/campaign/states/api-key.js';
import type { Operator } from '../../../src/campaign/states/audit.js';
import type { RecipientResult } from '../../../src/campaign/views/recipient-views.js';
import { WEBHOOK_EVENTS } from '../../../src/campaign/views/webhook-events.js';
import type { WebhookWithSecret } from '../../../src/campaign/views/webhook-views.js';
import { resultsLogs } from '../../../src/reporting/results-log.js';
import { resultsReader } from '../../../src/reporting/results-reader.js';
import { type DeliverDeps, deliver } from '../../../src/reporting/webhooks/deliver.js';
import { laneReader } from '../../../src/reporting/webhooks/lane-reader.js';
import { payloadReader } from '../../../src/reporting/webhooks/payload.js';
import { openPoster } from '../../../src/reporting/webhooks/post.js';
import { webhookStore } from '../../../src/reporting/webhooks/store.js';
import { webhookService } from '../../../src/reporting/webhooks/webhooks.js';
import { createSeal } from '../../../src/service/auth/seal.js';
import { OPERATOR } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { resultsFixture } from '../results-fixture.js';

const ajv = new Ajv2020({ strict: false, validateFormats: false });
const schemas = new Map<string, ValidateFunction>(
  [...WEBHOOK_EVENTS].map(([type, event]) => [type, ajv.compile(z.toJSONSchema(event))]),
);

/** How an event differs from its schema, which names every member; null if it does not. */
function undocumented(event: { readonly type: string }): string | null {
  const matches = schemas.get(event.type);
  if (matches === undefined) return 'there is none';
  return matches(event) ? null : ajv.errorsText(matches.errors);
}

/** A request that a receiver got. */
export interface Received {
  readonly id: string;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
  readonly event: {
    readonly type: string;
    readonly data: { readonly results: readonly RecipientResult[]; readonly [name: string]: unknown };
  };
}

/** What a receiver answers to a request. */
export type Answering = (
  request: Received,
) => number | 'nothing' | readonly [status: number, headers: Record<string, string>] | Promise<number>;

/** A receiver of webhooks on this machine. `secrets`: it verifies each request with these, as the library of Standard Webhooks does. */
export async function startReceiver() {
  const received: Received[] = [];
  const others: Received[] = [];
  const problems: string[] = [];
  const secrets: string[] = [];
  let answering: Answering = () => 204;
  let forgets = (): boolean => false;
  let [open, most] = [0, 0];
  const server: Server = createServer(async (request, response) => {
    open += 1;
    most = Math.max(most, open);
    response.once('close', () => {
      open -= 1;
    });
    const body = await text(request);
    const headers = request.headers as Record<string, string>;
    const isSigned = secrets.some((secret) => {
      try {
        new Webhook(secret).verify(body, headers);
        return true;
      } catch {
        return false;
      }
    });
    if (!isSigned) problems.push(`a request is not signed: ${headers['webhook-id']}`);
    const parsed = JSON.parse(body);
    const difference = undocumented(parsed);
    if (difference !== null) problems.push(`${parsed.type} is not as its schema says: ${difference}`);
    const event = { ...parsed, data: { results: [], ...parsed.data } };
    const one: Received = { id: headers['webhook-id'] ?? '', body, headers, event };
    const list = event.type === 'recipients.settled' ? received : others;
    list.push(one);
    const answer = await answering(one);
    const hasGone = request.socket.readableEnded || request.socket.destroyed;
    if (hasGone && forgets()) list.splice(list.indexOf(one), 1);
    if (answer === 'nothing') return;
    const [status, more] = typeof answer === 'number' ? [answer, {}] : answer;
    response.writeHead(status, more).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hooks`,
    port,
    /** Results. */
    received,
    /** Other events. */
    others,
    problems,
    secrets,
    /** The most requests that were open at a time. */
    most: () => most,
    answer(with_: Answering) {
      answering = with_;
    },
    /** Whether it undoes what it did for a request whose sender is gone before the answer. */
    forgetAborted(when: () => boolean) {
      forgets = when;
    },
    /** The results in the requests, in order, without requests whose id was known, as a receiver processes them. */
    results: (): RecipientResult[] => {
      const known = new Set<string>();
      return received.flatMap(({ id, event }) => {
        if (known.has(id)) return [];
        known.add(id);
        return event.data.results;
      });
    },
    reset(): void {
      for (const list of [received, others, problems, secrets]) list.length = 0;
      answering = () => 204;
      most = 0;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** Endpoints on a lane with results, whose turns a test runs at a time of its own. */
export function webhookFixture(
  redis: Redis,
  prefix: string,
  { timeoutMs, by = OPERATOR }: { readonly timeoutMs?: number; readonly by?: Operator } = {},
) {
  const results = resultsFixture(redis, prefix);
  const { keys, finder, deps } = results;
  const { events } = deps;
  let now = Date.now();
  const clock = (): number => now;
  const store = webhookStore(redis, keys);
  const lanes = laneReader({ redis, keys, logs: resultsLogs(redis, keys, finder), clock });
  const seal = createSeal('a secrets key for these tests');
  const poster = openPoster({ allowed: ['127.0.0.1'], timeoutMs });
  const lives = new Map<string, KeyLife>();
  const lifeOf = async (key: string): Promise<KeyLife> => lives.get(key) ?? { state: 'active', until: null };
  /** What API keys may do, if not everything. */
  const rights = new Map<string, Pick<ApiKey, 'scopes' | 'lanes'>>();
  const options: DeliverDeps = {
    redis,
    keys,
    store,
    lanes,
    payload: payloadReader({
      redis,
      keys,
      finder,
      read: resultsReader({ redis, keys, finder, outboxes: deps.outboxes }).read,
    }),
    poster,
    seal,
    events,
    clock,
    monotonic: () => performance.now(),
    random: () => 0,
    lifeOf,
  };
  const service = webhookService({
    redis,
    keys,
    store,
    lanes,
    finder,
    seal: () => seal,
    events,
    clock,
    poster: async () => poster,
    lifeOf,
    keyOf: async (key) => rights.get(key) ?? { scopes: ['read'], lanes: null },
  });
  const webhooks = service(by);
  return {
    ...results,
    store,
    service,
    webhooks,
    options,
    lives,
    rights,
    /** Adds an endpoint at a receiver, which verifies its signatures. */
    async add(receiver: Receiver): Promise<WebhookWithSecret> {
      const made = await webhooks.add({ url: receiver.url });
      receiver.secrets.push(made.secret);
      return made;
    },
    /** Runs a turn. Returns how long until the next one is due, ms; null: none is due. */
    async turn(id: string, more: Partial<DeliverDeps> = {}): Promise<number | null> {
      const next = await deliver({ ...options, ...more }, id, {
        turnMs: 20_000,
        signal: new AbortController().signal,
      });
      return next === null ? null : next - now;
    },
    pass(ms: number): void {
      now += ms;
    },
  };
}

/** A receiver, which forgets everything before each test, and lanes whose endpoints are there. */
export async function webhookScene(name: string) {
  const { prefix, redis } = testRedis(name);
  const receiver = await startReceiver();
  afterAll(() => receiver.close());
  beforeEach(() => receiver.reset());
  let fixtures = 0;
  const fixture = (options?: Parameters<typeof webhookFixture>[2]) => {
    fixtures += 1;
    return webhookFixture(redis, `${prefix}-${fixtures}`, options);
  };
  return {
    redis,
    receiver,
    fixture,
    /** A lane with an endpoint. */
    async endpoint(options?: Parameters<typeof fixture>[0]) {
      const own = fixture(options);
      const { id } = await own.add(receiver);
      return { ...own, id, turn: (more?: Parameters<typeof own.turn>[1]) => own.turn(id, more) };
    },
    /** The references of the results that it got, in order. */
    references: (): string[] => receiver.results().map(({ reference }) => reference ?? ''),
  };
}
