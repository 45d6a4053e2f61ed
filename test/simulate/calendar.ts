/** Whose step it is. What belongs to a process waits while that is stopped, and never happens once it is dead. */
export interface Owner {
  readonly isDead: boolean;
  /** Until when it is stopped, ms of virtual time; a time that has passed means that it is not. */
  readonly stoppedUntil: number;
}

/** Something that is going to happen. */
export interface Step {
  at: number;
  readonly serial: number;
  readonly owner: Owner | undefined;
  /** A promise is awaited before anything else of this world happens. */
  readonly run: () => Promise<unknown> | undefined;
  isCancelled: boolean;
}

/** What is going to happen in one world, by virtual time; what falls on one moment goes in the order it was entered. */
export class Calendar {
  /** ms of virtual time. */
  now = 0;
  #serial = 0;
  readonly #heap: Step[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** Enters a step `inMs` from now; what it returns takes it out again. */
  enter(inMs: number, run: Step['run'], owner?: Owner): () => void {
    this.#serial += 1;
    const at = this.now + Math.max(0, Math.ceil(inMs));
    const step: Step = { at, serial: this.#serial, owner, run, isCancelled: false };
    this.#push(step);
    return () => {
      step.isCancelled = true;
    };
  }

  /** The next step, the time moved on to it; undefined when nothing is left to happen. */
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
      const above = (at - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(step, parent)) break;
      heap[at] = parent;
      at = above;
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
      let below = 2 * at + 1;
      const [left, right] = [heap[below], heap[below + 1]];
      if (left === undefined) break;
      const least = right !== undefined && isBefore(right, left) ? right : left;
      if (least === right) below += 1;
      if (!isBefore(least, last)) break;
      heap[at] = least;
      at = below;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(one: Step, other: Step): boolean {
  return one.at < other.at || (one.at === other.at && one.serial < other.serial);
}
