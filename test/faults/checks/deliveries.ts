import { type EventOf, eventsOf, type HistoryEvent } from '../history.js';
import { grouped } from './grouped.js';

/** One time that the service accepted a text to a recipient. */
export interface Acceptance {
  readonly at: number;
  /** What the service will report in the end. */
  readonly final: string | null;
}

/** The acceptances of each recipient of a campaign, oldest first; and those to numbers that are not on its list. */
export interface Deliveries {
  readonly campaign: EventOf<'campaign'>;
  readonly accepted: ReadonlyMap<string, readonly Acceptance[]>;
  readonly strangers: readonly string[];
}

/** What the service accepted, campaign by campaign. */
export function deliveriesOf(events: readonly HistoryEvent[]): Deliveries[] {
  const sends = eventsOf(events, 'request').filter(
    ({ kind, outcome }) => kind === 'send' && outcome === 'accepted',
  );
  const byText = grouped(sends, ({ key, text }) => `${key} ${text}`);
  return eventsOf(events, 'campaign').map((campaign) => {
    const accepted = new Map<string, Acceptance[]>(campaign.recipients.map((number) => [number, []]));
    const strangers: string[] = [];
    for (const { at, recipients, finals } of byText.get(`${campaign.key} ${campaign.text}`) ?? []) {
      for (const [index, number] of recipients.entries()) {
        const own = accepted.get(number);
        if (own === undefined) strangers.push(number);
        else own.push({ at, final: finals[index] ?? null });
      }
    }
    return { campaign, accepted, strangers };
  });
}

/** The rows of each campaign's last report. */
export function lastReports(events: readonly HistoryEvent[]): Map<string, EventOf<'row'>[]> {
  const rows = grouped(eventsOf(events, 'row'), ({ campaign }) => campaign);
  for (const [campaign, all] of rows) {
    const last = Math.max(...new Set(all.map(({ report }) => report)));
    rows.set(
      campaign,
      all.filter(({ report }) => report === last),
    );
  }
  return rows;
}
