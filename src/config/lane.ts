/** What proves to the service who sends. */
export type Credentials =
  | { kind: 'apiKey'; apiKey: string }
  | {
      kind: 'account';
      username: string;
      password: string;
      /** Child organisation that a reseller acts for (interface page, Login request). */
      targetAccountId?: string;
    };

/** What becomes of recipients of whom nobody knows whether their request was accepted. */
export type UnknownOutcome =
  /** They wait for the operator's `resolve`. */
  | { action: 'hold' }
  /** Given up, or sent again at the risk of a second text, `afterMs` milliseconds after their request left. */
  | { action: 'abandon' | 'resend'; afterMs: number };

/** How a lane behaves; what a command that never speaks with the service needs of it. */
export interface LaneRules {
  /** Unique; letters, digits and `_ . -`. */
  name: string;
  /** Requests a quota window, sends and polls together, or `auto`: learned from the service's 429. */
  hourlyQuota: number | 'auto';
  /** Share of the quota that may be held back for polls: 0 to 0.9. */
  pollShare: number;
  /** `burst` uses permits as soon as there are any; `smooth` spreads them over the window. */
  pacing: 'burst' | 'smooth';
  /** Recipients that share one send request: 1 to 1000. */
  maxRecipientsPerRequest: number;
  unknownOutcome: UnknownOutcome;
  /**
   * Whether requests carry a `clientCorrelator` (the interface page does not show whether they may): `off`, `send`,
   * or `deduplicates` where the service is known to answer a repeated one without sending again.
   */
  clientCorrelator: 'off' | 'send' | 'deduplicates';
}

/** A lane with what it sends with. */
export interface LaneSettings extends LaneRules {
  credentials: Credentials;
}

/** The rules of a lane of which nothing is said. */
export const LANE_DEFAULTS = {
  pollShare: 0.2,
  pacing: 'burst',
  unknownOutcome: { action: 'hold' },
  clientCorrelator: 'off',
} as const satisfies Partial<LaneRules>;
