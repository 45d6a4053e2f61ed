import { type EventOf, eventsOf, type HistoryEvent } from '../history.js';

/** How soon a process that continues on a busy machine finishes the write that it had begun when it was stopped, ms. */
const FINISHES_WITHIN_MS = 1_000;

/**
 * Every send of a campaign with a window is written while that is open, by the clock of the process right before the write: how long a
 * request travels does not matter. A process that is stopped between its last look at the clock and the write that follows, which is a
 * fraction of a millisecond, makes this write when it continues: one request for each stop.
 */
export function windows(events: readonly HistoryEvent[]): string[] {
  const campaigns = eventsOf(events, 'campaign');
  const sends = eventsOf(events, 'request').filter(({ kind }) => kind === 'send');
  const writes = eventsOf(events, 'write');
  const stops = eventsOf(events, 'fault').filter(({ fault }) => fault === 'SIGSTOP');
  /** Of writes outside the window, those that no stopped process can have begun in time. */
  const withoutBegun = (outside: readonly EventOf<'write'>[]): EventOf<'write'>[] => {
    const begun = stops.map(({ target, at: stoppedAt, until }) =>
      outside.find(({ by, at }) => by === target && at >= stoppedAt && at < until + FINISHES_WITHIN_MS),
    );
    return outside.filter((write) => !begun.includes(write));
  };
  return eventsOf(events, 'window').flatMap(({ campaign, openings }) => {
    const own = campaigns.find((one) => one.campaign === campaign);
    const problems: string[] = [];
    const written = writes.filter(({ text }) => text === own?.text);
    const recorded = new Set(written.map(({ recipients }) => recipients.join()));
    const unrecorded = sends.filter(
      ({ key, text, recipients }) =>
        key === own?.key && text === own.text && !recorded.has(recipients.join()),
    );
    if (unrecorded.length > 0)
      problems.push(
        `${unrecorded.length} sends of ${campaign} arrived, but no process recorded their writes`,
      );
    const outside = withoutBegun(
      written.filter(({ at }) => !openings.some(({ from, until }) => from <= at && at < until)),
    );
    if (outside.length > 0) {
      const afterMs = outside.map(({ at }) => {
        const closed = openings.filter(({ until }) => until <= at).at(-1);
        return closed === undefined ? 'before the first opening' : `+${at - closed.until}`;
      });
      problems.push(
        `${outside.length} sends of ${campaign} were written outside its window, ms after it closed: ${afterMs.join(' ')}`,
      );
    }
    return problems;
  });
}
