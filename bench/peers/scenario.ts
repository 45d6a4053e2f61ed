/** What is put before every contestant alike. All times in ms. */
export interface Scenario {
  readonly recipients: number;
  /** Requests a window. */
  readonly quota: number;
  readonly windowMs: number;
  /** How the service counts. */
  readonly model: 'sliding' | 'clock';
  /** Whether a worker is killed half-way. */
  readonly kill: boolean;
  /** From a request's arrival to its answer, and what it takes to arrive: drawn evenly. */
  readonly latencyMs: readonly [least: number, most: number];
  readonly arrivalMs: readonly [least: number, most: number];
  /** From acceptance to the final status: one time for all, so that the books alone tell which poll reported it. */
  readonly deliveryMs: number;
  readonly pollMs: number;
  readonly workers: number;
  /** Of one worker. */
  readonly inFlight: number;
  /** Who has not got on for so long is taken to be done. */
  readonly silenceMs: number;
  /** A round is broken off after so long. */
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

/** Longer than BullMQ's lock and its check for stalled jobs together, by their defaults. */
const LONGER_THAN_A_LOCK_MS = 65_000;

const FULL: Scenario = {
  ...COMMON,
  recipients: 1_000,
  quota: 300,
  windowMs: 10_000,
  silenceMs: LONGER_THAN_A_LOCK_MS,
  patienceMs: 150_000,
};
/** bottleneck refreshes a clustered reservoir every 5 s at the soonest. */
const TINY: Scenario = {
  ...COMMON,
  recipients: 40,
  quota: 40,
  windowMs: 5_000,
  silenceMs: 8_000,
  patienceMs: 16_000,
};

/** The rounds of a whole run, in order: the same thing several times, for medians. */
export const FULL_ROUNDS: readonly Scenario[] = [
  FULL,
  { ...FULL, kill: true },
  FULL,
  { ...FULL, kill: true },
  FULL,
  { ...FULL, kill: true },
  { ...FULL, model: 'clock' },
];
/** Small enough to show within a minute that everything runs. */
export const SMOKE_ROUNDS: readonly Scenario[] = [TINY, { ...TINY, kill: true }];

/** So many different mobile numbers. */
export function numbers(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `+4670${String(at).padStart(7, '0')}`);
}
