import { moment, until } from '../../../base/moments.js';
import { RECIPIENT_STATES, type RecipientState, SETTLED_STATES } from '../../../campaign/states/recipient.js';
import { stateLabel } from '../../../campaign/states/state-labels.js';
import type { CampaignCost } from '../../../campaign/views/measures.js';
import type { CampaignStatus } from '../../../campaign/views/views.js';
import { zonesWord } from '../../../campaign/views/zone-views.js';
import { pasteable } from './command-name.js';
import { campaignSentence } from './sentence.js';
import type { Ink, Paint } from './terminal.js';
import { counted, cut, grouped, money, oneLine, padded, widthOf, wrapped } from './text.js';
import { windowText, zoneLines } from './window-text.js';

/** How to draw a picture. */
interface Look {
  /** ms since the epoch. */
  readonly now: number;
  /** Columns of the terminal. */
  readonly width: number;
  readonly paint: Paint;
  /** How to start a worker, for a campaign that waits for one. */
  readonly howToStart?: string;
  /** The states in one line, for a terminal with few. */
  readonly compact?: boolean;
}

/** Each state has its own colour and glyph, so that the picture is readable without colours. */
const SHOWN: Readonly<Record<RecipientState, { glyph: string; ink: Ink }>> = {
  deliveredToTerminal: { glyph: '█', ink: 'green' },
  deliveredToNetwork: { glyph: '▓', ink: 'cyan' },
  sending: { glyph: '▒', ink: 'yellow' },
  unknown: { glyph: '?', ink: 'magenta' },
  deliveryImpossible: { glyph: '×', ink: 'red' },
  rejected: { glyph: '!', ink: 'red' },
  abandoned: { glyph: '!', ink: 'red' },
  unconfirmed: { glyph: '~', ink: 'gray' },
  lapsed: { glyph: '-', ink: 'gray' },
  cancelled: { glyph: '-', ink: 'gray' },
  suppressed: { glyph: '-', ink: 'gray' },
  planned: { glyph: '░', ink: 'gray' },
};

const ORDER = Object.keys(SHOWN) as RecipientState[];
const ALWAYS_SHOWN: readonly RecipientState[] = [
  'deliveredToTerminal',
  'deliveredToNetwork',
  'sending',
  'planned',
];

const LABEL_WIDTH = 11;
const WIDEST = 100;
/** Of a longer text, people see the beginning. */
const TEXT_LINES = 3;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** A bar that fills `share` (0 to 1) of `width` columns, to an eighth of a column. Any share above 0 is visible. */
export function bar(share: number, width: number): string {
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * width * 8);
  const shown = share > 0 ? Math.max(1, eighths) : 0;
  return '█'.repeat(Math.floor(shown / 8)) + EIGHTHS[shown % 8];
}

/** Whole columns for counts, `width` in total. Each count above 0 gets at least one, if there is room. */
export function shares(counts: readonly number[], width: number): number[] {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return counts.map(() => 0);
  const columns = counts.map((count) => (count === 0 ? 0 : Math.max(1, Math.floor((count / total) * width))));
  const largest = counts.indexOf(Math.max(...counts));
  const used = columns.reduce((sum, count) => sum + count, 0);
  columns[largest] = Math.max(1, (columns[largest] ?? 0) + width - used);
  return columns;
}

/** Recipients who are to get a message: all but those whose number is suppressed. */
export function wantedOf({ counts }: CampaignStatus): number {
  return counts.total - counts.suppressed;
}

/** Those of them in a final state. */
export function settledOf({ counts }: CampaignStatus): number {
  const settled = SETTLED_STATES.reduce((sum, state) => sum + counts[state], 0);
  return settled - counts.suppressed;
}

/** The part of them in a final state, such as `22%`. */
export function percentOf(status: CampaignStatus): string {
  const wanted = wantedOf(status);
  if (wanted === 0) return `${status.endedAt === null ? 0 : 100}%`;
  // Rounded down, so that 100% means all of them.
  return `${Math.floor((settledOf(status) / wanted) * 100)}%`;
}

