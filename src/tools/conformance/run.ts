import type { Config } from '../../base/config/index.js';
import type { ServiceProfile } from '../../base/profiles/index.js';
import type { Checker } from './check.js';
import type { StatusHistory } from './history.js';
import type { ConformanceOptions } from './report.js';
import type { Session } from './session.js';
import type { Ways } from './ways.js';

/** One test of a service. */
export interface Run {
  readonly config: Config;
  readonly options: ConformanceOptions;
  readonly profile: ServiceProfile;
  /** Of the tested lane. */
  readonly session: Session;
  /** Of other lanes, which see whether they share its subscription. */
  readonly others: readonly Session[];
  readonly checker: Checker;
  readonly ways: Ways;
  readonly history: StatusHistory;
  /** Makes names that the service does not know. */
  nonce(): string;
  /** The sender in the paths of requests that do not exist. */
  readonly sender: string;
}
