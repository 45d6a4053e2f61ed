import { eventsOf, type HistoryEvent } from '../history.js';

/** How long a request that leaves just before its window closes may take to arrive on a busy machine, ms. A stopped process continues later. */
const ARRIVES_WITHIN_MS = 950;
/** How soon a process that continues finishes the write that it had begun when it was stopped, ms. */
const FINISHES_WITHIN_MS = 100;

/**
 * Every send of a campaign with a window arrives while that is open, or left before it closed. A process that is stopped between its last
 * look at the clock and the write that follows, which is a fraction of a millisecond, makes this write when it continues: one request.
 */
export function windows(events: readonly HistoryEvent[]): string[] {
  const campaigns = eventsOf(events, 'campaign');
  const sends = eventsOf(events, 'request').filter(({ kind }) => kind === 'send');
  const stops = eventsOf(events, 'fault').filter(({ fault }) => fault === 'SIGSTOP');
  /** Of sends outside the window, those that no stopped process can have begun in time. */
  const withoutBegun = (outside: typeof sends): typeof sends => {
    const begun = stops.map(({ until }) =>
      outside.find(({ at }) => at >= until && at < until + FINISHES_WITHIN_MS),
    );
    return outside.filter((send) => !begun.includes(send));
  };
  return eventsOf(events, 'window').flatMap(({ campaign, openings }) => {
    const own = campaigns.find((one) => one.campaign === campaign);
    const outside = withoutBegun(
      sends.filter(
        ({ key, text, at }) =>
          key === own?.key &&
          text === own.text &&
          !openings.some(({ from, until }) => from <= at && at < until + ARRIVES_WITHIN_MS),
      ),
    );
    if (outside.length === 0) return [];
    const afterMs = outside.map(({ at }) => {
      const closed = openings.filter(({ until }) => until <= at).at(-1);
      return closed === undefined ? 'before the first opening' : `+${at - closed.until}`;
    });
    return [
      `${outside.length} sends of ${campaign} arrived outside its window, ms after it closed: ${afterMs.join(' ')}`,
    ];
  });
}
