import type { ProgressSample } from 'built/campaign/views/live-views.js';
import { sentOf } from '../../../campaign/states/recipient.js';

/** Sends per minute between the samples. Messages that were released after a 429 make none negative. */
export function ratesOf(samples: readonly ProgressSample[]) {
  return samples.slice(1).flatMap((sample, at) => {
    const before = samples[at] ?? sample;
    const [from, to] = [Date.parse(before.at), Date.parse(sample.at)];
    const sent = Math.max(0, sentOf(sample.counts) - sentOf(before.counts));
    return to <= from ? [] : [{ from, to, value: (sent / (to - from)) * 60_000 }];
  });
}
