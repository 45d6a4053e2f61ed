/** The settings of a lane that its scripts need. Every call passes them, so that Redis never holds an outdated copy. */
export interface ScriptRules {
  /** Requests per window; 0: `auto`. */
  readonly quota: number;
  /** The quota window, ms. All durations here are in ms. */
  readonly window: number;
  readonly pollShare: number;
  readonly smooth: boolean;
  /** Maximum requests of a kind in flight. */
  readonly inFlight: number;
  /** The maximum duration of a request. */
  readonly timeout: number;
  /** How much longer than its request a claim may take before it is overdue. */
  readonly margin: number;
  readonly maxRecipients: number;
  readonly firstPoll: number;
  /** The minimum time between two polls of one request. */
  readonly pollAgain: number;
  readonly deadline: number;
  /** The first backoff after a 429 or a failure that names no time; each further one doubles it. */
  readonly backoff: number;
  /** How long nothing is claimed after Redis may have lost data. */
  readonly grace: number;
  /**
   * How long after its first request a batch may be sent again under its correlator, ms; 0: never. Until then, the service
   * remembers the correlator when the repeat arrives.
   */
  readonly repeatFor: number;
  /** With `repeatFor`: the profile under whose rules a batch is sent again. Default, for tests: v1. */
  readonly profile?: string;
  /** The rule of the lane's window (campaign/estimate/window.ts). Without one, it is always open. */
  readonly sendWindow?: string;
  /** Age at which the lane's policy resolves a request with an unknown outcome; 0: never. */
  readonly resolveAfter: number;
  /** Of a stored lane: the revision of these settings. */
  readonly revision?: number;
  /** Set if notifications are on: the lane keeps an index of request ids. */
  readonly notify?: true;
  /** With `notify`: notifications carry the references of their batches, so the lane needs no index of request ids. */
  readonly byReference?: true;
  /** With `notify`: how long a notification waits until its request is known. */
  readonly early?: number;
  /** With `notify`: how long after the last notification the lane still relies on notifications. */
  readonly heard?: number;
  /** With `notify`: while the lane relies on notifications, the minimum delay of a first poll and between polls. */
  readonly patience?: number;
}
