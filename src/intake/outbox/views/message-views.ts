import { NotFoundError } from '../../../campaign/errors/errors.js';
import {
  countryOf,
  describeZone,
  inZone,
  isOfRecipients,
  nextCommonOpening,
  openingTime,
} from '../../../campaign/estimate/window.js';
import { requestReference } from '../../../campaign/states/campaign.js';
import { compileTemplate, type Template } from '../../../campaign/text/template.js';
import type { OutboxMessageStatus } from '../../../campaign/views/outbox-views.js';
import type { Lane } from '../../../engine/lane/lane.js';
import { outboxId, readEdition, type StoredMessage } from '../../../engine/recipients/outbox-messages.js';
import { parseStatusWord } from '../../../engine/recipients/status-words.js';
import { readOutboxSettings } from '../definition/settings.js';
import { isChangeable } from '../messages/rewrite-messages.js';
import { outboxStore } from '../messages/store.js';
import { REASONS } from './reasons.js';
import { unknownClaims } from './unknown-claims.js';

const iso = (ms: number): string | null => (ms === 0 ? null : new Date(ms).toISOString());

type Content = Pick<OutboxMessageStatus, 'values' | 'text'>;
const NO_CONTENT: Content = { values: null, text: null };

/** Shows stored messages. */
export type MessageViewer = (id: string, message: StoredMessage) => Promise<OutboxMessageStatus>;

/** Whether a message has every value of a text: one that was put before that, and waits to be put again, lacks some. */
const isWhole = ({ missing }: Template, values: readonly string[]): boolean => missing(values) === null;

/**
 * Shows the messages of an outbox as they are stored. What was claimed, or may have been accepted, has the text of the settings with which it
 * was sent. Once a message is final, its values are gone, and its text with them.
 */
export async function messageViewer(lane: Lane, name: string): Promise<MessageViewer> {
  const { redis, keys, id: laneId } = lane;
  const contents = new Map<number | undefined, Promise<(values: readonly string[]) => Content>>();
  const reader = async (edition: number | undefined): Promise<(values: readonly string[]) => Content> => {
    const settings = await readEdition(redis, keys, laneId, name, edition);
    if (settings === null) return () => NO_CONTENT;
    const { message, columns } = settings;
    const compiled = compileTemplate(message, columns);
    return (values) => ({
      values: Object.fromEntries(
        columns.flatMap((each, at) => (at in values ? [[each, values[at] ?? '']] : [])),
      ),
      text: compiled.ok && isWhole(compiled.template, values) ? compiled.template.render(values) : null,
    });
  };
  const contentOf = (edition: number | undefined) => {
    const known = contents.get(edition) ?? reader(edition);
    contents.set(edition, known);
    return known;
  };
  // A message with an unknown outcome is named by its claim.
  let unknown: ReturnType<typeof unknownClaims> | undefined;
  const claimOf = async (id: string, number: number): Promise<number | undefined> => {
    unknown ??= unknownClaims(lane, name);
    return (await unknown).get(`${number} ${id}`);
  };

  /** The hours of its own zone for which a message waits; null if it waits for none. */
  let settings: ReturnType<typeof readOutboxSettings> | undefined;
  const waitsFor = async ({ due, zone }: StoredMessage): Promise<string | null> => {
    const now = lane.clock();
    if (zone === '' || due * 1_000 > now) return null;
    settings ??= readOutboxSettings(redis, keys, laneId, name);
    const { window } = (await settings) ?? {};
    if (!isOfRecipients(window)) return null;
    const rule = inZone(window, zone);
    const opening = nextCommonOpening([rule, lane.rules.sendWindow], now);
    if (opening === null || opening.from <= now) return null;
    return `waits for ${openingTime(rule, opening.from, now)} in ${describeZone(zone)}`;
  };

  return async (id, message) => {
    const { number, state, due, version, to, reference, values, edition, at, word, zone } = message;
    const isKept = ['planned', 'sending', 'unknown', 'deliveredToNetwork'].includes(state);
    const content = isKept
      ? (await contentOf(isChangeable(message) ? undefined : edition))(values)
      : NO_CONTENT;
    const claim = state === 'unknown' ? await claimOf(id, number) : undefined;
    const said = word === '' ? null : parseStatusWord(word);
    const wasSent = !['planned', 'sending', 'lapsed', 'cancelled', 'suppressed'].includes(state);
    return {
      id,
      state: state === 'planned' ? 'waiting' : state,
      sendAt: iso(due * 1_000),
      version,
      to: to || null,
      reference: reference || null,
      tag: message.tag || null,
      zone: countryOf(zone) === null ? zone || null : null,
      ...content,
      sentAt: wasSent ? iso(at) : null,
      requestId: message.requestId || (claim === undefined ? null : requestReference(outboxId(name), claim)),
      reason: message.reason || REASONS[state] || (state === 'planned' ? await waitsFor(message) : null),
      serviceStatus: said?.word ?? null,
      serviceCode: said?.code || null,
    };
  };
}

/** Reads a message. Throws a NotFoundError if there is none with this id. */
export async function readMessage(lane: Lane, name: string, id: string): Promise<OutboxMessageStatus> {
  const stored = await outboxStore(lane, name).find(id);
  if (stored === null) throw new NotFoundError(`outbox ${name} has no message ${id}`);
  return (await messageViewer(lane, name))(id, stored);
}

/** Yields the messages of an outbox, in no order. One that is put meanwhile may be missing, or be there twice. */
export async function* reportMessages(lane: Lane, name: string): AsyncGenerator<OutboxMessageStatus> {
  const view = await messageViewer(lane, name);
  for await (const some of outboxStore(lane, name).all())
    for (const [id, message] of some) yield await view(id, message);
}
