import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import { hashEntries } from '../../base/redis/hash-entries.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import { lastSent } from '../../campaign/states/inbound.js';
import { readOrNull } from '../recipients/damaged.js';
import { keyFull, NO_KEY, type Payer } from '../recipients/key-bytes.js';

/*
 * The messages that people send to the numbers of a lane. Each is stored at once, and logged when everything that it asks for is done:
 *
 *   receive ──► inboundPending ──► all parts there: the wish, if it is one, is fulfilled ──► inbound, the log
 *      ▲            │                                                                          │
 *   a repeat ◄──────┘ (inboundIds)     a process that dies in between: the sweep of the lane   └─► deleted after RETENTION
 *
 * These keys of the lane are the only places with the numbers of people who write, apart from the suppression lists: `erase` finds them all.
 */

/** One message, or a part of one. */
export interface ReceivedPart {
  /** The service's id of this part. The same id is the same part. */
  readonly messageId: string;
  /** E.164 if it is a phone number. */
  readonly from: string;
  readonly to: string;
  readonly text: string;
  /** Its place in a message of several parts; undefined for a whole message. */
  readonly part?: { readonly reference: number; readonly number: number; readonly total: number } | undefined;
}

/** A message whose parts are there, or will not come. */
export interface PendingMessage {
  readonly messageId: string;
  readonly from: string;
  readonly to: string;
  readonly text: string;
  /** When its first part arrived, ms by the clock of Redis. */
  readonly at: number;
  /** Of the ids of its parts. */
  readonly digests: readonly string[];
  /** The API key that has submitted it; '' if none has. */
  readonly payer: string;
}

const loggedMessage = z.object({
  id: z.string(),
  from: z.string(),
  to: z.string(),
  text: z.string(),
  at: z.number(),
  /** What a stop word or a start word did. `op`: the operation on a suppression list. */
  wish: z.enum(['stop', 'start']).optional(),
  op: z.string().optional(),
  isNew: z.boolean().optional(),
  inFlight: z.number().optional(),
  reply: z.string().optional(),
  last: lastSent.optional(),
});
/** A message as the log stores it. Members without a value are left out. */
export type LoggedMessage = z.output<typeof loggedMessage>;

/** A message with its position in the log of its lane: positions only grow, and sort as `ms-number`. */
export interface FoundMessage extends LoggedMessage {
  readonly position: string;
}

/** How long a process has to log a message, before another one may act on it. */
const LEASE_MS = 10_000;
/** How long a message waits for its parts: the service repeats what it could not deliver every two minutes at first. */
const PARTS_MS = 15 * 60_000;
const AT_ONCE = 100;
const READ_AT_ONCE = 500;
/** Stands for a part that never arrived. */
export const MISSING_PART = '[…]';

const pendingShape = z.object({
  from: z.string(),
  to: z.string(),
  total: z.number(),
  at: z.number(),
  parts: z.record(
    z.string(),
    z.object({
      id: z.string(),
      digest: z.string(),
      text: z.string(),
      payer: z.string().default(''),
      bytes: z.number().default(0),
    }),
  ),
});

function pendingOf(json: string): PendingMessage {
  const { total, parts, ...message } = pendingShape.parse(JSON.parse(json));
  const places = Array.from({ length: total }, (_, at) => parts[String(at + 1)]);
  return {
    ...message,
    messageId: places.find((part) => part !== undefined)?.id ?? '',
    text: places.map((part) => part?.text ?? MISSING_PART).join(''),
    digests: Object.values(parts).map(({ digest }) => digest),
    payer: Object.values(parts).find(({ payer }) => payer !== '')?.payer ?? '',
  };
}

const taken = z.tuple([z.string()], z.string().transform(pendingOf));
const received = z.array(z.string()).transform(([json, used]) => {
  if (json === undefined) return undefined;
  if (used !== undefined) return { used: Number(used) };
  return json === '' ? ('busy' as const) : pendingOf(json);
});
const receiveScript = loadScript(import.meta.url, './receive-inbound.lua', (reply) => received.parse(reply));
const takeScript = loadScript(import.meta.url, './take-inbound.lua', (reply) => taken.parse(reply));
const logScript = loadScript(import.meta.url, './log-inbound.lua', String);

const positions = z.array(z.tuple([z.string(), z.array(z.string())]).transform(([position]) => position));

