import { formatDuration } from '../../base/duration.js';
import { LONE_SURROGATE, LONE_SURROGATE_REASON } from '../../campaign/lone-surrogate.js';
import { readTime } from '../../campaign/moment.js';
import { type NumberKinds, numberReader } from '../../campaign/number.js';
import { applyRule } from '../../campaign/send-time.js';
import { compileTemplate } from '../../campaign/template.js';
import { describeWindow, nextCommonOpening } from '../../campaign/window.js';
import { formatInZone } from '../../campaign/zone.js';
import { type OutboxSettings, ruleOf } from './settings.js';
import type { WaitingMessage } from './stored-message.js';

/** A message for an outbox: its id, its number in `to`, and a value for each placeholder. */
export interface OutboxMessage {
  /** 1 to 128 bytes; yours, and unique in the outbox. */
  readonly id: string;
  readonly to: string;
  /** When it is sent: ISO 8601 with an offset, or a local time of the outbox's zone. Default: as the outbox says. */
  readonly sendAt?: string | null | undefined;
  /** A whole number from 0. A message with a lower version than the stored one has no effect. */
  readonly version?: number | string | null | undefined;
  /** Returned with the status and in the report. */
  readonly reference?: string | null | undefined;
  readonly [value: string]: string | number | null | undefined;
}

/** A member at fault and why; the reason continues the name of the member, or begins with its value in quotes. */
export interface MessageProblem {
  readonly member: string;
  readonly reason: string;
  /** The message is valid, but would lapse before its window opens. */
  readonly opensTooLate?: true;
}

/** A message that can be stored, or everything that is wrong with it, at least one problem. */
export type CheckedMessage =
  | { readonly ok: true; readonly id: string; readonly message: WaitingMessage }
  | {
      readonly ok: false;
      readonly id: string;
      readonly problems: readonly [MessageProblem, ...MessageProblem[]];
    };

/** What is wrong with a member, in a sentence. */
export function sentenceOf({ member, reason }: MessageProblem): string {
  return reason.startsWith('"') ? reason : `\`${member}\` ${reason}`;
}

const MAX_ID_BYTES = 128;
const MAX_REFERENCE_BYTES = 128;
const MAX_TEXT_LENGTH = 20_000;
const MAX_AHEAD_YEARS = 5;
/** How many members that are not usable are looked for: as many as an error lists. A message may have thousands. */
const MAX_UNUSABLE = 20;

