/**
 * Five models of how the service may count "requests in the last hour", which the interface page does not define:
 *
 * - `clock`             windows aligned to the clock; the count restarts at every full hour
 * - `first`             a window starts with the first request after the previous window
 * - `sliding`           at most N admitted requests in any rolling window
 * - `sliding-rejected`  the same, but rejected requests count too, so a client that keeps trying stays blocked
 * - `bucket`            a token bucket of capacity N, refilled with N tokens per window, full at the start
 */
export const QUOTA_MODELS = ['clock', 'first', 'sliding', 'sliding-rejected', 'bucket'] as const;

/** See {@link QUOTA_MODELS}. */
export type QuotaModelName = (typeof QUOTA_MODELS)[number];

/** Counts the requests of one key. */
export interface QuotaModel {
  /**
   * Counts a request that arrives at `now` (whole ms). Returns 0 if it is admitted, otherwise the ms until a request would
   * be admitted if none arrives before. A `now` earlier than the previous one counts as the previous one.
   */
  arrive(now: number): number;
}

/** A model that admits `limit` requests (0 or more) per window of `windowMs`. Each arrival takes O(1). */
export function createQuotaModel(model: QuotaModelName, limit: number, windowMs: number): QuotaModel {
  if (limit === 0) return { arrive: () => windowMs };
  return forwardOnly(modelOf(model, limit, windowMs));
}

function modelOf(model: QuotaModelName, limit: number, windowMs: number): QuotaModel {
  switch (model) {
    case 'clock':
      return fixedWindow(limit, windowMs, (now) => now - (now % windowMs));
    case 'first':
      return fixedWindow(limit, windowMs, (now) => now);
    case 'sliding':
      return rollingWindow(limit, windowMs, false);
    case 'sliding-rejected':
      return rollingWindow(limit, windowMs, true);
    case 'bucket':
      return tokenBucket(limit, windowMs);
    default:
      return model satisfies never;
  }
}

function fixedWindow(limit: number, windowMs: number, startFor: (now: number) => number): QuotaModel {
  let start = Number.NEGATIVE_INFINITY;
  let count = 0;
  return {
    arrive(now) {
      if (now >= start + windowMs) {
        start = startFor(now);
        count = 0;
      }
      if (count >= limit) return start + windowMs - now;
      count += 1;
      return 0;
    },
  };
}

/**
 * The window (now - windowMs, now] contains `limit` requests exactly if the `limit`-th last one is inside it, so a ring
 * buffer of the last `limit` counted times is enough.
 */
function rollingWindow(limit: number, windowMs: number, countRejected: boolean): QuotaModel {
  const times = new Float64Array(limit).fill(Number.NEGATIVE_INFINITY);
  let oldest = 0;
  const count = (now: number) => {
    times[oldest] = now;
    oldest = (oldest + 1) % limit;
  };
  return {
    arrive(now) {
      const wait = (times[oldest] ?? 0) + windowMs - now;
      if (wait <= 0) {
        count(now);
        return 0;
      }
      if (!countRejected) return wait;
      count(now);
      return (times[oldest] ?? 0) + windowMs - now;
    },
  };
}

/** The level is in token-milliseconds (one token = `windowMs` of them), so that whole ms stay exact. */
function tokenBucket(limit: number, windowMs: number): QuotaModel {
  const full = limit * windowMs;
  let level = full;
  let filledAt = 0;
  return {
    arrive(now) {
      level = Math.min(full, level + (now - filledAt) * limit);
      filledAt = now;
      if (level < windowMs) return Math.ceil((windowMs - level) / limit);
      level -= windowMs;
      return 0;
    },
  };
}

function forwardOnly(model: QuotaModel): QuotaModel {
  let latest = 0;
  return {
    arrive(now) {
      latest = Math.max(latest, now);
      return model.arrive(latest);
    },
  };
}
