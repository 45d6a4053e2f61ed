import type { Schemas } from './api.js';
import type { Counts } from './recipients.js';

/** Recipients to whom a request was sent, or is being sent. */
function sentOf({ total, planned, lapsed, cancelled, suppressed }: Counts): number {
  return total - planned - lapsed - cancelled - suppressed;
}

/** Sends per minute between the samples. Messages that were released after a 429 make none negative. */
export function ratesOf(samples: readonly Schemas['ProgressSample'][]) {
  return samples.slice(1).flatMap((sample, at) => {
    const before = samples[at] ?? sample;
    const [from, to] = [Date.parse(before.at), Date.parse(sample.at)];
    const sent = Math.max(0, sentOf(sample.counts) - sentOf(before.counts));
    return to <= from ? [] : [{ from, to, value: (sent / (to - from)) * 60_000 }];
  });
}
