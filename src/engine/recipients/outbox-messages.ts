import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { luaList } from '../../base/redis/script.js';
import { RECIPIENT_STATE, RECIPIENT_STATES, type RecipientState } from '../../campaign/states/recipient.js';
import { readOrNull, readRecord } from './damaged.js';
import { reasonFor } from './request-records.js';

/*
 * How Redis stores the messages of an outbox; see outbox.lua, which has the same members in the same order.
 */

const START = 'outbox:';

/** The id under which an outbox has a state, as a campaign has. */
export const outboxId = (name: string): string => `${START}${name}`;

/** The name of the outbox that an id names; null for a campaign. */
export const outboxName = (id: string): string | null =>
  id.startsWith(START) ? id.slice(START.length) : null;

/** The results that the messages of an outbox got on a day, as the log of results names them (outbox.lua). */
const RESULTS_OF_DAY = /^outbox:([^:]+):(\d+)$/;

/** The outbox and the day of a list of results that the log names; null for a campaign. */
export function messageListOf(id: string): { readonly outbox: string; readonly day: string } | null {
  const [, outbox, day] = RESULTS_OF_DAY.exec(id) ?? [];
  return outbox === undefined || day === undefined ? null : { outbox, day };
}

/** The names of an outbox's keys, all under its lane's hash tag. */
export function outboxKeys(keys: Keys, lane: LaneId, name: string) {
  const keyOf = (part: string): string => keys.lane(lane, `${outboxId(name)}${part}`);
  return {
    /** Those that scripts find by their names. */
    fixed: {
      /** Hash: settings, by edition, and what is noted with them (intake/outbox/definition/settings.ts). */
      outbox: keyOf(''),
      /** Hash: id → message. */
      messages: keyOf(':messages'),
      /** Sorted set: id → when the message may be claimed, ms; or, as a negative number, since when it is as it is. */
      due: keyOf(':due'),
    },
    /** List: `number id` of messages that got a result on a day, which is counted from 1970. */
    results: (day: number | string): string => keyOf(`:results:${day}`),
    /** String: a Bloom filter of the request ids that were accepted on a day. */
    accepted: (day: number | string): string => keyOf(`:accepted:${day}`),
  };
}

/** Members of {@link StoredMessage} that are not set: trailing ones are not stored. */
export const UNSET = {
  number: 0,
  due: 0,
  to: '',
  values: [] as readonly string[],
  reference: '',
  state: 'W',
  version: -1,
  edition: 0,
  payer: 0,
  paid: 0,
  at: 0,
  took: 0,
  requestId: '',
  reason: '',
  word: '',
  again: '',
  firstAt: 0,
  accused: 0,
  tag: '',
  zone: '',
} as const;

const [count, text] = [z.number().optional(), z.string().optional()];
const stored = z.tuple([
  count,
  count,
  z.union([z.number(), z.string()]).optional(),
  // Of a final message, a digest.
  z.union([luaList(z.string()), z.string()]).optional(),
  text,
  text,
  // JSON as scripts write it has only 14 digits of a number.
  z.union([z.number(), z.string()]).optional(),
  count,
  count,
  count,
  count,
  count,
  text,
  text,
  text,
  text,
  count,
  count,
  text,
  text,
]);

/** A message as it is stored. */
export interface StoredMessage {
  /** Unique in the outbox, for ever. */
  readonly number: number;
  /** `planned` while it waits, `sending` while it is in flight. */
  readonly state: RecipientState;
  readonly version: number | null;
  /** The revision of the settings by which it was checked, or with which it was claimed. */
  readonly edition: number;
  /** When it is due, in seconds since the epoch. */
  readonly due: number;
  /** Whether that is a time of its own, and does not follow the rule of the outbox. */
  readonly hasOwnTime: boolean;
  /** E.164 with its plus; empty once it is forgotten. */
  readonly to: string;
  /** A value per column of the outbox, in their order; none once it is final. */
  readonly values: readonly string[];
  readonly reference: string;
  /** When it was claimed, or ended without being sent, ms; 0: neither. */
  readonly at: number;
  /** When it last changed, ms. */
  readonly changedAt: number;
  /** The service's id of its request; empty if it is not known. */
  readonly requestId: string;
  readonly reason: string;
  /** The service's own code and word for its status (status-words.ts); empty if they say no more. */
  readonly word: string;
  /** Set if it may have been accepted and is sent again. */
  readonly again: string;
  /** By which its sender cancels and lists messages. */
  readonly tag: string;
  /** Its own time zone, or that of the country of its number (campaign/estimate/window.ts); empty if it needs none. */
  readonly zone: string;
}

