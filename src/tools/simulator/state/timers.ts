/** The scheduled actions of a simulator, so that closing can cancel them. */
export class Timers {
  readonly #pending = new Set<NodeJS.Timeout>();

  /** Runs `action` in `ms` milliseconds; synchronously if that is 0. */
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
