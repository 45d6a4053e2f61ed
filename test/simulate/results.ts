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
  /** Of everything that happened in it; empty unless traces were asked for. */
  readonly trace: string;
}

export function resultOf({ seed, steps, virtualMs, faults, violation, trace }: Outcome): Result {
  return {
    seed,
    steps,
    virtualMs,
    faults: [...faults],
    violation: violation && { title: violation.title, message: violation.message },
    trace: trace.digest,
  };
}

/** What many seeds come to, in whatever order they end. */
export class Totals {
  seeds = 0;
  steps = 0;
  virtualMs = 0;
  readonly faults = new Map<string, number>();
  readonly violated: Result[] = [];
  #mark = 0n;
  #traces = 0n;

  add(result: Result): void {
    this.seeds += 1;
    this.steps += result.steps;
    this.virtualMs += result.virtualMs;
    for (const [what, times] of result.faults) this.faults.set(what, (this.faults.get(what) ?? 0) + times);
    if (result.violation !== undefined) this.violated.push(result);
    const text = JSON.stringify([result.seed, result.steps, result.virtualMs, result.violation?.message]);
    this.#mark ^= hashOf(text);
    if (result.trace !== '') this.#traces ^= hashOf(`${result.seed} ${result.trace}`);
  }

  /** The same for the same seeds and the same code, whatever the number of workers. */
  get mark(): string {
    return hex(this.#mark);
  }

  /** Equal for two versions of the code whose traces are equal, line by line; 0 without traces. */
  get traces(): string {
    return hex(this.#traces);
  }
}

const hashOf = (text: string): bigint => createHash('sha256').update(text).digest().readBigUInt64BE();
const hex = (hash: bigint): string => hash.toString(16).padStart(16, '0');