/** The inbound messages of one lane in Redis. Every call is safe to repeat. */
export function inboundStore(redis: Redis, keys: Keys, lane: LaneId) {
  const inboundPending = keys.lane(lane, 'inboundPending');
  const inboundIds = keys.lane(lane, 'inboundIds');
  const inbound = keys.lane(lane, 'inbound');
  const inboundMessages = keys.lane(lane, 'inboundMessages');
  const keyBytes = keys.lane(lane, 'keyBytes');
  const logKeys = { inboundPending, inboundIds, inbound, inboundMessages };
  /** Messages of the log in the order in which `read` finds their positions. One that was erased meanwhile is left out. */
  const collect = async (
    limit: number,
    read: (last: string | undefined) => Promise<unknown>,
  ): Promise<FoundMessage[]> => {
    const found: FoundMessage[] = [];
    for (let last: string | undefined; ; ) {
      const at = positions.parse(await read(last));
      const stored = at.length === 0 ? [] : await redis.hmget(inboundMessages, ...at);
      for (const [index, json] of stored.entries()) {
        const message = json === null ? null : readOrNull(() => loggedMessage.parse(JSON.parse(json)));
        if (message !== null) found.push({ ...message, position: at[index] ?? '' });
      }
      if (found.length >= limit || at.length < limit) return found.slice(0, limit);
      last = at.at(-1);
    }
  };
  return {
    /**
     * Stores a part. Returns the message that it completes, which the caller must {@link log}; `busy` while another process acts on that;
     * undefined if there is nothing to do. Rejects with a KeyFullError if `payer` has no room for it.
     */
    async receive(
      { messageId, from, to, text, part }: ReceivedPart,
      payer: Payer = NO_KEY,
    ): Promise<PendingMessage | 'busy' | undefined> {
      const { number, total, reference } = part ?? { number: 1, total: 1, reference: messageId };
      const message = digestOf([from, to, String(reference), String(total)]);
      const digest = digestOf([messageId]);
      const stored = { message, digest, id: messageId, part: number, total, from, to, text };
      const reply = await receiveScript.run(
        redis,
        { inboundPending, inboundIds, keyBytes },
        { ...stored, payer: payer.key, limit: payer.limit, leaseMs: LEASE_MS },
      );
      if (typeof reply === 'object' && 'used' in reply) throw keyFull(payer, lane, reply.used);
      return reply;
    },

    /**
     * Takes about a hundred messages that no process has logged in time, or whose parts did not come; deletes what is older than the
     * retention.
     */
    async takeOverdue(retentionMs: number): Promise<PendingMessage[]> {
      const args = { leaseMs: LEASE_MS, partsMs: PARTS_MS, retentionMs, most: AT_ONCE };
      const messages: PendingMessage[] = [];
      for (let cursor = '0'; ; ) {
        const [next, ...some] = await takeScript.run(redis, { ...logKeys, keyBytes }, { ...args, cursor });
        messages.push(...some);
        cursor = next;
        if (cursor === '0' || messages.length >= AT_ONCE) return messages;
      }
    },

    /** Appends a message to the log. Returns its position; '' if another process has logged it. */
    log: ({ digests }: PendingMessage, entry: LoggedMessage): Promise<string> =>
      logScript.run(redis, logKeys, { entry: JSON.stringify(entry), digests: digests.join(' ') }),

    /** Messages after a position of the log, oldest first. */
    after: (position: string, limit: number): Promise<FoundMessage[]> =>
      collect(limit, (last) => redis.xrange(inbound, `(${last ?? position}`, '+', 'COUNT', limit)),

    /** Messages before a position, newest first; undefined: the newest. `isIncluded`: also the one at the position. */
    before(position: string | undefined, limit: number, isIncluded = false): Promise<FoundMessage[]> {
      const first = position === undefined ? '+' : `${isIncluded ? '' : '('}${position}`;
      return collect(limit, (last) =>
        redis.xrevrange(inbound, last === undefined ? first : `(${last}`, '-', 'COUNT', limit),
      );
    },

    /** The position of the newest message; `0-0` if there is none. */
    async newest(): Promise<string> {
      const [position] = positions.parse(await redis.xrevrange(inbound, '+', '-', 'COUNT', 1));
      return position ?? '0-0';
    },

    /** Deletes every message from or to these numbers, E.164. Returns how many there were. A repeat of one of them stays known as such. */
    async erase(numbers: readonly string[]): Promise<number> {
      const erasing = new Set(numbers.map((number) => number.replace('+', '')));
      const isOf = ({ from, to }: { from: string; to: string }): boolean =>
        [from, to].some((each) => erasing.has(each.replace('+', '')));
      let erased = 0;
      for await (const [name, json] of hashEntries(redis, inboundPending)) {
        const pending = readOrNull(() => pendingShape.parse(JSON.parse(json)));
        if (pending === null || !isOf(pending)) continue;
        // Its name is a digest of the numbers, without a key.
        for (const { digest, payer, bytes } of Object.values(pending.parts)) {
          await redis.hset(inboundIds, digest, '');
          if (payer !== '') await redis.hincrby(keyBytes, `used:${payer}`, -bytes);
        }
        erased += await redis.hdel(inboundPending, name);
      }
      for (let last: string | undefined; ; ) {
        const batch = await this.before(last, READ_AT_ONCE);
        for (const { position } of batch.filter(isOf)) erased += await redis.hdel(inboundMessages, position);
        last = batch.at(-1)?.position;
        if (last === undefined) return erased;
      }
    },
  };
}

function digestOf(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}
