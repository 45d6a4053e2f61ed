import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, type Random, systemClock } from '../clock.js';
import { Accounts } from './accounts.js';
import { type Arrival, ArrivalLog } from './arrivals.js';
import { type Controls, control } from './control.js';
import { sample } from './distribution.js';
import { KeyRing } from './key-ring.js';
import { Ledger } from './ledger.js';
import { Messaging } from './messaging.js';
import { mergeOptions, parseOptions, type Settings, type SimulatorOptions } from './options.js';
import { Polls } from './polls.js';
import { seededRandom } from './random.js';
import { BASE_PATH } from './replies.js';
import { Sends } from './sends.js';
import { Subscriptions } from './subscriptions.js';
import { type Books, type Summary, summarise } from './summary.js';
import { Timers } from './timers.js';
import { TokenOffice } from './tokens.js';
import { type Answer, carryOut, failure, type Incoming, readBody } from './wire.js';

/** Connections that wait to be taken: a fleet opens thousands at once, and the system resets those beyond it. */
const BACKLOG = 4_096;

/** A running stand-in for the messaging service. */
export interface Simulator {
  /** The part before `/outbound`, such as `http://127.0.0.1:41234/smsmessaging/v1`. */
  readonly messagingBaseUrl: string;
  /** The part before `/api/login`: the origin. */
  readonly accountBaseUrl: string;
  /** What was accepted, oldest first: `requests`, `recipients`, `duplicates`, `entries()`, `clear()`. */
  readonly ledger: Ledger;
  /** Every area A request, oldest first. */
  arrivals(): Iterable<Arrival>;
  summary(): Summary;
  /**
   * Changes options at run time: tables of faults and other objects are merged, anything else (keys, accounts, …) is
   * replaced; accounts given anew are unblocked. Throws a `SimulatorOptionsError` and changes nothing if they are wrong.
   */
  configure(change: SimulatorOptions): void;
  /** Forgets what was accepted, what arrived, and which magic recipients have struck. Quotas go on counting. */
  clear(): void;
  /** Stops: takes no new request, waits up to `drainMs` (default 0) for replies under way, then breaks what is left. */
  close(drainMs?: number): Promise<void>;
}

/** Time and chance, for those who want to own them. */
export interface SimulatorSurroundings {
  clock?: Clock;
  random?: Random;
}

/**
 * Starts a simulator of areas A and B on its own port. Throws a `SimulatorOptionsError` naming every option that is
 * wrong, or the error of the port that cannot be bound.
 */
export async function startSimulator(
  options: SimulatorOptions = {},
  { clock = systemClock, random }: SimulatorSurroundings = {},
): Promise<Simulator> {
  const settings = parseOptions(options);
  const service = new Service(options, settings, clock, random ?? seededRandom(settings.seed));
  const server = createServer(service.listener);
  // Nobody but the options decides when a connection ends: idle ones stay, hanging ones hang.
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  await listen(server, settings);
  const { port } = server.address() as AddressInfo;
  const origin = `http://${hostToReach(settings.host)}:${port}`;
  return {
    messagingBaseUrl: `${origin}${BASE_PATH}`,
    accountBaseUrl: origin,
    ledger: service.books.ledger,
    arrivals: service.arrivals,
    summary: service.summary,
    configure: service.configure,
    clear: service.clear,
    close: (drainMs = 0) => service.close(server, drainMs),
  };
}

/** Puts the parts together and takes each request from its last byte to its answer. */
class Service implements Controls {
  readonly books: Books;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #timers = new Timers();
  readonly #messaging: Messaging;
  readonly #sends: Sends;
  #options: SimulatorOptions;
  #settings: Settings;
  #underWay = 0;

  constructor(options: SimulatorOptions, settings: Settings, clock: Clock, random: Random) {
    this.#options = options;
    this.#settings = settings;
    this.#clock = clock;
    this.#random = random;
    const tokens = new TokenOffice(settings.tokens, random);
    const keys = new KeyRing((token, now) => tokens.accountOf(token, now));
    // The start is part of every id: a restarted simulator must not take an old id for one of its own.
    const ledger = new Ledger(Math.floor(clock()).toString(36));
    const arrivals = new ArrivalLog();
    const subscriptions = new Subscriptions(settings.notifications, this.#timers, random);
    const accounts = new Accounts(settings, tokens, random);
    this.#sends = new Sends(settings, ledger, subscriptions, random);
    const polls = new Polls(settings, ledger, random);
    this.#messaging = new Messaging(settings, { keys, sends: this.#sends, polls, subscriptions, arrivals });
    this.books = { ledger, arrivals, keys, accounts, tokens, subscriptions };
  }

  readonly entries = () => this.books.ledger.entries();
  readonly arrivals = () => this.books.arrivals.entries();
  readonly summary = () => summarise(this.books);

  readonly configure = (change: SimulatorOptions): void => {
    const options = mergeOptions(this.#options, change);
    const settings = parseOptions(options);
    this.#options = options;
    this.#settings = settings;
    this.#messaging.configure(settings);
    this.books.accounts.configure(settings);
    if (change.accounts !== undefined) this.books.accounts.unblock();
  };

  readonly clear = (): void => {
    this.books.ledger.clear();
    this.books.arrivals.clear();
    this.#sends.forgetStrikes();
  };

  readonly listener = (request: IncomingMessage, response: ServerResponse): void => {
    this.#underWay += 1;
    response.once('close', () => {
      this.#underWay -= 1;
    });
    readBody(request, (body) => {
      if (body === undefined) carryOut(failure(413, 'the body is too long'), response);
      else this.#received(whole(request, body), response);
    });
  };

  #received(request: Incoming, response: ServerResponse): void {
    if (request.path.startsWith('/_simulator/')) {
      control(request, response, this);
      return;
    }
    // The request arrives even if its client has given up by then: its bytes are on the way.
    this.#timers.after(sample(this.#settings.arrivalDelay, this.#random), () =>
      this.#arrived(request, response),
    );
  }

  #arrived(request: Incoming, response: ServerResponse): void {
    const answer = this.#serve(request, this.#clock());
    if (answer instanceof Promise) void answer.then((settled) => this.#answer(settled, response));
    else this.#answer(answer, response);
  }

  #serve(request: Incoming, now: number): Answer | Promise<Answer> {
    if (request.path.startsWith(`${BASE_PATH}/`)) return this.#messaging.handle(request, now);
    if (request.path.startsWith('/api/')) return this.books.accounts.handle(request, now);
    return failure(404, 'no such resource');
  }

  #answer(answer: Answer, response: ServerResponse): void {
    this.#timers.after(sample(this.#settings.latency, this.#random), () => carryOut(answer, response));
  }

  async close(server: Server, drainMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    const deadline = performance.now() + drainMs;
    while (this.#underWay > 0 && performance.now() < deadline) {
      server.closeIdleConnections();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    this.#timers.cancelAll();
    this.books.subscriptions.close();
    server.closeAllConnections();
    await closed;
  }
}

function whole({ method = '', url = '', headers }: IncomingMessage, body: string): Incoming {
  const query = url.indexOf('?');
  return { method, path: query < 0 ? url : url.slice(0, query), headers, body };
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

/** Where clients on this machine reach a server bound to that host. */
function hostToReach(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
