/** The values of the limits of limits.ts, which has a row for each. */
export interface LimitValues {
  /** Whether the key works only on lanes whose service is a simulator. */
  readonly test: boolean;
  readonly senders: readonly string[];
  /** ISO 3166 codes. */
  readonly countries: readonly string[];
  /** Of each message. */
  readonly maxSegments: number;
  /** Messages that are stored per UTC day: by a key on all of its lanes, or by everyone on a lane. */
  readonly recipientsPerDay: number;
  /** What they cost per UTC day: `50` or `50 EUR`. */
  readonly costPerDay: string;
  /** Requests to the HTTP API, in each process; null: as HTTP_REQUESTS_PER_MINUTE says. */
  readonly requestsPerMinute: number;
  /** IP addresses and networks from which a key may be used. */
  readonly addresses: readonly string[];
}

/** The name of a limit. */
export type LimitName = keyof LimitValues;

/** The limits of an API key; null: none. */
export type KeyLimits = { readonly [Name in LimitName]: LimitValues[Name] | null };

/** Limits, of which any may be missing. */
export type SomeLimits = { readonly [Name in LimitName]?: LimitValues[Name] | null | undefined };
