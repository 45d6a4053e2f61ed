import type { ProfileName } from '../../base/profiles/index.js';

/** The result of one check. Texts contain no key, token, phone number, or text of a message. */
export interface ConformanceCheck {
  readonly kind: 'check';
  /** What was requested, such as `GET /outbound/subscriptions without a key`. */
  readonly name: string;
  /** The section of the interface page that the check belongs to. */
  readonly section: string;
  readonly result: 'passed' | 'failed' | 'skipped';
  /** What the interface page says. */
  readonly expected: string;
  /** What arrived, or why the check was skipped. */
  readonly found: string;
}

/** Which way the service takes where the interface page shows none. */
export interface ConformanceWay {
  readonly kind: 'way';
  /** What the page does not show. */
  readonly topic: string;
  /** What the service does; null if it was not seen. */
  readonly found: string | null;
  /** The setting that follows from it, or what to do to see it; null if there is nothing to set. */
  readonly advice: string | null;
}

/** One result of a conformance test, in the order in which they are known: first the checks, then the ways. */
export type ConformanceResult = ConformanceCheck | ConformanceWay;

/** What a conformance test does. By default it only reads. */
export interface ConformanceOptions {
  /** The lane whose credentials and permits are used. Default: the only one. */
  readonly lane?: string | undefined;
  /** The version of the interface that the service is compared with. Default: that of the lane. */
  readonly profile?: ProfileName | undefined;
  /** The messaging service, the part before `/outbound`. Default: that of the configuration. */
  readonly baseUrl?: string | undefined;
  /** The account service, the part before `/api/login`. Default: that of the configuration, or the origin of `baseUrl`. */
  readonly accountBaseUrl?: string | undefined;
  /** A request that you have sent earlier; its delivery infos are read. */
  readonly request?: { readonly sender: string; readonly id: string } | undefined;
  /** Logs in to the account, even if there is a token. A refused login counts towards the lockout of the account. */
  readonly login?: boolean | undefined;
  /** Sends one message, to one number or several (E.164). */
  readonly send?: ConformanceSend | undefined;
  /** Creates a subscription with this address and deletes it, if there is none. */
  readonly subscribe?: { readonly url: string } | undefined;
  /**
   * Records the notifications of the message at this http address of this machine, and checks them. Subscribes with it, or with the
   * address of `subscribe`, which leads there. `wait`: for how long it waits for them; default `1m`.
   */
  readonly listen?: { readonly url: string; readonly wait?: string | undefined } | undefined;
  /** Ends the test after the request in flight. */
  readonly signal?: AbortSignal | undefined;
}

/** The message of a conformance test. */
export interface ConformanceSend {
  /** All in one request. */
  readonly to: string | readonly string[];
  readonly sender: string;
  /** Default: a text that says that it is a test. */
  readonly text?: string | undefined;
  /** Sends a `clientCorrelator` with it. Default: as the lane does; always if the profile documents it. */
  readonly correlator?: boolean | undefined;
  /** Repeats the request with its `clientCorrelator`: a service that does not deduplicate sends a second message. */
  readonly twice?: boolean | undefined;
}

/** The recipients of the message of a test. */
export function recipientsOf({ to }: ConformanceSend): readonly string[] {
  return typeof to === 'string' ? [to] : to;
}
