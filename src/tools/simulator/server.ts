import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, type Random, systemClock } from '../../base/clock.js';
import { isLoopback, isTrustedHost } from '../../base/host-header.js';
import { Accounts } from './accounts/accounts.js';
import { Clients, TOKEN_PATH } from './accounts/clients.js';
import { TokenIssuer } from './accounts/tokens.js';
import { type Controls, control } from './control.js';
import { Inbound } from './messages/inbound.js';
import { Messaging } from './messages/messaging.js';
import { Notifications } from './messages/notifications.js';
import { Polls } from './messages/polls.js';
import { Sends } from './messages/sends.js';
import { Subscriptions } from './messages/subscriptions.js';
import { Records } from './records.js';
import { sample } from './rules/distribution.js';
import { mergeOptions, parseOptions, type Settings, type SimulatorOptions } from './rules/options.js';
import { seededRandom } from './rules/random.js';
import { BASE_PATHS, versionOf } from './rules/versions.js';
import { ArrivalLog } from './state/arrivals.js';
import { type Change, madeAt } from './state/changes.js';
import { type Journal, openJournal } from './state/journal.js';
import { KeyRing } from './state/key-ring.js';
import { Ledger } from './state/ledger.js';
import { Timers } from './state/timers.js';
import { type SummarySources, summarise } from './summary.js';
import { type Answer, failure, type Incoming, readBody, sendAnswer } from './wire/wire.js';

/** The listen backlog. A fleet opens thousands of connections at once, and the system resets those beyond it. */
const BACKLOG = 4_096;

/** A running simulator of the messaging service. */
export interface Simulator extends Controls {
  /** The part before `/outbound`, such as `http://127.0.0.1:41234/smsmessaging/v1`. */
  readonly messagingBaseUrl: string;
  /** The part before `/api/login`: the origin. */
  readonly accountBaseUrl: string;
  /** The same of version 3, and where its clients get their tokens. */
  readonly v3: { readonly messagingBaseUrl: string; readonly tokenUrl: string };
  /** The accepted requests. */
  readonly ledger: Ledger;
  /** What the control interface requires as a bearer token; undefined on a loopback address. */
  readonly controlToken: string | undefined;
  /** Stops accepting requests, waits up to `drainMs` (default 0) for pending replies, then closes all connections. */
  close(drainMs?: number): Promise<void>;
}

/** The clock and the source of randomness, for tests. */
export interface SimulatorDependencies {
  clock?: Clock;
  random?: Random;
  /** A file in which it keeps its state, so that a restart changes nothing for its clients. Default: it forgets everything. */
  stateFile?: string;
  /** Called if the disk of that file is full: what it forgets then, its clients cannot find after a restart. Default: it throws. */
  onDiskFull?: () => void;
}

/**
 * Starts a simulator of the messaging and account interfaces (areas A and B), and of call records (area C) for a contract. Throws a `SimulatorOptionsError` that names
 * every invalid option, or the error from binding the port.
 */
export async function startSimulator(
  options: SimulatorOptions = {},
  { clock = systemClock, random, stateFile, onDiskFull }: SimulatorDependencies = {},
): Promise<Simulator> {
  const settings = parseOptions(options);
  let origin = '';
  const now = clock();
  const journal =
    stateFile === undefined
      ? { changes: [], record: () => {}, close: () => {} }
      : openJournal(stateFile, now, onDiskFull);
  const service = new Service(
    options,
    settings,
    clock,
    random ?? seededRandom(settings.seed),
    journal,
    () => origin,
  );
  const server = createServer(service.listener);
  // Only the options close connections: idle ones stay open, and hanging ones hang.
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  try {
    await listen(server, settings);
  } catch (error) {
    journal.close();
    throw error;
  }
  service.resume();
  const { port } = server.address() as AddressInfo;
  origin = `http://${hostToReach(settings.host)}:${port}`;
  return {
    ...service.controls,
    messagingBaseUrl: `${origin}${BASE_PATHS.v1}`,
    accountBaseUrl: origin,
    v3: { messagingBaseUrl: `${origin}${BASE_PATHS.v3}`, tokenUrl: `${origin}${TOKEN_PATH}` },
    ledger: service.sources.ledger,
    controlToken: service.controlToken,
    close: async (drainMs = 0) => {
      await service.close(server, drainMs);
      journal.close();
    },
  };
}

