import { type EventOf, eventsOf, type HistoryEvent } from '../history.js';
import { grouped } from './grouped.js';

/** States that nothing replaces. `unconfirmed` is none of them: a late final report does. */
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

/** What a campaign may turn into. `completed` and `cancelled` it stays. */
const EDGES: Readonly<Record<string, readonly string[]>> = {
  scheduled: ['running', 'paused', 'cancelled', 'completed'],
  running: ['paused', 'cancelled', 'completed'],
  paused: ['running', 'scheduled', 'cancelled', 'completed'],
  cancelled: [],
  completed: [],
};

/**
 * What is final stays as it is: by the counts of each status, by the rows of each report, and by the state of the
 * campaign. A Redis that lost what it had answered begins a new count; a report is held against all that came before.
 */
export function monotonicity(events: readonly HistoryEvent[]): string[] {
  const forgot = eventsOf(events, 'fault').filter(({ forgets }) => forgets);
  const mayGoBack = (from: number, to: number): boolean =>
    forgot.some(({ at, until }) => at <= to && until >= from);
  const found: string[] = [];
  const statuses = grouped(eventsOf(events, 'status'), ({ campaign }) => campaign);
  for (const list of statuses.values()) {
    for (const [index, now] of list.entries()) {
      const before = list[index - 1];
      if (before !== undefined && !mayGoBack(before.at, now.until)) found.push(...goneBack(before, now));
    }
  }
  for (const [recipient, rows] of grouped(
    eventsOf(events, 'row'),
    (row) => `${row.recipient} of ${row.campaign}`,
  )) {
    for (const [index, now] of rows.entries()) {
      const before = rows[index - 1];
      if (before === undefined || !isFinal(before.status) || before.status === now.status) continue;
      if (!mayGoBack(before.at, now.at))
        found.push(`${recipient} was ${before.status} at ${before.at} and ${now.status} at ${now.at}`);
    }
  }
  return found;
}

function goneBack(before: EventOf<'status'>, now: EventOf<'status'>): string[] {
  const found = FINAL.flatMap((state) => {
    const [old, count] = [before.counts[state] ?? 0, now.counts[state] ?? 0];
    return count < old ? [`${state} of ${now.campaign} fell from ${old} to ${count} at ${now.at}`] : [];
  });
  const isAllowed = before.state === now.state || EDGES[before.state]?.includes(now.state);
  if (!isAllowed) found.push(`${now.campaign} was ${before.state} and became ${now.state} at ${now.at}`);
  if (before.ended && !now.ended) found.push(`${now.campaign} had ended and is open again at ${now.at}`);
  return found;
}
