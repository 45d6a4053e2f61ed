import { z } from 'zod';
import { loadScript } from '../../base/redis/script.js';
import { NotFoundError } from '../../campaign/errors.js';
import { returnedOfOutbox } from '../../campaign/field-sets.js';
import type { OutboxMessageStatus, OutboxStatus } from '../../campaign/outbox-views.js';
import { perName, RECIPIENT_STATES, type RecipientState } from '../../campaign/recipient.js';
import { compileTemplate, type Template } from '../../campaign/template.js';
import { nextCommonOpening, windowNow } from '../../campaign/window.js';
import { readMeta } from '../../engine/lane/campaign-meta.js';
import { parseState } from '../../engine/lane/campaigns.js';
import type { Lane } from '../../engine/lane/lane.js';
import { SLICE } from '../../engine/recipients/slice-blob.js';
import { type OrdinalRecord, recipientReader } from '../../reporting/recipient-reader.js';
import { requestOf } from '../../reporting/report-rows.js';
import { pageOfOutboxes } from './outbox-index.js';
import { outboxKeys } from './outbox-keys.js';
import { type OutboxSettings, readOutboxSettings } from './settings.js';
import { type OutboxStore, outboxStore } from './store.js';
import { type StoredMessage, unpackMessage } from './stored-message.js';
import { sliceOf, valueNames, type WaveMessage } from './wave.js';

const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** Why a message was not sent, for states that no request explains. */
export const REASONS: Partial<Readonly<Record<RecipientState, string>>> = {
  lapsed: 'it was too late when it could have been sent',
  cancelled: 'cancelled before it was sent',
  suppressed: 'on the suppression list',
};

const countScript = loadScript(import.meta.url, './count-messages.lua', (reply) => {
  const [flat, states] = z.tuple([z.array(z.string()), z.array(z.string())]).parse(reply);
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < flat.length; at += 2) fields.set(flat[at] ?? '', flat[at + 1] ?? '');
  return { fields, states };
});

/** Reads the status of an outbox; null if there is none with this name on the lane. `unserved`: why nothing is sent on the lane. */
export async function readOutboxStatus(
  lane: Lane,
  name: string,
  unserved: string | null = null,
): Promise<OutboxStatus | null> {
  const { redis, keys, id } = lane;
  const boxKeys = outboxKeys(keys, id, name);
  const settings = await readOutboxSettings(redis, keys, id, name);
  if (settings === null) return null;
  const { outbox, waves } = boxKeys.fixed;
  const { fields, states } = await countScript.run(
    redis,
    { outbox, waves, states: keys.lane(id, 'states') },
    {},
  );
  const numberIn = (field: string): number => Number(fields.get(field) ?? 0);
  const counts = perName(RECIPIENT_STATES, (state) => numberIn(`removed:${state}`));
  let reason: string | null = null;
  for (const json of states) {
    const wave = parseState(json);
    for (const state of RECIPIENT_STATES) counts[state] += wave.counts[state] ?? 0;
    if (wave.state === 'paused' && wave.pauseReason.startsWith('the service refuses'))
      reason = wave.pauseReason;
  }
  const { planned, ...rest } = counts;
  const waiting = numberIn('waiting');
  const state = fields.get('state');
  return {
    name,
    lane: lane.name,
    state: state === 'paused' || state === 'closed' ? state : 'open',
    reason: unserved ?? reason,
    message: settings.message,
    sender: settings.sender,
    sendAt: settings.sendAt,
    zone: settings.zone ?? null,
    lateMs: settings.lateMs,
    window: windowNow(settings.window, lane.clock()),
    ...returnedOfOutbox(settings),
    createdAt: new Date(settings.created).toISOString(),
    counts: {
      total: numberIn('total'),
      waiting: waiting + planned,
      ...rest,
      cancelled: rest.cancelled + numberIn('cancelled'),
      lapsed: rest.lapsed + numberIn('lapsed'),
    },
    nextDue: waiting === 0 ? null : whenSent(settings, lane, await nextDue(lane, name)),
  };
}

/** The messages of all outboxes of a lane. */
export interface OutboxTotals {
  /** Messages that wait for their time, or until the lane may send them. */
  readonly waiting: number;
  /** Messages that have lapsed, in all outboxes that exist. */
  readonly lapsed: number;
  /** How long the earliest message that is due has waited, ms; 0 if none is due. Those of paused outboxes do not count. */
  readonly lateMs: number;
}

/** Outboxes that are read at a time: an installation may have thousands. */
const OUTBOXES_AT_ONCE = 50;

/** Counts the messages of the outboxes of each lane. Lanes without outboxes are left out. */
export async function outboxTotals(
  { redis, keys }: Pick<Lane, 'redis' | 'keys'>,
  lanes: readonly Lane[],
): Promise<ReadonlyMap<string, OutboxTotals>> {
  const byId = new Map(lanes.map((lane) => [lane.id, lane]));
  const totals = new Map<string, OutboxTotals>();
  const add = (lane: Lane, status: OutboxStatus): void => {
    const { waiting, lapsed, lateMs } = totals.get(lane.id) ?? { waiting: 0, lapsed: 0, lateMs: 0 };
    const isLate = status.state !== 'paused' && status.nextDue !== null;
    totals.set(lane.id, {
      waiting: waiting + status.counts.waiting,
      lapsed: lapsed + status.counts.lapsed,
      lateMs: isLate ? Math.max(lateMs, lane.clock() - Date.parse(status.nextDue ?? '')) : lateMs,
    });
  };
  for (let after: string | null | undefined; after !== null; ) {
    const page = await pageOfOutboxes(redis, keys, {
      lanes: [...byId.keys()],
      after,
      count: OUTBOXES_AT_ONCE,
    });
    await Promise.all(
      page.outboxes.map(async ({ name, lane: id }) => {
        const lane = byId.get(id);
        const status = lane && (await readOutboxStatus(lane, name));
        if (lane && status) add(lane, status);
      }),
    );
    after = page.next;
  }
  return totals;
}

/** When a message that is due at this time is sent: when its window and that of the lane are open. */
export function whenSent(
  { window }: Pick<OutboxSettings, 'window'>,
  lane: Pick<Lane, 'rules' | 'clock'>,
  due: string,
): string;
export function whenSent(
  { window }: Pick<OutboxSettings, 'window'>,
  lane: Pick<Lane, 'rules' | 'clock'>,
  due: string | null,
): string | null;
export function whenSent(
  { window }: Pick<OutboxSettings, 'window'>,
  { rules, clock }: Pick<Lane, 'rules' | 'clock'>,
  due: string | null,
): string | null {
  const windows = [window, rules.sendWindow].filter((rule) => rule !== undefined);
  if (due === null || windows.length === 0) return due;
  const at = Math.max(Date.parse(due), clock());
  const opening = nextCommonOpening(windows, at);
  return opening === null || opening.from <= at ? due : iso(opening.from);
}

/** When the next waiting message is due; null if none waits. */
async function nextDue({ redis, keys, id }: Lane, name: string): Promise<string | null> {
  const { due } = outboxKeys(keys, id, name).fixed;
  const [, second] = await redis.zrangebyscore(due, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1);
  return second === undefined ? null : iso(Number(second) * 1_000);
}

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
      to: number,
      reference: reference || null,
      ...content(values),
      ...none,
      reason: null,
    };
  }
  const { kind, version, ended } = stored;
  const [to, reference] = [ended?.number ?? null, ended?.reference || null];
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
    to: number,
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
