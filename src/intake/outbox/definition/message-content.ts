import { formatDuration } from '../../../base/duration.js';
import type { ErrorCode } from '../../../campaign/errors/error-codes.js';
import {
  countryOf,
  describeWindow,
  isOfRecipients,
  nextCommonOpening,
  ruleIn,
} from '../../../campaign/estimate/window.js';
import { MAX_TEXT_LENGTH } from '../../../campaign/fields/fields.js';
import { type LimitRefusal, type Limits, NO_LIMITS } from '../../../campaign/limits/check-limits.js';
import { notText } from '../../../campaign/text/lone-surrogate.js';
import { segmentsOf } from '../../../campaign/text/segments.js';
import { compileTemplate } from '../../../campaign/text/template.js';
import { readTime } from '../../../campaign/time/moment.js';
import { applyRule } from '../../../campaign/time/send-time.js';
import { formatInZone } from '../../../campaign/time/zone.js';
import { zoneFinder } from '../../import/rows/zone-of.js';
import { type OutboxSettings, ruleOf } from './settings.js';

/*
 * What the settings of an outbox make of a message: its values, and when it is due. A put checks it, and so does a change of the settings, for
 * each message that waits.
 */

/** A member at fault and why; the reason continues the name of the member, or begins with its value in quotes. */
export interface MessageProblem {
  readonly member: string;
  /** `opensTooLate`: the message is valid, but would lapse before its window opens. */
  readonly code: ErrorCode;
  readonly reason: string;
  /** The message is valid, but its time is over. */
  readonly isOver?: true;
  /** The limit that does not allow it. */
  readonly refused?: LimitRefusal;
}

const MAX_AHEAD_YEARS = 5;

/** What the settings of an outbox make of the values of a message, and what is wrong with it. */
export interface MessageContent {
  /** A value per column. */
  readonly values: readonly string[];
  /** When it is due, ms; 0: at once. It means nothing if that cannot be found out. */
  readonly dueAt: number;
  /** Whether that is its own time, and does not follow the rule. */
  readonly hasOwnTime: boolean;
  /** How many segments it has; null if no limit depends on that. */
  readonly segments: number | null;
  /** Its own zone, or that of the country of its number; '' if it has and needs none. */
  readonly zone: string;
  readonly problems: readonly MessageProblem[];
}

/** When a message is due, ms, and what is wrong with that. */
interface Due {
  readonly at: number;
  readonly problem?: MessageProblem | undefined;
}

/** The zone of the local times of a message, and the windows in which it may be sent. */
interface Hours {
  readonly zone: string | undefined;
  readonly windows: readonly string[];
}

/**
 * Reads the values of messages by the settings of an outbox. `windows`: its window and that of its lane. `valueIn` returns '' for none;
 * `number`: in E.164 with its plus, '' if it is invalid.
 */