/** The picture of a campaign: the states of its recipients, its lane's quota, and what happens next. */
export function renderCampaign(status: CampaignStatus, look: Look): string[] {
  const { paint, now } = look;
  const width = Math.max(40, Math.min(look.width, WIDEST)) - 2;
  const { counts, sender, message, tags, window, rate, requests, cost } = status;

  const percent = percentOf(status).padStart(5);
  const columns = shares(
    ORDER.map((state) => counts[state]),
    width - percent.length,
  );
  const picture = ORDER.map((state, at) =>
    paint(SHOWN[state].ink, SHOWN[state].glyph.repeat(columns[at] ?? 0)),
  );

  const states = look.compact ? wrapped(legend(counts, paint), width, 2) : stateLines(counts, width, paint);
  const room = width - LABEL_WIDTH - 5;
  const labelled = (label: string, text: string, most = Number.POSITIVE_INFINITY): string[] =>
    beginning(wrapped(text, room), most, room).map(
      (line, at) => `  ${paint('dim', padded(at === 0 ? label : '', LABEL_WIDTH + 2))} ${line}`,
    );
  const sentence = campaignSentence(status, now, look.howToStart);
  const left = leftOutText(status);
  return [
    ...headingLines(status, width, paint),
    `${picture.join('')}${percent}`,
    ...states,
    ...(left.length === 0 ? [] : labelled('left out', pasteable(left))),
    ...(look.compact
      ? []
      : [...labelled('sender', oneLine(sender)), ...labelled('text', oneLine(message), TEXT_LINES)]),
    ...(window === null || status.endedAt !== null
      ? []
      : labelled('window', windowText(window, status.zone, now))),
    ...zoneLines(status.zones).flatMap((text, at) =>
      labelled(at === 0 ? `${zonesWord(status.zones)}s` : '', text),
    ),
    ...(tags.length === 0 ? [] : labelled('tags', tags.join(' '))),
    ...labelled(
      'requests',
      `${grouped(requests.send)} for messages, ${grouped(requests.poll)} for reports, ${grouped(requests.throttled)} refused as too many (429)`,
    ),
    ...labelled('quota', quotaText(status, now)),
    ...(cost === null ? [] : labelled('cost', costText(cost))),
    ...(rate === null ? [] : labelled('rate', `${rateText(rate)} on average`)),
    // The picture is not printed as other lines are: a terminal would cut what is too long, such as a command.
    ...fitted(pasteable(sentence.text), width - 2).map((text) => `  ${paint(sentence.ink, text)}`),
  ];
}

/** The first `most` lines; the last one ends with an ellipsis if there are more. */
function beginning(lines: readonly string[], most: number, width: number): string[] {
  const last = lines.slice(most - 1).join(' ');
  return lines.length <= most ? [...lines] : [...lines.slice(0, most - 1), cut(last, width)];
}

/** Rows of the list that are no recipients, and where they are listed; empty if there are none. */
function leftOutText({ id, duplicates, invalid }: CampaignStatus): string {
  const kinds = [
    ...(duplicates === 0 ? [] : [counted(duplicates, 'duplicate')]),
    ...(invalid === 0 ? [] : [counted(invalid, 'invalid row')]),
  ];
  const which = invalid === 0 ? 'duplicate' : 'invalid';
  return kinds.length === 0 ? '' : `${kinds.join(', ')}: volley report ${id} --status ${which}`;
}

/** The name at the left, the rest at the right; below each other if they do not fit. */
function headingLines(status: CampaignStatus, width: number, paint: Paint): string[] {
  const { id, name, lane, state, revision } = status;
  const about = `${id} · lane ${oneLine(lane)} · ${state}${revision > 0 ? ` · revision ${revision}` : ''}`;
  const room = width - widthOf(about) - 2;
  if (room < 8) {
    return [
      paint('bold', cut(oneLine(name), width)),
      ...wrapped(about, width).map((line) => paint('dim', line)),
    ];
  }
  const shown = cut(oneLine(name), room);
  return [
    `${paint('bold', shown)}${' '.repeat(width - widthOf(shown) - widthOf(about))}${paint('dim', about)}`,
  ];
}