const STATES: ReadonlyMap<string, RecipientState> = new Map([
  ['W', 'planned'],
  ['Q', 'sending'],
  ...RECIPIENT_STATES.flatMap((state): [string, RecipientState][] => {
    const { letter } = RECIPIENT_STATE[state];
    return letter === null ? [] : [[letter, state]];
  }),
]);

/** The state of a stored message, without reading the rest of it; undefined if it cannot be read. */
export function stateIn(raw: string): RecipientState | undefined {
  const parts: unknown = readOrNull(() => JSON.parse(raw));
  return Array.isArray(parts) ? STATES.get(parts[5] ?? UNSET.state) : undefined;
}

/** Reads a stored message. Throws a DamagedError if it cannot be read. */
export function parseMessage(raw: string): StoredMessage {
  return readRecord('a message of an outbox', () => {
    const [
      number = 0,
      due = 0,
      to = '',
      values = [],
      reference = '',
      state = 'W',
      version = -1,
      edition = 0,
      ...rest
    ] = stored.parse(JSON.parse(raw));
    const letter = STATES.get(state) ?? 'unknown';
    const [
      ,
      ,
      at = 0,
      took = 0,
      requestId = '',
      reason = '',
      word = '',
      again = '',
      ,
      ,
      tag = '',
      zone = '',
    ] = rest;
    return {
      number,
      state: letter,
      version: version === -1 ? null : Number(version),
      edition,
      due: Math.abs(due),
      hasOwnTime: due < 0,
      to: to === '' ? '' : `+${to}`,
      values: typeof values === 'string' ? [] : values,
      reference,
      at,
      changedAt: at + took,
      requestId,
      reason: reasonFor(letter, reason),
      word,
      again,
      tag,
      zone,
    };
  });
}

/** Reads messages by their ids; null for each that is not stored, or cannot be read. */
export async function readMessages(
  redis: Redis,
  messagesKey: string,
  ids: readonly string[],
): Promise<(StoredMessage | null)[]> {
  if (ids.length === 0) return [];
  const raws = await redis.hmget(messagesKey, ...ids);
  return raws.map((raw) => (raw === null ? null : readOrNull(() => parseMessage(raw))));
}

/** Reads the message of a batch; null if it is gone, or if its id has another one by now. */
export async function readBatchMessage(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  { campaign, first, message = '' }: { campaign: string; first: number; message?: string | undefined },
): Promise<StoredMessage | null> {
  const { messages } = outboxKeys(keys, lane, outboxName(campaign) ?? '').fixed;
  const [found = null] = await readMessages(redis, messages, [message]);
  return found?.number === first ? found : null;
}

/** What sending needs of the settings of an outbox, and webhooks with a filter. */
const edition = z.object({
  /** Names the outbox at the service; no other outbox, or campaign, has it. */
  id: z.string(),
  revision: z.number().default(0),
  message: z.string(),
  sender: z.string(),
  senderName: z.string().optional(),
  columns: z.array(z.string()),
  tags: z.array(z.string()).optional(),
});
/** See {@link readEdition}. */
export type OutboxEdition = z.output<typeof edition>;

/** The field of an outbox with its settings of an earlier revision, as `when it was replaced, ms`, a space, and JSON. */
export const editionField = (revision: number): string => `edition:${revision}`;

/** The settings of an outbox with a revision; the current ones without. Null if there are none. Throws a DamagedError if they cannot be read. */
export async function readEdition(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  name: string,
  revision?: number,
): Promise<OutboxEdition | null> {
  const { outbox } = outboxKeys(keys, lane, name).fixed;
  const [current = null, earlier = null] = await redis.hmget(
    outbox,
    'settings',
    editionField(revision ?? -1),
  );
  const json = earlier?.slice(earlier.indexOf(' ') + 1) ?? current;
  if (json === null) return null;
  const read = readRecord(`outbox ${name}`, () => edition.parse(JSON.parse(json)));
  return revision === undefined || read.revision === revision ? read : null;
}

/** The text of a final message without what names a person: its number, its reference, and what the service said about it. */
export function withoutPerson(raw: string): string {
  const members: unknown[] = z.array(z.unknown()).parse(JSON.parse(raw));
  const names = Object.keys(UNSET);
  const blank = ['to', 'values', 'reference', 'reason', 'tag', 'zone'].map((name) => names.indexOf(name));
  return JSON.stringify(members.map((member, at) => (blank.includes(at) ? '' : member)));
}
