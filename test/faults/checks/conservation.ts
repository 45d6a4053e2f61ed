import { eventsOf, type HistoryEvent } from '../history.js';
import { lastReports, withoutEarlier } from './deliveries.js';
import { groupBy } from './group-by.js';

/**
 * In every status, the states add up to the total, no count is negative, and the total is the length of the list; that of
 * an outbox grows to it. The last report contains each recipient once, and its rows match the counts of the last status before it.
 */
export function conservation(events: readonly HistoryEvent[]): string[] {
  const statuses = groupBy(eventsOf(events, 'status'), ({ campaign }) => campaign);
  const reports = lastReports(events);
  const lists = eventsOf(events, 'campaign').map((list) => ({ ...list, isWhole: true }));
  const outboxes = eventsOf(events, 'outbox').map(({ campaign, texts }) => ({
    campaign,
    recipients: Object.keys(texts),
    isWhole: false,
  }));
  return [...lists, ...outboxes].flatMap(({ campaign, recipients, isWhole }) => {
    const found: string[] = [];
    const all = reports.get(campaign) ?? [];
    const rows = withoutEarlier(all);
    const most = recipients.length + all.length - rows.length;
    for (const { at, counts } of statuses.get(campaign) ?? []) {
      const { total = 0, ...states } = counts;
      const sum = Object.values(states).reduce((all, count) => all + count, 0);
      if (sum !== total || Object.values(states).some((count) => count < 0)) {
        found.push(
          `at ${at} the states of ${campaign} add up to ${sum} of ${total}: ${JSON.stringify(counts)}`,
        );
      }
      if (isWhole ? total !== most : total > most)
        found.push(`at ${at} ${campaign} had ${total} recipients of ${most}`);
    }
    if (!reports.has(campaign)) return [...found, `${campaign} has no report`];
    const times = groupBy(rows, ({ recipient }) => recipient);
    const wrong = recipients.filter((number) => times.get(number)?.length !== 1);
    if (wrong.length > 0 || rows.length !== recipients.length) {
      found.push(
        `the report of ${campaign} has ${rows.length} rows for ${recipients.length} recipients; missing or repeated: ${wrong.join(' ')}`,
      );
    }
    const before = statuses.get(campaign)?.findLast(({ until }) => until <= (rows[0]?.at ?? 0));
    for (const [status, list] of groupBy(all, (row) => row.status)) {
      const counted = before?.counts[status];
      if (before !== undefined && counted !== list.length)
        found.push(`${campaign} counts ${counted} ${status}, its report has ${list.length}`);
    }
    return found;
  });
}
