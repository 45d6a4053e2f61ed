import type { Accounts } from './accounts/accounts.js';
import type { Clients } from './accounts/clients.js';
import type { TokenIssuer } from './accounts/tokens.js';
import type { Notifications } from './messages/notifications.js';
import type { ArrivalLog, WindowMaximum } from './state/arrivals.js';
import type { KeyRing } from './state/key-ring.js';
import type { Ledger } from './state/ledger.js';

/** The counts since the start or the last `clear()`. */
export interface Summary {
  /** Accepted send requests and their recipients. */
  requests: number;
  recipients: number;
  /** Distinct (number, text) pairs that were accepted more than once. */
  duplicates: number;
  /** Sends and polls answered 429: because of the quota, and because of a fault or magic recipient. */
  throttled: number;
  throttledByFault: number;
  /** All messaging requests, and the successful polls. */
  arrivals: number;
  polls: number;
  /** Logins and refreshes, those that were granted, and refresh tokens that were presented a second time. */
  logins: number;
  loginsGranted: number;
  refreshes: number;
  refreshesGranted: number;
  reusedRefreshTokens: number;
  /** Requests for the token of a client, and those that were granted. */
  clientTokens: number;
  clientTokensGranted: number;
  /** Notifications sent; the repeated ones among them; and the lost and forged ones, which are not included. */
  notifications: number;
  notificationsTwice: number;
  notificationsLost: number;
  notificationsForged: number;
  /** For each key: the largest number of sends and polls in any rolling window of its quota. */
  maxPerWindow: WindowMaximum[];
}

/** The data from which a summary is computed. */
export interface SummarySources {
  readonly ledger: Ledger;
  readonly arrivals: ArrivalLog;
  readonly keys: KeyRing;
  readonly accounts: Accounts;
  readonly clients: Clients;
  readonly tokens: TokenIssuer;
  readonly notifications: Notifications;
}

/** Computes the summary. The window maxima read the whole arrival log, so do not call it in a loop. */
export function summarise({
  ledger,
  arrivals,
  keys,
  accounts,
  clients,
  tokens,
  notifications,
}: SummarySources): Summary {
  return {
    requests: ledger.requests,
    recipients: ledger.recipients,
    duplicates: ledger.duplicates,
    throttled: arrivals.count('quotaExceeded'),
    throttledByFault: arrivals.count('throttledByFault'),
    arrivals: arrivals.length,
    polls: arrivals.count('infos'),
    ...accounts.counts,
    ...clients.counts,
    reusedRefreshTokens: tokens.reused,
    notifications: notifications.sent,
    notificationsTwice: notifications.duplicated,
    notificationsLost: notifications.lost,
    notificationsForged: notifications.forged,
    maxPerWindow: Array.from(keys.states(), ({ name, settings: { quota, windowMs } }) => ({
      key: name,
      quota,
      windowMs,
      ...arrivals.maxInWindow(name, windowMs),
    })),
  };
}
