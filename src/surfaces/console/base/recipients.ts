import type { ProgressSample } from 'built/campaign/views/live-views.js';
import type { ReportRow } from 'built/campaign/views/recipient-views.js';
import { RECIPIENT_STATES, type RecipientState, sentOf } from '../../../campaign/states/recipient.js';
import { meaningOf } from '../../../campaign/states/state-labels.js';
import { withoutMessage } from '../../../campaign/text/service-message.js';
import { capital, texts } from './texts.js';

export type Counts = Readonly<Record<RecipientState | 'total', number>>;

/** How each state is drawn, in the order of the bar; each has a colour and a pattern of its own (`Patterns`). */
export const KIND_OF = {
  deliveredToTerminal: 'delivered',
  unconfirmed: 'unconfirmed',
  deliveryImpossible: 'failed',
  rejected: 'failed',
  lapsed: 'left',
  cancelled: 'left',
  suppressed: 'left',
  abandoned: 'left',
  unknown: 'unknown',
  deliveredToNetwork: 'network',
  sending: 'sending',
  planned: 'planned',
} as const satisfies Record<RecipientState, string>;
export type Kind = (typeof KIND_OF)[RecipientState];

/** What became of a recipient, for those who send: the groups in their order. */
export const RESULTS = {
  delivered: ['deliveredToTerminal'],
  onTheWay: ['sending', 'deliveredToNetwork'],
  notSentYet: ['planned'],
  notDelivered: ['deliveryImpossible', 'rejected', 'lapsed', 'cancelled', 'suppressed', 'abandoned'],
  unclear: ['unknown', 'unconfirmed'],
} as const satisfies Readonly<Record<string, readonly RecipientState[]>>;
export type Result = keyof typeof RESULTS;
export const RESULT_NAMES = Object.keys(RESULTS) as readonly Result[];

/** How many recipients have a result. */
export const resultOf = (counts: Counts, result: Result): number =>
  RESULTS[result].reduce((sum, state) => sum + counts[state], 0);

const SENTENCE = /"(?:message|detail|description|error|text)"\s*:\s*"((?:[^"\\]|\\.)+)/i;
/** What the service wrote for people, in a body that may be cut off: `address contains an invalid number`. */
const sentenceIn = (body: string): string | undefined =>
  SENTENCE.exec(body)?.[1] ?? (/^[[{<]/.test(body) ? undefined : body.replace(/^[A-Z]+\d+: /, ''));

/** Why a recipient is in its state, in a sentence, and what the service says exactly; empty if the state says it all. */
export function reasonOf(row: Pick<ReportRow, 'status' | 'reason' | 'serviceStatus'>) {
  const { status, serviceStatus, reason } = row;
  const meaning = meaningOf(status);
  // What broke off, on which host, says nothing to those who send.
  if (status === 'unknown') return { plain: meaning, details: reason };
  const { plain, details } = withoutMessage(reason ?? '');
  const said = details === null ? undefined : sentenceIn(details);
  if (said) return { plain: texts.serviceSays(said), details: reason };
  return { plain: capital(plain || meaning), details: details ?? serviceStatus };
}

/** A part of the bar is at least this wide: three unknown outcomes of a million must be seen. */
const LEAST = 0.006;

/** The parts of the bar that are not empty, with where they begin, as shares of the whole. */
export function barParts(counts: Counts): { kind: Kind; count: number; from: number; share: number }[] {
  const whole = Math.max(1, counts.total);
  const parts = [...new Set(Object.values(KIND_OF))].flatMap((kind) => {
    const states = RECIPIENT_STATES.filter((state) => KIND_OF[state] === kind);
    const count = states.reduce((sum, state) => sum + counts[state], 0);
    return count === 0 ? [] : [{ kind, count, wide: Math.max(LEAST, count / whole) }];
  });
  const all = parts.reduce((sum, { wide }) => sum + wide, 0);
  let from = 0;
  return parts.map(({ kind, count, wide }) => {
    const part = { kind, count, from, share: wide / all };
    from += part.share;
    return part;
  });
}

/** Sends per minute between the samples. Messages that were released after a 429 make none negative. */
export function ratesOf(samples: readonly ProgressSample[]) {
  return samples.slice(1).flatMap((sample, at) => {
    const before = samples[at] ?? sample;
    const [from, to] = [Date.parse(before.at), Date.parse(sample.at)];
    const sent = Math.max(0, sentOf(sample.counts) - sentOf(before.counts));
    return to <= from ? [] : [{ from, to, value: (sent / (to - from)) * 60_000 }];
  });
}