/** Why an id cannot be used; null if it can. Continues `id`. */
export function idProblem(id: string): string | null {
  if (id === '') return 'is empty';
  const bytes = Buffer.byteLength(id);
  if (bytes > MAX_ID_BYTES) return `has ${bytes} bytes; the maximum is ${MAX_ID_BYTES}`;
  return LONE_SURROGATE.test(id) ? LONE_SURROGATE_REASON : null;
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
const isUsable = (value: unknown): boolean =>
  value === null || ['string', 'number', 'undefined'].includes(typeof value);

/** The member at fault and why, and whether only the window is. */
type Refused = readonly [member: string, reason: string, opensTooLate?: true];

/** Makes the check of an outbox's messages. `windows`: its window and that of its lane. Throws an InputError for an unknown country. */
export function messageChecker(
  settings: OutboxSettings,
  defaults: { readonly defaultCountry?: string | undefined; readonly numberKinds: NumberKinds },
  windows: readonly string[],
): (message: OutboxMessage, now: number) => CheckedMessage {
  const readNumber = numberReader(settings.country ?? defaults.defaultCountry, defaults.numberKinds);
  const rule = ruleOf(settings);
  const compiled = compileTemplate(settings.message, settings.placeholders);
  if (!compiled.ok) throw new Error(compiled.reason);
  const { template } = compiled;
  const { zone, lateMs } = settings;

  /** Empty for a value of another type: that of JSON may have a `toString` that is no function, or be nested too deeply to be a text. */
  const textOf = (message: OutboxMessage, member: string): string => {
    const value = Object.hasOwn(message, member) ? message[member] : '';
    return isUsable(value) ? String(value ?? '') : '';
  };

  /** Why a message lapses before its window opens; undefined if it does not. `due`: its time, if that is not `at`. */
  const tooLate = (at: number, what: string, due = at): Refused | undefined => {
    if (windows.length === 0) return undefined;
    const opening = nextCommonOpening(windows, at);
    if (opening !== null && opening.from < due + lateMs) return undefined;
    const described = windows.map(describeWindow).join('; ');
    const when =
      opening === null ? 'never opens' : `opens next at ${formatInZone(zone ?? 'UTC', opening.from)}`;
    return [
      'sendAt',
      `${what}, but the window (${described}) ${when}, and the message may be at most ${formatDuration(lateMs)} late`,
      true,
    ];
  };

  /** When it is due, ms; 0: at once. */
  const dueOf = (message: OutboxMessage, now: number): number | Refused => {
    const given = textOf(message, 'sendAt').trim();
    if (given === '' && rule.kind === 'now')
      return tooLate(now, 'is not set, so the message is due now') ?? 0;
    const member = given !== '' || rule.kind === 'now' ? 'sendAt' : rule.column;
    const text = given !== '' ? given : textOf(message, member).trim();
    if (text === '') return [member, `is missing, but the send time follows from it (${settings.sendAt})`];
    const time = readTime(text, zone, 'the outbox');
    if (!time.ok) return [member, time.reason];
    const at = given !== '' || rule.kind === 'now' ? time.at : applyRule(rule, time.at, zone);
    const shown = (): string => formatInZone(zone ?? 'UTC', at);
    if (at + lateMs <= now)
      return [
        member,
        `is ${text}, so it would have been sent at ${shown()}, more than ${formatDuration(lateMs)} ago`,
      ];
    const latest = new Date(now);
    latest.setUTCFullYear(latest.getUTCFullYear() + MAX_AHEAD_YEARS);
    if (at > latest.getTime())
      return [
        member,
        `is ${text}, so it would be sent at ${shown()}, more than ${MAX_AHEAD_YEARS} years ahead`,
      ];
    const late = tooLate(Math.max(at, now), `is ${text}`, at);
    return late === undefined ? at : [member, late[1], true];
  };

  return (message, now) => {
    const problems: MessageProblem[] = [];
    const refuse = (member: string, reason: string | null): void => {
      if (reason !== null && !problems.some((known) => known.member === member))
        problems.push({ member, reason });
    };
    for (const member of Object.keys(message)) {
      if (problems.length === MAX_UNUSABLE) break;
      if (!isUsable(message[member])) problems.push({ member, reason: 'is not a text or a number' });
    }
    const id = textOf(message, 'id');
    refuse('id', idProblem(id));
    const read = readNumber(textOf(message, 'to'));
    // The country of an outbox never changes, so a message cannot set it.
    if (!read.ok) refuse('to', read.reason.replace(/, or set `country`$/, ''));
    const version = readVersion(message.version);
    if (version === undefined) refuse('version', VERSION_REASON);
    const reference = textOf(message, 'reference');
    const referenceBytes = Buffer.byteLength(reference);
    if (referenceBytes > MAX_REFERENCE_BYTES)
      refuse('reference', `has ${referenceBytes} bytes; the maximum is ${MAX_REFERENCE_BYTES}`);
    const values = settings.placeholders.map((name) => textOf(message, name));
    const missing = settings.placeholders.filter((_, at) => values[at]?.trim() === '');
    for (const name of missing) refuse(name, `is missing, but the message uses {{${name}}}`);
    for (const [at, name] of settings.placeholders.entries())
      if (LONE_SURROGATE.test(values[at] ?? '')) refuse(name, LONE_SURROGATE_REASON);
    const length = missing.length > 0 ? 0 : template.length(values);
    if (length > MAX_TEXT_LENGTH)
      refuse('to', `gets a text of ${length} characters; the maximum is ${MAX_TEXT_LENGTH}`);
    const due = dueOf(message, now);
    if (typeof due !== 'number' && !problems.some(({ member }) => member === due[0]))
      problems.push({ member: due[0], reason: due[1], ...(due[2] === true && { opensTooLate: true }) });
    const [first, ...others] = problems;
    if (first !== undefined) return { ok: false, id, problems: [first, ...others] };
    if (!read.ok || version === undefined || typeof due !== 'number')
      throw new Error('a member that is not valid has no problem');
    return {
      ok: true,
      id,
      message: { due: Math.ceil(due / 1_000), version, number: read.number, values, reference },
    };
  };
}
