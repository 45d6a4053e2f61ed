/** The process that a step belongs to. Its steps wait while it is stopped, and never run once it is dead. */
export interface Owner {
  readonly isDead: boolean;
  /** The end of its stop, ms of virtual time; in the past when it is not stopped. */
  readonly stoppedUntil: number;
}

/** Something scheduled to happen at a point in virtual time. */
export interface Step {
  at: number;
  readonly serial: number;
  readonly owner: Owner | undefined;
  /** A returned promise is awaited before the next step runs. */
  readonly run: () => Promise<unknown> | undefined;
  isCancelled: boolean;
}

/** The virtual time of one world and its queue of steps. Steps due at the same time run in the order they were scheduled. */
export class VirtualClock {
  /** ms of virtual time. */
  now = 0;
  #serial = 0;
  readonly #heap: Step[] = [];

  /** Schedules a step in `inMs` and returns a function that cancels it. */
  schedule(inMs: number, run: Step['run'], owner?: Owner): () => void {
    this.#serial += 1;
    const at = this.now + Math.max(0, Math.ceil(inMs));
    const step: Step = { at, serial: this.#serial, owner, run, isCancelled: false };
    this.#push(step);
    return () => {
      step.isCancelled = true;
    };
  }

  /** Moves the time on to the next step and returns it; undefined when no step is left. */
  next(): Step | undefined {
    for (;;) {
      const step = this.#pop();
      if (step === undefined) return undefined;
      if (step.isCancelled || step.owner?.isDead === true) continue;
      const waits = step.owner !== undefined && step.owner.stoppedUntil > Math.max(step.at, this.now);
      if (!waits) {
        this.now = Math.max(this.now, step.at);
        return step;
      }
      step.at = step.owner?.stoppedUntil ?? step.at;
      this.#push(step);
    }
  }

  #push(step: Step): void {
    const heap = this.#heap;
    let at = heap.push(step) - 1;
    while (at > 0) {
      const parentIndex = (at - 1) >> 1;
      const parent = heap[parentIndex];
      if (parent === undefined || !isBefore(step, parent)) break;
      heap[at] = parent;
      at = parentIndex;
    }
    heap[at] = step;
  }

  #pop(): Step | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let childIndex = 2 * at + 1;
      const [left, right] = [heap[childIndex], heap[childIndex + 1]];
      if (left === undefined) break;
      const child = right !== undefined && isBefore(right, left) ? right : left;
      if (child === right) childIndex += 1;
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = childIndex;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(one: Step, other: Step): boolean {
  return one.at < other.at || (one.at === other.at && one.serial < other.serial);
}
