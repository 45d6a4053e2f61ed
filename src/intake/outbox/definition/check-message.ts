import type { LocalConfig } from '../../../base/config/index.js';
import type { ErrorCode } from '../../../campaign/errors/error-codes.js';
import { InputError } from '../../../campaign/errors/errors.js';
import { labelsProblem } from '../../../campaign/fields/field-kinds.js';
import { LimitError, type Limits, NO_LIMITS } from '../../../campaign/limits/check-limits.js';
import { priceFinder } from '../../../campaign/limits/price.js';
import { numberReader } from '../../../campaign/numbers/number.js';
import { notText } from '../../../campaign/text/lone-surrogate.js';
import { numberProblem, type Time } from '../../../campaign/time/moment.js';
import { inexact } from '../../import/read-objects.js';
import { contentReader, type MessageProblem } from './message-content.js';
import type { OutboxSettings } from './settings.js';
import type { WaitingMessage } from './stored-message.js';

/** A message for an outbox: its id, its number in `to`, and a value for each placeholder. */
export interface OutboxMessage {
  /** 1 to 128 bytes; yours, and unique in the outbox. */
  readonly id: string;
  readonly to: string;
  /**
   * When it is sent: ISO 8601 with an offset, or a local time of its `zone`, or else of the outbox's; ms since the epoch; or a Date. Default: as the outbox says.
   */
  readonly sendAt?: Time | null | undefined;
  /** A whole number from 0. A message with a lower version than the stored one has no effect. */
  readonly version?: number | string | null | undefined;
  /** Returned with the status and in the report. */
  readonly reference?: string | null | undefined;
  /** By which you can cancel and list messages, such as the id of a shop; 1 to 64 letters, digits, and `.`, `_`, `:`, `-`. */
  readonly tag?: string | null | undefined;
  /** Its IANA time zone, such as `America/Denver`: of its local times, and of the window of the outbox if that is in the zone of each recipient. */
  readonly zone?: string | null | undefined;
  /** Only `sendAt` may be a Date. */
  readonly [value: string]: string | number | Date | null | undefined;
}

/** A message that can be stored, or everything that is wrong with it, at least one problem. */
export type CheckedMessage =
  | {
      readonly ok: true;
      readonly id: string;
      readonly message: WaitingMessage;
      /** In micros; 0 if no limit depends on it. */
      readonly cost: number;
    }
  | {
      readonly ok: false;
      readonly id: string;
      readonly problems: readonly [MessageProblem, ...MessageProblem[]];
    };

/** What is wrong with a member, in a sentence. */
export function sentenceOf({ member, reason }: MessageProblem): string {
  return reason.startsWith('"') ? reason : `\`${member}\` ${reason}`;
}

/** The same of each problem, as errors. */
export const errorsOf = (problems: readonly MessageProblem[]): InputError[] =>
  problems.map(({ refused, ...problem }) => {
    const field = problem.member;
    return refused === undefined
      ? new InputError(sentenceOf(problem), { field, itemCode: problem.code })
      : new LimitError(sentenceOf(problem), { ...refused, field });
  });

const MAX_ID_BYTES = 128;
/** How many members that are not usable are looked for: as many as an error lists. A message may have thousands. */
const MAX_UNUSABLE = 20;

/** Why an id, or a reference, cannot be used; null if it can. Continues `id`. */
export function idProblem(id: string): string | null {
  if (id === '') return 'is empty';
  const bytes = Buffer.byteLength(id);
  if (bytes > MAX_ID_BYTES) return `has ${bytes} bytes; the maximum is ${MAX_ID_BYTES}`;
  return notText(id);
}

