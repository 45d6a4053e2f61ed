import { eventsOf, type HistoryEvent } from '../history.js';

/** The most of these ascending times that lie less than `windowMs` apart, and when the last of them was. */
export function mostInWindow(times: readonly number[], windowMs: number): { most: number; at: number } {
  let [oldest, most, at] = [0, 0, 0];
  for (const [index, time] of times.entries()) {
    while ((times[oldest] ?? time) <= time - windowMs) oldest += 1;
    if (index - oldest + 1 > most) [most, at] = [index - oldest + 1, time];
  }
  return { most, at };
}

/** In no rolling window more sends and polls of a key arrive than the service permits it, whatever it answered them. */
export function quota(events: readonly HistoryEvent[]): string[] {
  const requests = eventsOf(events, 'request');
  return eventsOf(events, 'run').flatMap(({ quotas }) =>
    quotas.flatMap((permitted) => {
      const times = requests.filter(({ key }) => key === permitted.key).map(({ at }) => at);
      const { most, at } = mostInWindow(
        times.sort((a, b) => a - b),
        permitted.windowMs,
      );
      if (most <= permitted.quota) return [];
      return [
        `${most} requests of ${permitted.key} in the ${permitted.windowMs} ms before ${at}, permitted ${permitted.quota}`,
      ];
    }),
  );
}
