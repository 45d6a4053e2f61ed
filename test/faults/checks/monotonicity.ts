import { type EventOf, eventsOf, type HistoryEvent } from '../history.js';
import { OUTBOX } from '../source.js';
import { groupBy } from './group-by.js';

/** Final states. `unconfirmed` is not one of them, because a late delivery status replaces it. */
const FINAL = [
  'deliveredToTerminal',
  'deliveryImpossible',
  'rejected',
  'lapsed',
  'cancelled',
  'suppressed',
  'abandoned',
];
const isFinal = (status: string): boolean => FINAL.includes(status);

/** The allowed state transitions of a campaign. */
const TRANSITIONS: Readonly<Record<string, readonly string[]>> = {
  scheduled: ['running', 'paused', 'cancelled', 'completed'],
  running: ['paused', 'cancelled', 'completed'],
  paused: ['running', 'scheduled', 'cancelled', 'completed'],
  cancelled: ['completed'],
  completed: [],
};

/**
 * Final states do not change: neither in the counts of the statuses, nor in the rows of the reports, nor in the state of the campaign. The
 * number of recipients does not fall. Only a data loss of Redis allows either.
 */
export function monotonicity(events: readonly HistoryEvent[]): string[] {
  const dataLosses = eventsOf(events, 'fault').filter(({ losesData }) => losesData);
  const mayGoBack = (from: number, to: number): boolean =>
    dataLosses.some(({ at, until }) => at <= to && until >= from);
  const found: string[] = [];
  const statuses = groupBy(eventsOf(events, 'status'), ({ campaign }) => campaign);
  for (const list of statuses.values()) {
    for (const [index, now] of list.entries()) {
      const before = list[index - 1];
      if (before !== undefined && !mayGoBack(before.at, now.until)) found.push(...goneBack(before, now));
    }
  }
  for (const [recipient, rows] of groupBy(
    // A report of an outbox may have the rows of several messages of an id.
    eventsOf(events, 'row').filter(({ campaign }) => !campaign.startsWith(OUTBOX)),
    (row) => `${row.recipient} of ${row.campaign}`,
  )) {
    for (const [index, now] of rows.entries()) {
      const before = rows[index - 1];
      if (before === undefined || !isFinal(before.status) || before.status === now.status) continue;
      if (!mayGoBack(before.at, now.at))
        found.push(
          `${recipient} changed from ${before.status} at ${before.at} to ${now.status} at ${now.at}`,
        );
    }
  }
  return found;
}

function goneBack(before: EventOf<'status'>, now: EventOf<'status'>): string[] {
  // A message that was cancelled may be put again.
  const isOutbox = now.campaign.startsWith(OUTBOX);
  const growing = [...FINAL, 'total'].filter((state) => !isOutbox || state !== 'cancelled');
  const found = growing.flatMap((state) => {
    const [old, count] = [before.counts[state] ?? 0, now.counts[state] ?? 0];
    return count < old ? [`${state} of ${now.campaign} fell from ${old} to ${count} at ${now.at}`] : [];
  });
  const isAllowed = before.state === now.state || TRANSITIONS[before.state]?.includes(now.state);
  if (!isAllowed) found.push(`${now.campaign} changed from ${before.state} to ${now.state} at ${now.at}`);
  if (before.ended && !now.ended)
    found.push(`${now.campaign} had ended but was no longer ended at ${now.at}`);
  return found;
}