/** Reads a version; null if there is none, undefined if it is not valid. */
export function readVersion(version: OutboxMessage['version']): number | null | undefined {
  if (version === undefined || version === null || version === '') return null;
  const number = typeof version === 'string' && /^\d{1,16}$/.test(version) ? Number(version) : version;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

/** What is wrong with a version; continues its name. */
export const VERSION_REASON = `is not a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`;

/** Programs and JSON may pass anything. */
const isUsable = (value: unknown, member: string): boolean =>
  value === null ||
  ['string', 'number', 'undefined'].includes(typeof value) ||
  (member === 'sendAt' && value instanceof Date);

/** A time that is no text, in ms since the epoch. */
const momentOf = (time: unknown): number | undefined =>
  typeof time === 'number' || time instanceof Date ? Number(time) : undefined;

/** Makes the check of an outbox's messages. `windows`: its window and that of its lane. Throws an InputError for an unknown country. */
export function messageChecker(
  settings: OutboxSettings,
  defaults: Pick<LocalConfig, 'numberKinds'> & Partial<Pick<LocalConfig, 'defaultCountry' | 'prices'>>,
  windows: readonly string[],
): (message: OutboxMessage, now: number, limits?: Limits) => CheckedMessage {
  const readNumber = numberReader(settings.country ?? defaults.defaultCountry, defaults.numberKinds);
  const readContent = contentReader(settings, windows);
  const priceOf = defaults.prices && priceFinder(defaults.prices);
  const used = new Set(['id', 'reference', 'tag', ...settings.columns]);

  /** Empty for a value of another type: that of JSON may have a `toString` that is no function, or be nested too deeply to be a text. */
  const textOf = (message: OutboxMessage, member: string): string => {
    const value = Object.hasOwn(message, member) ? message[member] : '';
    if (!isUsable(value, member)) return '';
    const at = member === 'sendAt' ? momentOf(value) : undefined;
    if (at === undefined) return String(value ?? '');
    return numberProblem(at, true) === null ? new Date(at).toISOString() : '';
  };

  return (message, now, limits = NO_LIMITS) => {
    const problems: MessageProblem[] = [];
    const refuse = (member: string, reason: string | null, code: ErrorCode = 'invalidValue'): void => {
      if (reason !== null && !problems.some((known) => known.member === member))
        problems.push({ member, code, reason });
    };
    for (const member of Object.keys(message)) {
      if (problems.length === MAX_UNUSABLE) break;
      const value = message[member];
      if (!isUsable(value, member)) refuse(member, 'is not a text or a number');
      else if (used.has(member)) refuse(member, inexact(value));
    }
    const at = momentOf(message.sendAt);
    if (at !== undefined) refuse('sendAt', numberProblem(at, message.sendAt instanceof Date));
    const id = textOf(message, 'id');
    refuse('id', idProblem(id));
    const read = readNumber(textOf(message, 'to'));
    // A message cannot set the country.
    if (!read.ok) refuse('to', read.reason.replace(/, or set `country`$/, ''), read.code ?? 'invalidNumber');
    const foreign = read.ok ? limits.refusal('number', read.number) : null;
    if (foreign !== null)
      problems.push({ member: 'to', code: 'notAllowed', reason: foreign.reason, refused: foreign });
    const price = read.ok && limits.needsPrices ? priceOf?.(read.number) : 0;
    if (price === undefined) refuse('to', 'has no price, and a daily limit of the cost applies', 'noPrice');
    const version = readVersion(message.version);
    if (version === undefined) refuse('version', VERSION_REASON);
    const reference = textOf(message, 'reference');
    if (reference !== '') refuse('reference', idProblem(reference));
    const tag = textOf(message, 'tag');
    if (tag !== '' && labelsProblem('tag', [tag]) !== null)
      refuse('tag', 'is not a text of 1 to 64 letters (A-Z, a-z), digits, and . _ : -');
    const content = readContent((member) => textOf(message, member), now, read.ok ? read.number : '', limits);
    for (const problem of content.problems)
      if (!problems.some(({ member }) => member === problem.member)) problems.push(problem);
    const [first, ...others] = problems;
    if (first !== undefined) return { ok: false, id, problems: [first, ...others] };
    if (!read.ok || version === undefined) throw new Error('a member that is not valid has no problem');
    const { values, dueAt, hasOwnTime, zone } = content;
    const { revision } = settings;
    const due = Math.ceil(dueAt / 1_000);
    return {
      ok: true,
      id,
      cost: (price ?? 0) * (content.segments ?? 0),
      message: { due, version, number: read.number, values, reference, tag, zone, hasOwnTime, revision },
    };
  };
}
