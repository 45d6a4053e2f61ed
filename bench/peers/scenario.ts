/** The task that every contestant gets. All times in ms. */
export interface Scenario {
  readonly recipients: number;
  /** Requests per window. */
  readonly quota: number;
  readonly windowMs: number;
  /** How the service counts. */
  readonly model: 'sliding' | 'clock';
  /** Whether a worker is killed half-way. */
  readonly kill: boolean;
  /** The time from a request's arrival to its response, and the time until it arrives; both uniformly distributed. */
  readonly latencyMs: readonly [least: number, most: number];
  readonly arrivalMs: readonly [least: number, most: number];
  /** From acceptance to the final status. It is fixed, so that the logs show which poll returned it. */
  readonly deliveryMs: number;
  readonly pollMs: number;
  readonly workers: number;
  /** Per worker. */
  readonly inFlight: number;
  /** A contestant without progress for this long counts as done. */
  readonly silenceMs: number;
  /** A round is aborted after this time. */
  readonly patienceMs: number;
}

const COMMON = {
  model: 'sliding',
  kill: false,
  latencyMs: [50, 150],
  arrivalMs: [0, 50],
  deliveryMs: 1_500,
  pollMs: 1_000,
  workers: 2,
  inFlight: 16,
} as const;

/** Longer than the defaults of BullMQ's lock and of its check for stalled jobs together. */
const LONGER_THAN_A_LOCK_MS = 65_000;

const FULL: Scenario = {
  ...COMMON,
  recipients: 1_000,
  quota: 300,
  windowMs: 10_000,
  silenceMs: LONGER_THAN_A_LOCK_MS,
  patienceMs: 150_000,
};
/** bottleneck refreshes a clustered reservoir at most every 5 s. */
const TINY: Scenario = {
  ...COMMON,
  recipients: 40,
  quota: 40,
  windowMs: 5_000,
  silenceMs: 8_000,
  patienceMs: 16_000,
};

/** The rounds of a full run, in order. They repeat, so that medians can be taken. */
export const FULL_ROUNDS: readonly Scenario[] = [
  FULL,
  { ...FULL, kill: true },
  FULL,
  { ...FULL, kill: true },
  FULL,
  { ...FULL, kill: true },
  { ...FULL, model: 'clock' },
];
/** A small round that shows within a minute that everything works. */
export const SMOKE_ROUNDS: readonly Scenario[] = [TINY, { ...TINY, kill: true }];

/** Distinct mobile numbers. */
export function numbers(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `+4670${String(at).padStart(7, '0')}`);
}
