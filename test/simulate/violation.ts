/** The invariants (CONTRIBUTING.md lists more tests of them). 0 is liveness: every world must come to an end. */
export const INVARIANTS = [
  'liveness',
  'quota',
  'at most once',
  'intent first',
  'conservation',
  'monotonic statuses',
  'one refresh',
  'one probe',
  'pause means pause',
  'no starvation',
  'nothing left behind',
  'results delivered',
  'only in its window',
  'as acknowledged',
  'nothing after a stop',
  'messages stored once',
  'events delivered',
] as const;

/** A broken invariant. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly invariant: number;

  constructor(invariant: number, message: string) {
    super(message);
    this.invariant = invariant;
  }

  get title(): string {
    return `invariant ${this.invariant} (${INVARIANTS[this.invariant] ?? 'unknown'})`;
  }
}
