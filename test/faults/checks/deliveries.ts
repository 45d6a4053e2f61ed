import { type EventOf, eventsOf, type HistoryEvent } from '../history.js';
import { groupBy } from './group-by.js';

/** One acceptance of a message to a recipient by the service. */
export interface Acceptance {
  readonly at: number;
  /** The final status that the service reports. */
  readonly final: string | null;
}

/** The acceptances of each recipient of a campaign, oldest first, and the accepted numbers that are not on its list. */
export interface Deliveries {
  readonly campaign: EventOf<'campaign'>;
  readonly accepted: ReadonlyMap<string, readonly Acceptance[]>;
  readonly unlisted: readonly string[];
}

/** The accepted requests of each campaign. */
export function deliveriesOf(events: readonly HistoryEvent[]): Deliveries[] {
  const sends = eventsOf(events, 'request').filter(
    ({ kind, outcome }) => kind === 'send' && outcome === 'accepted',
  );
  const byText = groupBy(sends, ({ key, text }) => `${key} ${text}`);
  return eventsOf(events, 'campaign').map((campaign) => {
    const accepted = new Map<string, Acceptance[]>(campaign.recipients.map((number) => [number, []]));
    const unlisted: string[] = [];
    for (const { at, recipients, finals } of byText.get(`${campaign.key} ${campaign.text}`) ?? []) {
      for (const [index, number] of recipients.entries()) {
        const own = accepted.get(number);
        if (own === undefined) unlisted.push(number);
        else own.push({ at, final: finals[index] ?? null });
      }
    }
    return { campaign, accepted, unlisted };
  });
}

/** The rows of each campaign's last report. */
export function lastReports(events: readonly HistoryEvent[]): Map<string, EventOf<'row'>[]> {
  const rows = groupBy(eventsOf(events, 'row'), ({ campaign }) => campaign);
  for (const [campaign, all] of rows) {
    const last = Math.max(...new Set(all.map(({ report }) => report)));
    rows.set(
      campaign,
      all.filter(({ report }) => report === last),
    );
  }
  return rows;
}
