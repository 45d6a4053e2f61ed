import { grouped } from '../../base/counted.js';
import { formatDuration } from '../../base/duration.js';
import { senderWarnings } from '../../campaign/text/sender.js';
import { likelyPlaceholders } from '../../campaign/text/template.js';
import type { Preview } from '../../campaign/views/preview-views.js';
import type { Duplicates } from './rows/check-rows.js';
import type { NamedRows } from './rows/named-rows.js';

/** Messages with more segments get a warning. */
export const MANY_SEGMENTS = 6;

/** Lines with other texts that a warning names. */
const MAX_TEXTS_NAMED = 10;

/** What warnings need besides the preview. */
interface Noted {
  /** The warnings about rows of the list. */
  readonly ofRows: readonly string[];
  /** The sender in international format if it is a number in national format (empty if that is not known); else null. */
  readonly senderNumber: string | null;
  /** Messages with more than {@link MANY_SEGMENTS} segments. */
  readonly long: number;
  /** Recipients whose number is known not to be mobile. */
  readonly notMobile: NamedRows;
  readonly duplicates: Duplicates;
  readonly validForMs: number | undefined;
  /** How many messages can be sent before they lapse: at least, and at most. Undefined if they do not lapse. */
  readonly inTime: { readonly atLeast: number; readonly atMost: number } | undefined;
}

type Seen = Omit<Preview, 'warnings'>;

/** What the sender may not have intended, in sentences for people. */
export function previewWarnings(seen: Seen, noted: Noted): string[] {
  return [
    ...(seen.recipientCount === 0 && seen.suppressed > 0
      ? ['No recipient gets a message, because every number is suppressed.']
      : []),
    ...placeholderWarnings(seen),
    ...(seen.message.endsWith('\n') ? ['The text ends with a line break, which is sent too.'] : []),
    ...noted.ofRows,
    ...textsWarning(seen, noted),
    ...notMobileWarning(noted),
    ...validityWarning(seen, noted),
    ...segmentsWarning(seen, noted),
    ...nationalWarning(seen, noted),
    ...senderWarnings(seen.sender),
  ];
}

function placeholderWarnings({ message, columns }: Seen): string[] {
  return likelyPlaceholders(message, columns).map(
    ({ written, meant }) =>
      `${written} is sent as it is, because a placeholder has two braces. If you mean the column, write {{${meant}}}.`,
  );
}

const CONSEQUENCES = {
  first: 'Only the first message to a number is sent. To send all messages, set `duplicates` to `keep`.',
  keep: 'All messages that differ are sent.',
  refuse:
    'The campaign will be refused. To send all messages, set `duplicates` to `keep`; to send only the first to each number, set it to `first`.',
} as const satisfies Record<Duplicates, string>;

function textsWarning({ differentTexts: count, repeats }: Seen, { duplicates }: Noted): string[] {
  if (count === 0) return [];
  const named = repeats
    .filter(({ text }) => text === 'different')
    .slice(0, MAX_TEXTS_NAMED)
    .map(({ line, firstLine }) => `line ${line} (same number as line ${firstLine})`);
  const more = count > named.length ? `, and ${count - named.length} more` : '';
  const subject = count === 1 ? '1 number appears' : `${count} numbers appear`;
  return [`${subject} again with another text: ${named.join(', ')}${more}. ${CONSEQUENCES[duplicates]}`];
}

function notMobileWarning({ notMobile }: Noted): string[] {
  const count = notMobile.count();
  if (count === 0) return [];
  const subject = count === 1 ? '1 number is known to be a' : `${count} numbers are known to be`;
  const kinds = `landline, premium rate, shared cost, or voicemail ${count === 1 ? 'number' : 'numbers'}`;
  return [
    `${subject} ${kinds}: ${notMobile.lines()}. Most of them receive no messages. To refuse them, set NUMBER_KINDS=mobile.`,
  ];
}

function validityWarning(
  { recipientCount: recipients, window, laneWindow, eta }: Seen,
  { validForMs, inTime }: Noted,
): string[] {
  if (validForMs === undefined || inTime === undefined || inTime.atLeast >= recipients) return [];
  const within = `within ${formatDuration(validForMs)} after the start${window !== null || laneWindow !== null ? ', while its window is open' : ''}`;
  const [certain, possible] = [recipients - inTime.atMost, recipients - inTime.atLeast];
  if (certain === recipients) {
    return [`All messages will lapse: the lane can send none of them ${within}. Allow more time.`];
  }
  if (certain > 0) {
    return [
      `At least ${share(certain, recipients)} will lapse: the lane can send at most ${grouped(inTime.atMost)} ${within}. Allow more time, or send fewer.`,
    ];
  }
  return [
    eta === null || eta.reason === null
      ? `Up to ${share(possible, recipients)} may lapse: it is not certain that the lane can send them ${within}.`
      : `Messages may lapse: nothing ensures that the lane sends all of them ${within} (${eta.reason}).`,
  ];
}

function segmentsWarning({ segments }: Seen, { long }: Noted): string[] {
  if (long === 0) return [];
  const subject = long === 1 ? '1 message has' : `${grouped(long)} messages have`;
  return [
    `${subject} more than ${MANY_SEGMENTS} segments (up to ${segments.max}). Every segment is billed, and some networks do not deliver messages that long.`,
  ];
}

function nationalWarning({ sender }: Seen, { senderNumber }: Noted): string[] {
  if (senderNumber === null) return [];
  const right =
    senderNumber === '' ? 'a plus and the calling code first, such as +447700900123' : senderNumber;
  return [
    `The sender ${sender} is a number in national format, to which phones in other countries cannot reply. Write it internationally: ${right}.`,
  ];
}

/** `98% of the messages (980 of 1,000)`; rounded down, so that 100% means all. */
function share(count: number, total: number): string {
  const percent = Math.floor((count / total) * 100);
  return `${percent === 0 ? 'less than 1' : percent}% of the messages (${grouped(count)} of ${grouped(total)})`;
}