/** Wires the parts together and handles each request from its last byte to its reply. */
class Service {
  readonly sources: SummarySources;
  readonly controlToken: string | undefined;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #timers = new Timers();
  readonly #messaging: Messaging;
  readonly #sends: Sends;
  readonly #records: Records;
  readonly #clients: Clients;
  readonly #subscriptions: Subscriptions;
  readonly #inbound: Inbound;
  readonly #origin: () => string;
  #options: SimulatorOptions;
  readonly #settings: Settings;
  #pending = 0;
  readonly #journal: Journal;

  constructor(
    options: SimulatorOptions,
    settings: Settings,
    clock: Clock,
    random: Random,
    journal: Journal,
    origin: () => string,
  ) {
    this.#journal = journal;
    this.#origin = origin;
    this.#options = options;
    this.#settings = settings;
    this.controlToken = isLoopback(settings.host)
      ? undefined
      : (settings.controlToken ?? randomBytes(24).toString('base64url'));
    this.#clock = clock;
    this.#random = random;
    const simulation = { settings, random, record: journal.record, timers: this.#timers };
    const tokens = new TokenIssuer(simulation);
    this.#clients = new Clients(simulation, tokens);
    const keys = new KeyRing(
      (token, now) => tokens.accountOf(token, now),
      (account) => this.#clients.has(account),
    );
    // Ids contain the start time, so that a simulator does not recognise the ids of another one.
    const ledger = new Ledger(Math.floor(clock()).toString(36));
    const arrivals = new ArrivalLog();
    keys.configure(settings);
    const notifications = new Notifications(simulation);
    this.#subscriptions = new Subscriptions(simulation, ledger, notifications);
    const accounts = new Accounts(simulation, tokens);
    this.#inbound = new Inbound(simulation);
    this.#sends = new Sends(simulation, ledger, this.#subscriptions, this.#inbound);
    this.#messaging = new Messaging(simulation, {
      keys,
      sends: this.#sends,
      polls: new Polls(simulation, ledger),
      subscriptions: this.#subscriptions,
      inbound: this.#inbound,
      arrivals,
    });
    this.#records = new Records(simulation, keys, clock());
    this.sources = { ledger, arrivals, keys, accounts, clients: this.#clients, tokens, notifications };
    for (const change of journal.changes) this.#restore(change);
  }

