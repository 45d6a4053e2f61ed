import { exactDuration } from '../../../base/duration.js';
import { countryOf, isOfRecipients, windowParts } from '../../../campaign/estimate/window.js';
import type { Limits } from '../../../campaign/limits/check-limits.js';
import { placeholdersOf } from '../../../campaign/text/template.js';
import type { OutboxChange } from '../../../campaign/views/outbox-views.js';
import type { OutboxInput } from '../definition/define-outbox.js';
import { contentReader, type MessageContent, type MessageProblem } from '../definition/message-content.js';
import { differencesOf, type OutboxDefinition, type OutboxSettings } from '../definition/settings.js';
import { messageText, type WaitingMessage } from '../definition/stored-message.js';
import { usedColumns } from '../definition/used-columns.js';

/*
 * What a change of the settings of an outbox means for the messages that wait in it.
 *
 *   put under revision 3 ──► checked by revision 3 ──► claimed with revision 3 ──► confirmed right before its request
 *                       change to revision 4: a claim that is not confirmed yet is released
 *                            └──► checked again, and rewritten, by revision 4 ──► claimed with revision 4
 *
 * Messages that were checked by the earlier text need no second check if the new one uses only values that it used, and the times stay.
 */

/** The settings after a change, with what differs; null if nothing does. `fill`: values of messages that lack them. */
export function changedSettings(
  stored: OutboxSettings,
  wanted: OutboxDefinition,
  fill: Readonly<Record<string, string>> = {},
): { readonly settings: OutboxSettings; readonly changed: readonly string[] } | null {
  const changed = differencesOf(stored, wanted);
  if (changed.length === 0) return null;
  const revision = stored.revision + 1;
  const isTimed = changed.includes('sendRule') || changed.includes('zone');
  const known = placeholderNames(stored.message);
  const isNew = placeholderNames(wanted.message).some((name) => !known.includes(name));
  // Their messages wait for other hours, or may lack a zone.
  const isRezoned =
    (changed.includes('window') || changed.includes('zoneFrom')) &&
    (isOfRecipients(stored.window) || isOfRecipients(wanted.window));
  const isRead = isRezoned || isTimed || isNew || Object.keys(fill).length > 0;
  return {
    changed,
    settings: {
      ...wanted,
      columns: [...new Set([...stored.columns, ...usedColumns(wanted)])],
      revision,
      since: isRead ? revision : stored.since,
      timedSince: isTimed ? revision : stored.timedSince,
      ...(isRead ? { fill: { ...fill } } : stored.fill === undefined ? {} : { fill: stored.fill }),
      id: stored.id,
      created: stored.created,
      createdBy: stored.createdBy,
    },
  };
}

function placeholderNames(message: string): readonly string[] {
  const placeholders = placeholdersOf(message);
  return placeholders.ok ? placeholders.names : [];
}

/** The settings as a request gave them. */
export function definitionOf(settings: OutboxSettings): OutboxDefinition {
  const {
    columns: _,
    revision: __,
    since: ___,
    timedSince: ____,
    fill,
    id,
    created,
    createdBy,
    ...own
  } = settings;
  return own;
}

/** The input with which an outbox would be created with these settings. */
export function inputOf(name: string, lane: string, settings: OutboxSettings): OutboxInput {
  const { window: rule, lateMs, ...fields } = definitionOf(settings);
  const others = { ...fields, late: exactDuration(lateMs) };
  if (rule === undefined) return { ...others, name, lane };
  const { hours, except } = windowParts(rule);
  const zone = isOfRecipients(rule) ? ('recipient' as const) : undefined;
  return { ...others, name, lane, window: { hours, except, zone } };
}

/** Reads messages that wait by settings that may be later than those by which they were put. */
export function waitingReader(
  settings: OutboxSettings,
  windows: readonly string[],
): (message: WaitingMessage, now: number, limits?: Limits) => MessageContent {
  const readContent = contentReader(settings, windows);
  const places = new Map(settings.columns.map((name, at) => [name, at]));
  return (message, now, limits) => {
    const { values, due, number, zone = '' } = message;
    const valueIn = (member: string): string => {
      if (member === 'sendAt') return keepsTime(settings, message) ? new Date(due * 1_000).toISOString() : '';
      // That of its country follows from the number, if the settings say so.
      if (member === 'zone' && zone !== '' && countryOf(zone) === null) return zone;
      const value = values[places.get(member) ?? -1] ?? '';
      return value.trim() === '' ? (settings.fill?.[member] ?? '') : value;
    };
    return readContent(valueIn, now, number, limits);
  };
}

/** Whether the time of a message stays when the settings change. */
const keepsTime = (
  { timedSince }: Pick<OutboxSettings, 'timedSince'>,
  { hasOwnTime, revision = 0 }: WaitingMessage,
): boolean => hasOwnTime === true || revision >= timedSince;

/** Why the settings do not allow a message. One whose time is over lapses. */
export const refusalsOf = ({ problems }: Pick<MessageContent, 'problems'>): MessageProblem[] =>
  problems.filter(({ isOver, code }) => isOver !== true && code !== 'opensTooLate');

const IDS_SHOWN = 5;

/** Collects what is wrong with waiting messages, by the values at fault. */
export function unfitMessages() {
  const unfit = new Map<string, OutboxChange['unfit'][number] & { messageCount: number; ids: string[] }>();
  return {
    note(id: string, refusals: readonly MessageProblem[]): void {
      for (const { member, code, reason } of refusals) {
        const known = unfit.get(member) ?? { member, code, reason, messageCount: 0, ids: [] };
        known.messageCount += 1;
        if (known.ids.length < IDS_SHOWN) known.ids.push(id);
        unfit.set(member, known);
      }
    },
    list: (): OutboxChange['unfit'] => [...unfit.values()],
  };
}

/** The message by settings that allow it, to be stored. `now`: ms. */
export function rewritten(
  settings: OutboxSettings,
  message: WaitingMessage,
  { values, dueAt, zone }: MessageContent,
  now: number,
): string {
  const isKept = keepsTime(settings, message) || (dueAt === 0 && message.due * 1_000 <= now);
  // 0: at once.
  const changed = dueAt === 0 ? 0 : Math.max(1, Math.ceil(dueAt / 1_000));
  const due = isKept ? message.due : changed;
  return messageText({ ...message, values, due, zone, revision: settings.revision });
}
