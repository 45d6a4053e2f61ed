import { createHash, type Hash } from 'node:crypto';

/** The events of one world, one line each. Recorded only on request, because it takes time. */
export class Trace {
  readonly lines: string[] = [];
  readonly #hash: Hash | undefined;
  readonly #now: () => number;

  constructor(isWanted: boolean, now: () => number) {
    this.#hash = isWanted ? createHash('sha256') : undefined;
    this.#now = now;
  }

  get isWanted(): boolean {
    return this.#hash !== undefined;
  }

  /** `who` is a process or another actor: `redis`, `service`, `accounts`, `operator`, `fault`, or `checker`. */
  add(who: string, what: string): void {
    if (this.#hash === undefined) return;
    const line = `${(this.#now() / 1000).toFixed(3).padStart(11)} s  ${who.padEnd(9)} ${what}`;
    this.#hash.update(line);
    this.lines.push(line);
  }

  get digest(): string {
    return this.#hash?.copy().digest('hex') ?? '';
  }
}
