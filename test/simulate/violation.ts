/** The invariants of docs/architecture.md, by their numbers there; 0 is liveness, what none of them says but all need. */
export const INVARIANTS = [
  'liveness',
  'quota',
  'at most once',
  'intent first',
  'conservation',
  'monotonic',
  'one refresh',
  'one probe',
  'pause means pause',
  'no starvation',
  'nothing left',
] as const;

/** An invariant that does not hold in a world. */
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
