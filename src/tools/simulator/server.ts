import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, type Random, systemClock } from '../../base/clock.js';
import { isLoopback, isTrustedHost } from '../../base/host-header.js';
import { Accounts } from './accounts.js';
import type { Activity } from './activity.js';
import { type Arrival, ArrivalLog } from './arrivals.js';
import { type Change, madeAt } from './changes.js';
import { Clients, TOKEN_PATH } from './clients.js';
import { type Controls, control } from './control.js';
import { sample } from './distribution.js';
import { Inbound, type InboundText } from './inbound.js';
import { type Journal, openJournal } from './journal.js';
import { KeyRing } from './key-ring.js';
import { Ledger } from './ledger.js';
import { Messaging } from './messaging.js';
import { Notifications } from './notifications.js';
import { mergeOptions, parseOptions, type Settings, type SimulatorOptions } from './options.js';
import { Polls } from './polls.js';
import { seededRandom } from './random.js';
import { Records, type RecordsEntry } from './records.js';
import { Sends } from './sends.js';
import { Subscriptions } from './subscriptions.js';
import { type Summary, type SummarySources, summarise } from './summary.js';
import { Timers } from './timers.js';
import { TokenIssuer } from './tokens.js';
import { BASE_PATHS, versionOf } from './versions.js';
import { type Answer, failure, type Incoming, readBody, sendAnswer } from './wire.js';

/** The listen backlog. A fleet opens thousands of connections at once, and the system resets those beyond it. */
const BACKLOG = 4_096;

/** A running simulator of the messaging service. */
export interface Simulator {
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
  /** Every messaging request, oldest first. */
  arrivals(): Iterable<Arrival>;
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
  /** The activity log of an account, or of all; undefined for an unknown account. */
  activity(account?: string): readonly Activity[] | undefined;
  /** Clears the ledger, the arrivals, the activity logs, and the list of used magic recipients. Quotas keep their counts. */
  clear(): void;
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
    messagingBaseUrl: `${origin}${BASE_PATHS.v1}`,
    accountBaseUrl: origin,
    v3: { messagingBaseUrl: `${origin}${BASE_PATHS.v3}`, tokenUrl: `${origin}${TOKEN_PATH}` },
    ledger: service.sources.ledger,
    controlToken: service.controlToken,
    arrivals: service.arrivals,
    activity: service.activity,
    summary: service.summary,
    records: service.records,
    recordsInFlight: service.recordsInFlight,
    inbound: service.inbound,
    configure: service.configure,
    clear: service.clear,
    close: async (drainMs = 0) => {
      await service.close(server, drainMs);
      journal.close();
    },
  };
}

/** Wires the parts together and handles each request from its last byte to its reply. */
class Service implements Controls {
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
  #settings: Settings;
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
    const { record } = journal;
    this.#journal = journal;
    this.#origin = origin;
    this.#options = options;
    this.#settings = settings;
    this.controlToken = isLoopback(settings.host)
      ? undefined
      : (settings.controlToken ?? randomBytes(24).toString('base64url'));
    this.#clock = clock;
    this.#random = random;
    const tokens = new TokenIssuer(settings.tokens, random, record);
    this.#clients = new Clients(settings, tokens);
    const keys = new KeyRing(
      (token, now) => tokens.accountOf(token, now),
      (account) => this.#clients.has(account),
    );
    // Ids contain the start time, so that a simulator does not recognise the ids of another one.
    const ledger = new Ledger(Math.floor(clock()).toString(36));
    const arrivals = new ArrivalLog();
    const notifications = new Notifications(settings, this.#timers, random);
    this.#subscriptions = new Subscriptions(settings, ledger, notifications, this.#timers, record);
    const accounts = new Accounts(settings, tokens, random, record);
    this.#inbound = new Inbound(settings, this.#timers, random);
    this.#sends = new Sends(settings, ledger, this.#subscriptions, this.#inbound, random, record);
    const polls = new Polls(settings, ledger, random);
    this.#messaging = new Messaging(settings, {
      keys,
      sends: this.#sends,
      polls,
      subscriptions: this.#subscriptions,
      inbound: this.#inbound,
      notifications,
      arrivals,
      record,
    });
    this.#records = new Records(settings, keys, random, record, clock());
    this.sources = { ledger, arrivals, keys, accounts, clients: this.#clients, tokens, notifications };
    for (const change of journal.changes) this.#restore(change);
  }

  readonly entries = () => this.sources.ledger.entries();
  readonly arrivals = () => this.sources.arrivals.entries();
  readonly activity = (account?: string) => {
    const { accounts } = this.sources;
    return account === undefined || accounts.has(account) ? accounts.activity.entries(account) : undefined;
  };
  readonly summary = () => summarise(this.sources);
  readonly records = () => this.#records.entries(this.#clock());
  readonly inbound = (message: InboundText, key?: string) => this.#inbound.send(message, key);
  readonly recordsInFlight = () => this.#records.maxInFlight;

  readonly configure = (change: SimulatorOptions): void => {
    const options = mergeOptions(this.#options, change);
    const settings = parseOptions(options);
    this.#records.configure(settings);
    this.#options = options;
    this.#settings = settings;
    this.#messaging.configure(settings);
    this.#clients.configure(settings);
    this.sources.accounts.configure(settings);
    if (change.accounts !== undefined) this.sources.accounts.unblock();
  };

  readonly clear = (): void => {
    this.sources.ledger.clear();
    this.sources.arrivals.clear();
    this.sources.accounts.activity.clear();
    this.#sends.resetMagicRecipients();
    this.#records.clear();
    this.#journal.record({ kind: 'cleared' });
  };

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
        ledger.clear();
        arrivals.clear();
        accounts.activity.clear();
        this.#sends.resetMagicRecipients();
        this.#records.clear();
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
      control(request, response, this, this.controlToken);
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
