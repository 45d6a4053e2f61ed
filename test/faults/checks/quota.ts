import { eventsOf, type HistoryEvent } from '../history.js';

/** The largest number of these ascending times within `windowMs`, and the last time of that window. */
export function maxInWindow(times: readonly number[], windowMs: number): { max: number; at: number } {
  let [oldest, max, at] = [0, 0, 0];
  for (const [index, time] of times.entries()) {
    while ((times[oldest] ?? time) <= time - windowMs) oldest += 1;
    if (index - oldest + 1 > max) [max, at] = [index - oldest + 1, time];
  }
  return { max, at };
}

/** In every rolling window, the sends and polls of a key stay within its quota, whatever the service answers. */
export function quota(events: readonly HistoryEvent[]): string[] {
  const requests = eventsOf(events, 'request');
  return eventsOf(events, 'run').flatMap(({ quotas }) =>
    quotas.flatMap((permitted) => {
      const times = requests.filter(({ key }) => key === permitted.key).map(({ at }) => at);
      const { max, at } = maxInWindow(
        times.sort((a, b) => a - b),
        permitted.windowMs,
      );
      if (max <= permitted.quota) return [];
      return [
        `${max} requests of ${permitted.key} in the ${permitted.windowMs} ms before ${at}, quota ${permitted.quota}`,
      ];
    }),
  );
}
