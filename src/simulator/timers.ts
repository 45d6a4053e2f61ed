/** Everything that is to happen later, so that closing can call it off. */
export class Timers {
  readonly #pending = new Set<NodeJS.Timeout>();

  /** Runs `action` in `ms` milliseconds; right away, in the caller's turn, if that is 0. */
  after(ms: number, action: () => void): void {
    if (ms <= 0) {
      action();
      return;
    }
    const timer = setTimeout(
      () => {
        this.#pending.delete(timer);
        action();
      },
      Math.min(ms, 0x7fff_ffff),
    );
    this.#pending.add(timer);
  }

  cancelAll(): void {
    for (const timer of this.#pending) clearTimeout(timer);
    this.#pending.clear();
  }
}
