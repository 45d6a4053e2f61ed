import type { Volley } from '../../../app/volley.js';
import { minute, moment, shortMoment } from '../../../base/moments.js';
import type { CampaignStatus } from '../../../campaign/views/views.js';
import { percentOf, settledOf, wantedOf } from './progress.js';
import { type Table, table } from './table.js';
import { compact, counted, cut, grouped, money, oneLine } from './text.js';

/** `32 more campaigns. To show them, add --limit 52.`, whatever else filters the list; none if all are shown. */
export function moreLines({ count, isExact }: Awaited<ReturnType<Volley['count']>>, shown: number): string[] {
  if (count === 0 && isExact) return [];
  const more = `${isExact ? '' : 'At least '}${counted(count, 'more campaign')}.`;
  return [`${more} To show them, add --limit ${Math.min(MAX_SHOWN, shown + count)}.`];
}

/** The most that `--limit` accepts. */
const MAX_SHOWN = 10_000;

const perHour = (rate: number | null, number = grouped): string =>
  rate === null ? '' : `${number(Math.round(rate))}/h`;

/** Columns that are there if any campaign has something to show in them. */
const MORE: readonly { readonly heading: string; readonly of: (campaign: CampaignStatus) => string }[] = [
  { heading: 'COST', of: ({ cost }) => (cost === null ? '' : money(cost.total, cost.currency)) },
  { heading: 'TAGS', of: ({ tags }) => cut(tags.join(' '), 30) },
];

/** The campaigns as a table that fits into `width` columns if they are at least 80. */
export function listLines(
  campaigns: readonly CampaignStatus[],
  now: number,
  width: number | undefined,
): string[] {
  const startOf = ({ sendAt, zone }: CampaignStatus, form: typeof moment): string =>
    sendAt === null ? '' : form(Date.parse(sendAt), now, zone);
  const shown = MORE.filter(({ of }) => campaigns.some((campaign) => of(campaign) !== ''));
  const headings = shown.map(({ heading }) => heading);
  /** Puts these texts before the last column. */
  const withMore = (texts: readonly string[], more: readonly string[]): string[] =>
    texts.toSpliced(-1, 0, ...more);
  const moreOf = (campaign: CampaignStatus): string[] => shown.map(({ of }) => of(campaign));
  const full: Table = {
    heading: withMore(
      ['ID', 'NAME', 'LANE', 'STATE', 'RECIPIENTS', 'DONE', 'START', 'RATE', 'ATTENTION'],
      headings,
    ),
    rows: campaigns.map((campaign) =>
      withMore(
        [
          campaign.id,
          cut(oneLine(campaign.name), 30),
          campaign.lane,
          campaign.state,
          grouped(wantedOf(campaign)),
          grouped(settledOf(campaign)),
          startOf(campaign, moment),
          perHour(campaign.rate),
          attention(campaign, now),
        ],
        moreOf(campaign),
      ),
    ),
  };
  const hasOneLane = campaigns.every(({ lane }) => lane === campaigns[0]?.lane);
  // The same in 80 columns.
  const short: Table = {
    heading: withMore(['ID', 'NAME', 'LANE', 'STATE', 'DONE', 'START', 'RATE', 'ATTENTION'], headings),
    rows: campaigns.map((campaign) =>
      withMore(
        [
          campaign.id,
          oneLine(campaign.name),
          hasOneLane ? '' : campaign.lane,
          campaign.state,
          `${percentOf(campaign)} of ${compact(wantedOf(campaign))}`,
          startOf(campaign, shortMoment),
          perHour(campaign.rate, compact),
          attention(campaign, now, { short: true }),
        ],
        moreOf(campaign),
      ),
    ),
    flexible: 'NAME',
    optional: ['TAGS', 'COST', 'LANE', 'RATE'],
  };
  return table(full.heading, full.rows, width, short);
}

/** What an operator has to act on or to know: unknown outcomes, a closed window, a lane that sends nothing until it is resumed, and what fails. Empty if nothing. */
function attention(
  { counts, lane, zone, blockedBy, waitingFor, turnFailures }: CampaignStatus,
  now: number,
  { short = false } = {},
): string {
  const isClosed = blockedBy?.state === 'stopped' || blockedBy?.state === 'held';
  return [
    ...(counts.unknown === 0 ? [] : [`${grouped(counts.unknown)} unknown`]),
    ...(waitingFor === 'lane' && isClosed
      ? [short ? `lane ${blockedBy.state}` : `lane ${lane} is ${blockedBy.state}`]
      : []),
    ...(waitingFor === 'lane' && blockedBy?.state === 'noToken'
      ? [short ? 'no token' : `lane ${lane} waits for an access token`]
      : []),
    ...(waitingFor === 'window' && blockedBy !== null && blockedBy.until !== null
      ? [
          short
            ? `opens ${shortMoment(Date.parse(blockedBy.until), now, zone)}`
            : `waits until ${minute(Date.parse(blockedBy.until), now, zone)} (window)`,
        ]
      : []),
    ...turnFailures.map(({ kind, since }) => {
      const fails = kind === 'send' ? 'sending fails' : 'asking for reports fails';
      return short ? fails : `${fails} since ${moment(Date.parse(since), now, zone)}`;
    }),
    ...(waitingFor === 'workers' ? [short ? 'no worker' : 'no worker is running'] : []),
  ].join(', ');
}
