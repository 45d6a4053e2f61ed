import type { Config } from '../../base/config/index.js';
import type { ServiceProfile } from '../../base/profiles/index.js';
import type { AccountObserver } from '../../service/client/accounts.js';
import type { Exchange, Reply } from '../../service/client/exchange.js';
import type { StatusHistory } from './history.js';
import type { Judge } from './judge.js';
import type { ConformanceOptions } from './report.js';
import type { Session } from './session.js';
import type { Ways } from './ways.js';

/** A response of the account service. */
export interface AccountExchange {
  readonly operation: Parameters<AccountObserver>[0];
  readonly exchange: Exchange;
}

/** One test of a service. */
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
}
