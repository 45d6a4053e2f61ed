/** Milliseconds that always move forward, such as `performance.now`. */
export type Monotonic = () => number;

const MINUTE_MS = 60_000;

/**
 * Allows `perMinute` tokens a minute, and as many at once after a quiet minute. What is spent beyond the tokens that are left is a
 * debt, which returns at the same rate.
 */
export class TokenBucket {
  readonly perMinute: number;
  readonly #now: Monotonic;
  #tokens: number;
  #at: number;

  constructor(perMinute: number, now: Monotonic = () => performance.now()) {
    this.perMinute = perMinute;
    this.#now = now;
    this.#tokens = perMinute;
    this.#at = now();
  }

  /** Takes tokens. Returns false, and takes none, if there are not so many. */
  take(tokens = 1): boolean {
    if (this.left() < tokens) return false;
    this.#tokens -= tokens;
    return true;
  }

  /** Takes tokens even if there are not enough. */
  spend(tokens: number): void {
    this.left();
    this.#tokens -= tokens;
  }

  /** The tokens that are left; negative for a debt. */
  left(): number {
    const now = this.#now();
    this.#tokens = Math.min(this.perMinute, this.#tokens + ((now - this.#at) * this.perMinute) / MINUTE_MS);
    this.#at = now;
    return this.#tokens;
  }

  /** Whole seconds until this many tokens are left; 0 if they are. */
  secondsUntil(tokens: number): number {
    const missing = tokens - this.left();
    return missing <= 0 ? 0 : Math.ceil((missing / this.perMinute) * 60);
  }
}
