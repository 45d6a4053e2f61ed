import { createHash } from 'node:crypto';
import type { Outcome } from './world.js';

/** What a worker says of a seed. */
export interface Result {
  readonly seed: number;
  readonly steps: number;
  readonly virtualMs: number;
  /** What went wrong in it, and how often. */
  readonly faults: readonly (readonly [what: string, times: number])[];
  readonly violation: { readonly title: string; readonly message: string } | undefined;
}

export function resultOf({ seed, steps, virtualMs, faults, violation }: Outcome): Result {
  return {
    seed,
    steps,
    virtualMs,
    faults: [...faults],
    violation: violation && { title: violation.title, message: violation.message },
  };
}

/** What many seeds come to, in whatever order they end. */
export class Tally {
  seeds = 0;
  steps = 0;
  virtualMs = 0;
  readonly faults = new Map<string, number>();
  readonly violated: Result[] = [];
  #mark = 0n;

  add(result: Result): void {
    this.seeds += 1;
    this.steps += result.steps;
    this.virtualMs += result.virtualMs;
    for (const [what, times] of result.faults) this.faults.set(what, (this.faults.get(what) ?? 0) + times);
    if (result.violation !== undefined) this.violated.push(result);
    const text = JSON.stringify([result.seed, result.steps, result.virtualMs, result.violation?.message]);
    this.#mark ^= createHash('sha256').update(text).digest().readBigUInt64BE();
  }

  /** The same for the same seeds and the same code, whatever the number of workers. */
  get mark(): string {
    return this.#mark.toString(16).padStart(16, '0');
  }
}