  readonly controls: Controls = {
    entries: () => this.sources.ledger.entries(),
    arrivals: () => this.sources.arrivals.entries(),
    activity: (account) => {
      const { accounts } = this.sources;
      return account === undefined || accounts.has(account) ? accounts.activity.entries(account) : undefined;
    },
    summary: () => summarise(this.sources),
    records: () => this.#records.entries(this.#clock()),
    recordsInFlight: () => this.#records.maxInFlight,
    inbound: (message, key) => this.#inbound.send(message, key),
    configure: (change) => {
      const options = mergeOptions(this.#options, change);
      Object.assign(this.#settings, parseOptions(options));
      this.#options = options;
      this.sources.keys.configure(this.#settings);
      if (change.accounts !== undefined) this.sources.accounts.unblock();
    },
    clear: () => {
      this.#clear();
      this.#journal.record({ kind: 'cleared' });
    },
  };

  #clear(): void {
    this.sources.ledger.clear();
    this.sources.arrivals.clear();
    this.sources.accounts.activity.clear();
    this.#sends.resetMagicRecipients();
    this.#records.clear();
  }

  #restore(change: Change): void {
    const { ledger, arrivals, keys, accounts, tokens } = this.sources;
    switch (change.kind) {
      case 'accepted':
        keys.named(change.request.key);
        ledger.restore(change.request);
        break;
      case 'arrived': {
        const { key, kind, at } = change.arrival;
        if (key !== '' && (kind === 'send' || kind === 'poll')) keys.named(key).quota?.arrive(at);
        arrivals.record(change.arrival);
        break;
      }
      case 'subscribed':
        this.#subscriptions.restore(keys.named(change.key), {
          url: change.url,
          securityToken: change.securityToken,
          finalDelivery: change.finalDelivery,
        });
        break;
      case 'unsubscribed':
        this.#subscriptions.restore(keys.named(change.key), undefined);
        break;
      case 'tokens':
      case 'redeemed':
      case 'revoked':
        tokens.restore(change);
        break;
      case 'loginFailed':
      case 'unblocked':
      case 'activity':
        accounts.restore(change);
        break;
      case 'recordsAccepted':
        this.#records.restore(change.job);
        break;
      case 'cleared':
        this.#clear();
        break;
      default:
        change satisfies never;
    }
  }

  /** Sends the notifications that the earlier simulator had not sent when it ended. */
  resume(): void {
    const { changes } = this.#journal;
    const endedAt = changes.reduce((last, change) => Math.max(last, madeAt(change) ?? 0), 0);
    if (changes.length > 0) this.#subscriptions.resume(endedAt, this.#clock());
  }

  readonly listener = (request: IncomingMessage, response: ServerResponse): void => {
    this.#pending += 1;
    response.once('close', () => {
      this.#pending -= 1;
    });
    const { host, allowedHosts } = this.#settings;
    const isTrusted = isTrustedHost(request.headers.host, host, allowedHosts);
    readBody(request, (body) => {
      if (body === undefined) sendAnswer(failure(413, 'the body is too large'), response);
      else if (!isTrusted)
        sendAnswer(failure(421, 'unknown Host: use an address, or set allowedHosts'), response);
      else this.#received(incomingOf(request, body), response);
    });
  };

  #received(request: Incoming, response: ServerResponse): void {
    if (request.path.startsWith('/_simulator/')) {
      control(request, response, this.controls, this.controlToken);
      return;
    }
    // The request arrives even if its client disconnects in the meantime.
    this.#timers.after(sample(this.#settings.arrivalDelay, this.#random), () =>
      this.#arrived(request, response),
    );
  }

  #arrived(request: Incoming, response: ServerResponse): void {
    if (this.#records.matches(request)) response.once('close', this.#records.begin(request, this.#clock()));
    const answer = this.#serve(request, this.#clock());
    if (answer instanceof Promise) void answer.then((settled) => this.#answer(settled, response));
    else this.#answer(answer, response);
  }

  #serve(request: Incoming, now: number): Answer | Promise<Answer> {
    if (this.#records.matches(request)) return this.#records.handle(request, now, this.#origin());
    const version = versionOf(request.path);
    if (version !== undefined) return this.#messaging.handle(request, now, version);
    if (request.path === TOKEN_PATH) return this.#clients.handle(request, now);
    if (request.path.startsWith('/api/')) return this.sources.accounts.handle(request, now);
    return failure(404, 'no such resource');
  }

  #answer(answer: Answer, response: ServerResponse): void {
    const { latency, errorBody } = this.#settings;
    this.#timers.after(sample(latency, this.#random), () => sendAnswer(answer, response, errorBody));
  }

  async close(server: Server, drainMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    const deadline = performance.now() + drainMs;
    while (this.#pending > 0 && performance.now() < deadline) {
      server.closeIdleConnections();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    this.#timers.cancelAll();
    this.#subscriptions.close();
    this.#inbound.close();
    this.sources.notifications.close();
    server.closeAllConnections();
    await closed;
  }
}

function incomingOf({ method = '', url = '', headers }: IncomingMessage, body: string): Incoming {
  const query = url.indexOf('?');
  const path = query < 0 ? url : url.slice(0, query);
  return { method, path, query: query < 0 ? '' : url.slice(query + 1), headers, body };
}

function listen(server: Server, { host, port }: Settings): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** The host at which clients on this machine reach a server bound to `host`. */
function hostToReach(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
