import type { Counts } from './recipients.js';

/*
 * How fast a campaign was sent, from the counts that were recorded while it ran.
 */

export interface Sample {
  readonly at: string;
  readonly counts: Counts;
}

/** A part of the time, and its rate per minute. */
export interface Rate {
  readonly from: number;
  readonly to: number;
  readonly value: number;
}

/** Recipients to whom a request was sent, or is being sent. */
function sentOf({ total, planned, lapsed, cancelled, suppressed }: Counts): number {
  return total - planned - lapsed - cancelled - suppressed;
}

/** The rates between the samples. Messages that were released after a 429 make none negative. */
export function ratesOf(samples: readonly Sample[]): Rate[] {
  return samples.slice(1).flatMap((sample, at) => {
    const before = samples[at];
    if (before === undefined) return [];
    const [from, to] = [Date.parse(before.at), Date.parse(sample.at)];
    if (to <= from) return [];
    const sent = Math.max(0, sentOf(sample.counts) - sentOf(before.counts));
    return [{ from, to, value: (sent / (to - from)) * 60_000 }];
  });
}

const MOST = 128;
/** As many samples as a chart can show: of more, every other one. */
export const thinned = (samples: readonly Sample[]): readonly Sample[] =>
  samples.length <= MOST ? samples : samples.filter((_, at) => at % 2 === 0 || at === samples.length - 1);
