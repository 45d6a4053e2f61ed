import { NotFoundError } from '../../../campaign/errors/errors.js';
import { compileTemplate, type Template } from '../../../campaign/text/template.js';
import type { OutboxMessageStatus } from '../../../campaign/views/outbox-views.js';
import type { Lane } from '../../../engine/lane/lane.js';
import { SLICE } from '../../../engine/recipients/slice-blob.js';
import { readMeta } from '../../../engine/store/campaign-meta.js';
import { type OrdinalRecord, recipientReader } from '../../../reporting/recipient-reader.js';
import { requestOf } from '../../../reporting/report-rows.js';
import { outboxKeys } from '../definition/outbox-keys.js';
import { readOutboxSettings } from '../definition/settings.js';
import { type StoredMessage, unpackMessage } from '../definition/stored-message.js';
import { type OutboxStore, outboxStore } from '../messages/store.js';
import { sliceOf, valueNames, type WaveMessage } from '../waves/wave.js';
import { REASONS } from './reasons.js';

const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** Reads a message. Throws a NotFoundError if there is none with this id. */
export async function readMessage(lane: Lane, name: string, id: string): Promise<OutboxMessageStatus> {
  const stored = await outboxStore(lane, name, { lateMs: 0 }).find(id);
  if (stored === null) throw new NotFoundError(`outbox ${name} has no message ${id}`);
  if (stored.kind !== 'planned') return unsent(id, stored, await contentOfWaiting(lane, name));
  const reader = recipientReader(lane.redis, lane.keys, lane.id, stored.wave);
  const [record, slice] = await Promise.all([
    reader.record(stored.ordinal),
    sliceOf(lane, stored.wave, Math.floor(stored.ordinal / SLICE)),
  ]);
  const message = slice[stored.ordinal % SLICE];
  const content = await contentOfWave(lane, stored.wave);
  if (record === null || message === undefined || content === null)
    throw new NotFoundError(`outbox ${name} has no message ${id} any more`);
  return inWave(stored.wave, message, record, stored.version, content);
}

/**
 * Yields the messages of an outbox: those of its waves, in the order in which they were planned, and then those that were never
 * planned. A message that is planned meanwhile may be missing, or be there twice.
 */
export async function* reportMessages(lane: Lane, name: string): AsyncGenerator<OutboxMessageStatus> {
  const { redis, keys, id } = lane;
  const boxKeys = outboxKeys(keys, id, name);
  const store = outboxStore(lane, name, { lateMs: 0 });
  for (const wave of await redis.zrange(boxKeys.fixed.waves, '0', '-1')) {
    const reader = recipientReader(redis, keys, id, wave);
    const content = await contentOfWave(lane, wave);
    for (let from = 0; content !== null; ) {
      const chunk = await reader.chunk(from, () => true, SLICE);
      if (chunk === null) break;
      const messages = await sliceOf(lane, wave, from / SLICE);
      const versions = await versionsIn(store, wave, messages);
      for (const record of chunk.records) {
        const message = messages[record.ordinal % SLICE];
        if (message === undefined) continue;
        yield inWave(wave, message, record, versions.get(record.ordinal) ?? null, content);
      }
      if (chunk.next % SLICE !== 0) break;
      from = chunk.next;
    }
  }
  const content = await contentOfWaiting(lane, name);
  for await (const some of store.all()) {
    for (const [message, raw] of some) {
      const stored = unpackMessage(raw);
      if (stored.kind !== 'planned') yield unsent(message, stored, content);
    }
  }
}

/** The versions of messages in a wave by their ordinals. An id that was put again has the version of that put. */
export async function versionsIn(
  store: OutboxStore,
  wave: string,
  messages: readonly WaveMessage[],
): Promise<ReadonlyMap<number, number | null>> {
  const ids = [...new Set(messages.map(({ id }) => id))];
  const stored = await store.findAll(ids);
  return new Map(
    stored.flatMap((one) =>
      one?.kind === 'planned' && one.wave === wave ? [[one.ordinal, one.version]] : [],
    ),
  );
}

type Content = Pick<OutboxMessageStatus, 'values' | 'text'>;
const NO_CONTENT: Content = { values: null, text: null };

/** Whether a message has every value of a text: one that was put before that, and waits to be put again, lacks some. */
const isWhole = ({ missing }: Template, values: readonly string[]): boolean => missing(values) === null;

/** Returns the values of a message by their names, and its text. */
function contentReader(text: string, names: readonly string[]): (values: readonly string[]) => Content {
  const compiled = compileTemplate(text, names);
  return (values) => ({
    values: Object.fromEntries(names.flatMap((each, at) => (at in values ? [[each, values[at] ?? '']] : []))),
    text: compiled.ok && isWhole(compiled.template, values) ? compiled.template.render(values) : null,
  });
}

/** What messages of a wave say; null if the wave is removed. */
export async function contentOfWave({ redis, keys, id }: Lane, wave: string) {
  const meta = await readMeta(redis, keys, id, wave);
  return meta && contentReader(meta.text, valueNames(meta));
}

/** What waiting messages say. */
export async function contentOfWaiting({ redis, keys, id }: Lane, name: string) {
  const settings = await readOutboxSettings(redis, keys, id, name);
  return settings === null ? () => NO_CONTENT : contentReader(settings.message, settings.columns);
}

/** A message that is not planned. */
export function unsent(
  id: string,
  stored: Exclude<StoredMessage, { kind: 'planned' }>,
  content: (values: readonly string[]) => Content,
): OutboxMessageStatus {
  const none = { campaign: null, sentAt: null, requestId: null, serviceStatus: null, serviceCode: null };
  if (stored.kind === 'waiting') {
    const { due, version, number, reference, values } = stored;
    const sendAt = iso(due * 1_000);
    return {
      id,
      state: 'waiting',
      sendAt,
      version,
      to: number || null,
      reference: reference || null,
      ...content(values),
      ...none,
      reason: null,
    };
  }
  const { kind, version, ended } = stored;
  const [to, reference] = [ended?.number || null, ended?.reference || null];
  const reason = REASONS[kind] ?? null;
  return { id, state: kind, sendAt: null, version, to, reference, ...NO_CONTENT, ...none, reason };
}

/** A message that is, or was, planned. */
export function inWave(
  campaign: string,
  { id, number, reference, due, values }: WaveMessage,
  record: OrdinalRecord,
  version: number | null,
  content: (values: readonly string[]) => Content,
): OutboxMessageStatus {
  const { state, request, word } = record;
  const { requestId, sentAt } = requestOf(campaign, record);
  return {
    id,
    state: state === 'planned' ? 'waiting' : state,
    sendAt: iso(due * 1_000),
    version,
    to: number || null,
    reference: reference || null,
    ...content(values),
    campaign,
    sentAt: iso(sentAt),
    requestId: requestId || null,
    reason: request?.reason || REASONS[state] || null,
    serviceStatus: word?.word ?? null,
    serviceCode: word?.code || null,
  };
}
