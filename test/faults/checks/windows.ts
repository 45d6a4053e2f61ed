import { type EventOf, eventsOf, type HistoryEvent } from '../history.js';
import { groupBy } from './group-by.js';

/** How soon a process that continues on a busy machine finishes the write that it had begun when it was stopped, ms. */
const FINISHES_WITHIN_MS = 1_000;

/** A send outside its window, by the process that wrote it, which is unknown if none recorded the write. */
interface Outside {
  readonly campaign: string;
  readonly at: number;
  readonly by: string | undefined;
  /** Since when the window was closed; undefined: before its first opening. */
  readonly closedAt: number | undefined;
}

/**
 * Every send of a campaign with a window is written while that is open, by the clock of the process right before the write: how long a
 * request travels does not matter. One whose write was not recorded, because its process was killed, must arrive while it is open. A process
 * that is stopped between its last look at the clock and the write that follows, which is a fraction of a millisecond, makes this write when
 * it continues: one request for each stop.
 */
export function windows(events: readonly HistoryEvent[]): string[] {
  const outside = eventsOf(events, 'window').flatMap((window) => outsideOf(window, events));
  const stops = eventsOf(events, 'fault').filter(({ fault }) => fault === 'SIGSTOP');
  const begun = stops.map(({ target, at: stoppedAt, until }) =>
    outside.find(({ by, at }) => by === target && at >= stoppedAt && at < until + FINISHES_WITHIN_MS),
  );
  const left = outside.filter((send) => !begun.includes(send));
  return [...groupBy(left, ({ campaign }) => campaign)].map(([campaign, sends]) => {
    const afterMs = sends.map(({ at, closedAt }) =>
      closedAt === undefined ? 'before the first opening' : `+${at - closedAt}`,
    );
    return `${sends.length} sends of ${campaign} left outside its window, ms after it closed: ${afterMs.join(' ')}`;
  });
}

/** The sends that left outside a window, by when they were written or, if no process recorded that, by when they arrived. */
function outsideOf(
  { campaign, openings, recipients }: EventOf<'window'>,
  events: readonly HistoryEvent[],
): Outside[] {
  const own = eventsOf(events, 'campaign').find((one) => one.campaign === campaign);
  const whose = new Set(recipients ?? own?.recipients);
  const written = eventsOf(events, 'write').filter(({ text }) => text === own?.text);
  const recorded = new Set(written.map((write) => write.recipients.join()));
  const unrecorded = eventsOf(events, 'request')
    .filter(({ kind, key, text }) => kind === 'send' && key === own?.key && text === own.text)
    .filter((send) => !recorded.has(send.recipients.join()))
    .map((send) => ({ ...send, by: undefined }));
  return [...written, ...unrecorded]
    .filter((send) => send.recipients.some((number) => whose.has(number)))
    .filter(({ at }) => !openings.some(({ from, until }) => from <= at && at < until))
    .map(({ at, by }) => ({
      ...{ campaign, at, by },
      closedAt: openings.filter(({ until }) => until <= at).at(-1)?.until,
    }));
}
