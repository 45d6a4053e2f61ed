import { type EventOf, eventsOf, type HistoryEvent } from '../history.js';
import { OUTBOX } from '../source.js';
import { groupBy } from './group-by.js';

/** One acceptance of a message to a recipient by the service. */
export interface Acceptance {
  readonly at: number;
  /** The final status that the service reports. */
  readonly final: string | null;
}

/**
 * The acceptances of each recipient of a campaign, or message of an outbox, oldest first, and what was accepted that is not on its list: a
 * number, or a text.
 */
export interface Deliveries {
  readonly campaign: string;
  readonly accepted: ReadonlyMap<string, readonly Acceptance[]>;
  readonly unlisted: readonly string[];
  /** The messages whose cancel was confirmed. */
  readonly cancelled: ReadonlySet<string>;
}

/** The accepted requests of each campaign and outbox. */
export function deliveriesOf(events: readonly HistoryEvent[]): Deliveries[] {
  const sends = eventsOf(events, 'request').filter(
    ({ kind, outcome }) => kind === 'send' && outcome === 'accepted',
  );
  const byText = groupBy(sends, ({ key, text }) => `${key} ${text}`);
  const ofCampaigns = eventsOf(events, 'campaign').map((campaign) => {
    const accepted = new Map<string, Acceptance[]>(campaign.recipients.map((number) => [number, []]));
    const unlisted: string[] = [];
    for (const { at, recipients, finals } of byText.get(`${campaign.key} ${campaign.text}`) ?? []) {
      for (const [index, number] of recipients.entries()) {
        const own = accepted.get(number);
        if (own === undefined) unlisted.push(number);
        else own.push({ at, final: finals[index] ?? null });
      }
    }
    return { campaign: campaign.campaign, accepted, unlisted, cancelled: new Set<string>() };
  });
  const byKey = groupBy(sends, ({ key }) => key);
  const ofOutboxes = eventsOf(events, 'outbox').map(({ campaign, key, texts }) => {
    const messages = Object.entries(texts);
    const accepted = new Map<string, Acceptance[]>(messages.map(([id]) => [id, []]));
    const idOf = new Map(messages.flatMap(([id, own]) => own.map((text) => [text, id] as const)));
    const unlisted: string[] = [];
    for (const { at, text, finals } of byKey.get(key) ?? []) {
      const own = accepted.get(idOf.get(text) ?? '');
      if (own === undefined) unlisted.push(JSON.stringify(text));
      else own.push({ at, final: finals[0] ?? null });
    }
    const cancelled = new Set(messages.flatMap(([id, own]) => (own.length === 0 ? [id] : [])));
    return { campaign, accepted, unlisted, cancelled };
  });
  return [...ofCampaigns, ...ofOutboxes];
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

/**
 * Without the rows of earlier messages of an outbox: one that was cancelled when it was planned keeps its row after its id was put again.
 */
export function withoutEarlier(rows: readonly EventOf<'row'>[]): EventOf<'row'>[] {
  return [...groupBy(rows, ({ recipient }) => recipient).values()].flatMap((own) => {
    if (!own.some(({ campaign }) => campaign.startsWith(OUTBOX))) return own;
    const others = own.filter(({ status }) => status !== 'cancelled');
    return others.length > 0 ? others : own.slice(0, 1);
  });
}