/** `12.60 EUR for accepted messages, 47.04 EUR for all`; only the total if all are accepted, or it is not known. */
export function costText({ total, accepted, currency, unpriced }: CampaignCost): string {
  const all = money(total, currency);
  const sum =
    accepted === null || accepted === total
      ? all
      : `${money(accepted, currency)} for accepted messages, ${all} for all`;
  return unpriced === 0
    ? sum
    : `${sum}, without ${counted(unpriced, 'number that has', 'numbers that have')} no price`;
}

/** `1,200 messages an hour`: the unit of quotas, of `volley list`, and of `rate` in JSON. */
export function rateText(perHour: number): string {
  return `${counted(Math.round(perHour), 'message')} an hour`;
}

/** Breaks a sentence into lines; the time of the last message begins one. */
function fitted(text: string, width: number): string[] {
  const at = text.indexOf(' Last message ');
  if (at === -1 || widthOf(text) <= width) return wrapped(text, width);
  return [...wrapped(text.slice(0, at), width), ...wrapped(text.slice(at + 1), width)];
}

/** A line with a bar for each state that has recipients. */
function stateLines(recipients: CampaignStatus['counts'], width: number, paint: Paint): string[] {
  const digits = grouped(recipients.total).length;
  const room = Math.min(40, width - LABEL_WIDTH - digits - 6);
  return shownOf(recipients).map((state) => {
    const { glyph, ink } = SHOWN[state];
    const count = recipients[state];
    const line = bar(recipients.total === 0 ? 0 : count / recipients.total, room);
    return `  ${paint(ink, glyph)} ${padded(stateLabel(state), LABEL_WIDTH)} ${grouped(count).padStart(digits)}  ${paint(ink, line)}`.trimEnd();
  });
}

function legend(recipients: CampaignStatus['counts'], paint: Paint): string {
  const entries = shownOf(recipients).map((state) => {
    const { glyph, ink } = SHOWN[state];
    return `${paint(ink, glyph)} ${stateLabel(state)} ${grouped(recipients[state])}`;
  });
  return `  ${entries.join('  ')}`;
}

function shownOf(recipients: CampaignStatus['counts']): RecipientState[] {
  return ORDER.filter((state) => recipients[state] > 0 || ALWAYS_SHOWN.includes(state));
}

/**
 * How much of the quota is used. A limit that was just learned from refused requests may be lower than the use; then all
 * of it is used.
 */
export function quotaUse(used: number, limit: number | null): string {
  if (limit === null) return `${grouped(used)} used; the quota is not known yet`;
  return used > limit ? `all ${grouped(limit)} used` : `${grouped(used)} of ${grouped(limit)} used`;
}

function quotaText({ quota, zone }: CampaignStatus, now: number): string {
  const { used, limit, nextPermitAt } = quota;
  const next =
    nextPermitAt === null || Date.parse(nextPermitAt) <= now
      ? ''
      : `, next request ${until(nextPermitAt, now, zone)}`;
  return `${quotaUse(used, limit)}${next}`;
}

/** The campaign in one plain line, for logs and pipes. */
export function campaignLine(status: CampaignStatus, now: number, howToStart?: string): string {
  const { counts } = status;
  const states = RECIPIENT_STATES.filter((state) => counts[state] > 0).map(
    (state) => `${stateLabel(state)} ${grouped(counts[state])}`,
  );
  const done = `${grouped(settledOf(status))} of ${grouped(wantedOf(status))} done`;
  return `${moment(now, now, status.zone)} ${status.id} ${status.state}: ${done} (${percentOf(status)}); ${states.join(', ')}. ${campaignSentence(status, now, howToStart).text}`;
}
