import type { Accounts } from './accounts.js';
import type { ArrivalLog, WindowMaximum } from './arrivals.js';
import type { KeyRing } from './key-ring.js';
import type { Ledger } from './ledger.js';
import type { Subscriptions } from './subscriptions.js';
import type { TokenOffice } from './tokens.js';

/** The counts of a run. */
export interface Summary {
  /** Accepted send requests and their recipients. */
  requests: number;
  recipients: number;
  /** Different (number, text) pairs accepted more than once. */
  duplicates: number;
  /** Sends and polls answered 429: because the quota was used up, and by a fault or magic recipient. */
  throttled: number;
  throttledByFault: number;
  /** Every area A request, and those for delivery infos that got them. */
  arrivals: number;
  polls: number;
  /** Area B requests, those that got a pair, and refresh tokens that were presented although used. */
  logins: number;
  loginsGranted: number;
  refreshes: number;
  refreshesGranted: number;
  reusedRefreshTokens: number;
  /** Notifications sent, of these those that were sent twice, and besides them those lost and forged. */
  notifications: number;
  notificationsTwice: number;
  notificationsLost: number;
  notificationsForged: number;
  /** For each key: the most sends and polls in any rolling window of its quota. */
  maxPerWindow: WindowMaximum[];
}

/** What a summary is made from. */
export interface Books {
  readonly ledger: Ledger;
  readonly arrivals: ArrivalLog;
  readonly keys: KeyRing;
  readonly accounts: Accounts;
  readonly tokens: TokenOffice;
  readonly subscriptions: Subscriptions;
}

/** Adds the books up. The window maxima read the whole arrival log, so ask at the end, not in a loop. */
export function summarise({ ledger, arrivals, keys, accounts, tokens, subscriptions }: Books): Summary {
  return {
    requests: ledger.requests,
    recipients: ledger.recipients,
    duplicates: ledger.duplicates,
    throttled: arrivals.count('quotaExceeded'),
    throttledByFault: arrivals.count('throttledByFault'),
    arrivals: arrivals.length,
    polls: arrivals.count('infos'),
    ...accounts.counts,
    reusedRefreshTokens: tokens.reused,
    notifications: subscriptions.sent,
    notificationsTwice: subscriptions.duplicated,
    notificationsLost: subscriptions.lost,
    notificationsForged: subscriptions.forged,
    maxPerWindow: Array.from(keys.states(), ({ index, name, settings: { quota, windowMs } }) => ({
      key: name,
      quota,
      windowMs,
      ...arrivals.maxInWindow(index, windowMs),
    })),
  };
}
