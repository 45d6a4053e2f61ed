import type { Config } from '../../base/config/index.js';
import type { ServiceProfile } from '../../base/profiles/index.js';
import type { AccountObserver } from '../../service/client/accounts.js';
import type { Exchange, Reply } from '../../service/client/exchange.js';
import type { sendBody } from '../../service/client/messaging.js';
import type { StatusHistory } from './history.js';
import type { Judge } from './judge.js';
import type { Listener } from './listener.js';
import type { ConformanceOptions } from './report.js';
import type { Session } from './session.js';
import type { Ways } from './ways.js';

/** A response of the account service. */
export interface AccountExchange {
  readonly operation: Parameters<AccountObserver>[0];
  readonly exchange: Exchange;
}

/** What the subscription of the lane was found to be; null if it could not be read. */
export type FoundSubscription =
  | { readonly kind: 'none' }
  | { readonly kind: 'exists'; readonly url: string }
  | null;

/** The subscription that a test creates and deletes. */
export interface TestSubscription {
  readonly url: string;
  readonly securityToken: string;
  /** Whether it may exist, so that it must be deleted. */
  mayExist: boolean;
  isCreated: boolean;
}

/** The message of a test. */
export interface TestMessage {
  /** What its request contains. */
  readonly content: Parameters<typeof sendBody>[0];
  /** The `resourceURL` of the response; null until the service has accepted the message. */
  resourceUrl: string | undefined | null;
  /** Of the request, and of its repetition if that has another one. */
  readonly ids: string[];
}

/** One test of a service, and what it has learned so far. */
export interface Run {
  readonly config: Config;
  readonly options: ConformanceOptions;
  readonly profile: ServiceProfile;
  /** Of the tested lane. */
  readonly session: Session;
  /** Of other lanes, which see whether they share its subscription. */
  readonly others: readonly Session[];
  readonly judge: Judge;
  /** The responses of the messaging service that were checked so far. */
  readonly seen: Reply[];
  /** The responses of the account service so far. */
  readonly accountExchanges: readonly AccountExchange[];
  readonly ways: Ways;
  readonly history: StatusHistory;
  /** Makes names that the service does not know. */
  nonce(): string;
  /** A sender, to ask for a request that does not exist. */
  readonly sender: string;
  /** Whether the service answered the first request. */
  isAnswered: boolean;
  /** The subscription of the lane, before the test creates one. */
  found: FoundSubscription;
  /** Undefined if the test creates none. */
  readonly subscription: TestSubscription | undefined;
  /** Undefined if the test sends none. */
  readonly message: TestMessage | undefined;
  readonly listener: Listener | undefined;
}
