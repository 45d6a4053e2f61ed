import { createHash } from 'node:crypto';
import type { Outcome } from '../world.js';

/** The result of one world, as a worker process reports it. */
export interface Result {
  readonly name: string;
  readonly steps: number;
  readonly virtualMs: number;
  /** The injected faults and how often each occurred. */
  readonly faults: readonly (readonly [what: string, times: number])[];
  readonly violation: { readonly title: string; readonly message: string } | undefined;
  /** The digest of the trace; empty when traces are off. */
  readonly trace: string;
}

export function resultOf({ name, steps, virtualMs, faults, violation, trace }: Outcome): Result {
  return {
    name,
    steps,
    virtualMs,
    faults: [...faults],
    violation: violation && { title: violation.title, message: violation.message },
    trace: trace.digest,
  };
}

/** The totals over many worlds. They do not depend on the order in which worlds end. */
export class Totals {
  worlds = 0;
  steps = 0;
  virtualMs = 0;
  readonly faults = new Map<string, number>();
  readonly violated: Result[] = [];
  #mark = 0n;
  #traces = 0n;

  add(result: Result): void {
    this.worlds += 1;
    this.steps += result.steps;
    this.virtualMs += result.virtualMs;
    for (const [what, times] of result.faults) this.faults.set(what, (this.faults.get(what) ?? 0) + times);
    if (result.violation !== undefined) this.violated.push(result);
    const text = JSON.stringify([result.name, result.steps, result.virtualMs, result.violation?.message]);
    this.#mark ^= hashOf(text);
    if (result.trace !== '') this.#traces ^= hashOf(`${result.name} ${result.trace}`);
  }

  /** A hash of the worlds' steps, virtual times, and violations: equal for equal worlds and equal behaviour. */
  get mark(): string {
    return hex(this.#mark);
  }

  /** A hash of the worlds' traces: equal if every line of every trace is equal; 0 when traces are off. */
  get traces(): string {
    return hex(this.#traces);
  }
}

const hashOf = (text: string): bigint => createHash('sha256').update(text).digest().readBigUInt64BE();
const hex = (hash: bigint): string => hash.toString(16).padStart(16, '0');