export function contentReader(
  settings: OutboxSettings,
  windows: readonly string[],
): (valueIn: (member: string) => string, now: number, number: string, limits?: Limits) => MessageContent {
  const rule = ruleOf(settings);
  const compiled = compileTemplate(settings.message, settings.columns);
  if (!compiled.ok) throw new Error(compiled.reason);
  const { template } = compiled;
  const { window, lateMs, columns } = settings;
  const used = template.placeholders.map((name) => [name, columns.indexOf(name)] as const);

  const zoneOf = zoneFinder({
    window: isOfRecipients(window) ? window : undefined,
    laneWindow: windows.find((each) => each !== window),
    isFromNumber: settings.zoneFrom === 'number',
  });
  /** Of a message with this zone; null: with none that can be used. */
  const hoursOf = (own: string | null): Hours => {
    const isLocal = own !== null && own !== '' && countryOf(own) === null;
    const rules = own === null ? [] : windows.map((rule) => ruleIn(rule, own));
    return { zone: isLocal ? own : settings.zone, windows: rules.filter((rule) => rule !== undefined) };
  };

  /** Why a message lapses before its window opens; undefined if it does not. `due`: its time, if that is not `at`. */
  const tooLate = (
    { zone, windows }: Hours,
    member: string,
    at: number,
    what: string,
    due = at,
  ): MessageProblem | undefined => {
    if (windows.length === 0) return undefined;
    const opening = nextCommonOpening(windows, at);
    if (opening !== null && opening.from < due + lateMs) return undefined;
    const described = windows.map(describeWindow).join('; ');
    const when =
      opening === null ? 'never opens' : `opens next at ${formatInZone(zone ?? 'UTC', opening.from)}`;
    const reason = `${what}, but the window (${described}) ${when}, and the message may be at most ${formatDuration(lateMs)} late`;
    return { member, code: 'opensTooLate', reason };
  };

  /** When it is due, ms; 0: at once. */
  const dueOf = (given: string, valueIn: (member: string) => string, now: number, hours: Hours): Due => {
    const { zone } = hours;
    if (given === '' && rule.kind === 'now')
      return { at: 0, problem: tooLate(hours, 'sendAt', now, 'is not set, so the message is due now') };
    const member = given !== '' || rule.kind === 'now' ? 'sendAt' : rule.column;
    const refused = (reason: string, code: ErrorCode = 'invalidValue'): Due => ({
      at: 0,
      problem: { member, code, reason },
    });
    const text = given !== '' ? given : valueIn(member).trim();
    if (text === '')
      return refused(`is missing, but the send time follows from it (${settings.sendRule})`, 'noValue');
    const time = readTime(text, zone, 'the outbox');
    if (!time.ok) return refused(time.reason);
    const at = given !== '' || rule.kind === 'now' ? time.at : applyRule(rule, time.at, zone);
    const shown = (): string => formatInZone(zone ?? 'UTC', at);
    if (at + lateMs <= now) {
      const reason = `is ${text}, so it would have been sent at ${shown()}, more than ${formatDuration(lateMs)} ago`;
      return { at, problem: { member, code: 'invalidValue', reason, isOver: true } };
    }
    const latest = new Date(now);
    latest.setUTCFullYear(latest.getUTCFullYear() + MAX_AHEAD_YEARS);
    if (at > latest.getTime())
      return refused(
        `is ${text}, so it would be sent at ${shown()}, more than ${MAX_AHEAD_YEARS} years ahead`,
      );
    return { at, problem: tooLate(hours, member, Math.max(at, now), `is ${text}`, at) };
  };

  return (valueIn, now, number, limits = NO_LIMITS) => {
    const problems: MessageProblem[] = [];
    const refuse = (member: string, code: ErrorCode, reason: string): void =>
      void problems.push({ member, code, reason });
    const values = columns.map(valueIn);
    const missing = used.filter(([, at]) => values[at]?.trim() === '');
    for (const [name] of missing) refuse(name, 'noValue', `is missing, but the message uses {{${name}}}`);
    for (const [at, name] of columns.entries()) {
      const reason = notText(values[at] ?? '');
      if (reason !== null) refuse(name, 'invalidValue', reason);
    }
    const length = missing.length > 0 ? 0 : template.length(values);
    if (length > MAX_TEXT_LENGTH)
      refuse('to', 'row', `gets a text of ${length} characters; the maximum is ${MAX_TEXT_LENGTH}`);
    const isMeasured = missing.length === 0 && length <= MAX_TEXT_LENGTH && limits.needsSegments;
    const segments = isMeasured ? segmentsOf(template.render(values)).segments : null;
    const refused = segments === null ? null : limits.refusal('segments', segments);
    if (refused !== null)
      problems.push({ member: 'to', code: 'notAllowed', reason: refused.reason, refused });
    const given = valueIn('sendAt').trim();
    const text = valueIn('zone').trim();
    // The number has its own problem.
    const found = number === '' && text === '' ? null : zoneOf(text, number, now);
    if (found?.ok === false) refuse('zone', found.code, found.reason);
    const zone = found?.ok === true ? found.zone : null;
    const { at: dueAt, problem } = dueOf(given, valueIn, now, hoursOf(zone));
    if (problem !== undefined) problems.push(problem);
    return { values, dueAt, hasOwnTime: given !== '', segments, zone: zone ?? '', problems };
  };
}
