import { RECIPIENT_STATES, type RecipientState, SETTLED_STATES } from '../campaign/recipient.js';
import type { CampaignStatus } from '../campaign/views.js';
import type { Ink, Paint } from './paint.js';
import { standing } from './standing.js';
import { cut, grouped, moment, oneLine, padded, until, widthOf } from './text.js';

/** How a picture is drawn. */
export interface Look {
  /** ms since the epoch. */
  readonly now: number;
  /** Columns of the terminal. */
  readonly width: number;
  readonly paint: Paint;
  /** The states in one line, for a terminal with few. */
  readonly compact?: boolean;
}

/** Each state has a colour and a glyph of its own, so that the picture can be read without colours. */
const SHOWN: Readonly<Record<RecipientState, { word: string; glyph: string; ink: Ink }>> = {
  deliveredToTerminal: { word: 'delivered', glyph: '█', ink: 'green' },
  deliveredToNetwork: { word: 'on network', glyph: '▓', ink: 'cyan' },
  sending: { word: 'sending', glyph: '▒', ink: 'yellow' },
  unknown: { word: 'unknown', glyph: '?', ink: 'magenta' },
  deliveryImpossible: { word: 'impossible', glyph: '×', ink: 'red' },
  rejected: { word: 'rejected', glyph: '!', ink: 'red' },
  abandoned: { word: 'abandoned', glyph: '!', ink: 'red' },
  unconfirmed: { word: 'unconfirmed', glyph: '~', ink: 'gray' },
  lapsed: { word: 'lapsed', glyph: '-', ink: 'gray' },
  cancelled: { word: 'cancelled', glyph: '-', ink: 'gray' },
  suppressed: { word: 'suppressed', glyph: '-', ink: 'gray' },
  planned: { word: 'planned', glyph: '░', ink: 'gray' },
};
const ORDER = Object.keys(SHOWN) as RecipientState[];
const ALWAYS_SHOWN: readonly RecipientState[] = [
  'deliveredToTerminal',
  'deliveredToNetwork',
  'sending',
  'planned',
];

const WORD_WIDTH = 11;
const WIDEST = 100;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** A bar that fills `share` (0 to 1) of `width` columns, to an eighth of a column; anything above nothing shows. */
export function bar(share: number, width: number): string {
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * width * 8);
  const shown = share > 0 ? Math.max(1, eighths) : 0;
  return '█'.repeat(Math.floor(shown / 8)) + EIGHTHS[shown % 8];
}

/** Whole columns for counts that add up to `width`; each count above nothing has one if there is room. */
export function shares(counts: readonly number[], width: number): number[] {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return counts.map(() => 0);
  const columns = counts.map((count) => (count === 0 ? 0 : Math.max(1, Math.floor((count / total) * width))));
  const largest = counts.indexOf(Math.max(...counts));
  const used = columns.reduce((sum, count) => sum + count, 0);
  columns[largest] = Math.max(1, (columns[largest] ?? 0) + width - used);
  return columns;
}

/** Recipients of whom nothing more is expected. */
export function settledOf({ recipients }: CampaignStatus): number {
  return SETTLED_STATES.reduce((sum, state) => sum + recipients[state], 0);
}

function percentOf(status: CampaignStatus): string {
  const { total } = status.recipients;
  // Rounded down: 100 % is said only when it is.
  return `${total === 0 ? 0 : Math.floor((settledOf(status) / total) * 100)} %`;
}

/** The picture of a campaign: what became of its recipients, what its lane's quota leaves, and what comes next. */
export function renderCampaign(status: CampaignStatus, look: Look): string[] {
  const { paint, now } = look;
  const width = Math.max(40, Math.min(look.width, WIDEST)) - 2;
  const { recipients, requests, quota } = status;
  const about = `${status.id} · lane ${status.lane} · ${status.state}`;
  const name = cut(oneLine(status.name), Math.max(8, width - about.length - 2));
  const gap = ' '.repeat(Math.max(2, width - widthOf(name) - about.length));
  const heading = `${paint('bold', name)}${gap}${paint('dim', about)}`;

  const percent = percentOf(status).padStart(6);
  const columns = shares(
    ORDER.map((state) => recipients[state]),
    width - percent.length,
  );
  const picture = ORDER.map((state, at) =>
    paint(SHOWN[state].ink, SHOWN[state].glyph.repeat(columns[at] ?? 0)),
  );

  const states = look.compact ? [legend(recipients, paint)] : stateLines(recipients, width, paint);
  const label = (text: string): string => `  ${paint('dim', padded(text, WORD_WIDTH + 2))} `;
  const sentence = standing(status, now);
  return [
    heading,
    `${picture.join('')}${percent}`,
    ...states,
    label('requests') +
      `${grouped(requests.send)} sent, ${grouped(requests.poll)} polls, ${grouped(requests.throttled)} throttled (429)`,
    label('quota') + quotaWords(quota, now),
    `  ${paint(sentence.ink, sentence.text)}`,
  ];
}

/** A line with a bar for each state that somebody is in. */
function stateLines(recipients: CampaignStatus['recipients'], width: number, paint: Paint): string[] {
  const most = grouped(recipients.total).length;
  const room = Math.min(40, width - WORD_WIDTH - most - 6);
  return shownOf(recipients).map((state) => {
    const { word, glyph, ink } = SHOWN[state];
    const count = recipients[state];
    const line = bar(recipients.total === 0 ? 0 : count / recipients.total, room);
    return `  ${paint(ink, glyph)} ${padded(word, WORD_WIDTH)} ${grouped(count).padStart(most)}  ${paint(ink, line)}`.trimEnd();
  });
}

function legend(recipients: CampaignStatus['recipients'], paint: Paint): string {
  const entries = shownOf(recipients).map((state) => {
    const { word, glyph, ink } = SHOWN[state];
    return `${paint(ink, glyph)} ${word} ${grouped(recipients[state])}`;
  });
  return `  ${entries.join('  ')}`;
}

function shownOf(recipients: CampaignStatus['recipients']): RecipientState[] {
  return ORDER.filter((state) => recipients[state] > 0 || ALWAYS_SHOWN.includes(state));
}

/** How much of the quota is used; more than all of it where that was just learned from requests that were refused. */
export function usedWords(used: number, limit: number): string {
  return used > limit ? `all ${grouped(limit)} used` : `${grouped(used)} of ${grouped(limit)} used`;
}

function quotaWords({ used, limit, nextPermitAt }: CampaignStatus['quota'], now: number): string {
  const next =
    nextPermitAt === null || Date.parse(nextPermitAt) <= now
      ? ''
      : `, next permit ${until(nextPermitAt, now)}`;
  if (limit === null) return `${grouped(used)} used; the limit is not known yet${next}`;
  return `${usedWords(used, limit)}${next}`;
}

/** The same in one plain line, for logs and pipes. */
export function campaignLine(status: CampaignStatus, now: number): string {
  const { recipients } = status;
  const counts = RECIPIENT_STATES.filter((state) => recipients[state] > 0).map(
    (state) => `${SHOWN[state].word} ${grouped(recipients[state])}`,
  );
  const settled = `${grouped(settledOf(status))} of ${grouped(recipients.total)} settled`;
  return `${moment(now, now)} ${status.id} ${status.state}: ${settled} (${percentOf(status)}); ${counts.join(', ')}. ${standing(status, now).text}`;
}
