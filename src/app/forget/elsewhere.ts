import { z } from 'zod';
import type { Clock } from '../../base/clock.js';
import type { Redis } from '../../base/redis/connection.js';
import { hashEntries } from '../../base/redis/hash-entries.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { RECORDS_OVER } from '../../call-records/store/states.js';
import { recordsStore } from '../../call-records/store/store.js';
import { namesMeant } from '../../campaign/errors/nearest.js';
import { countryNamed } from '../../campaign/numbers/country-names.js';
import { RECIPIENT_STATE, type RecipientState } from '../../campaign/states/recipient.js';
import { inboundStore } from '../../engine/inbound/inbound-store.js';
import { parseClosed } from '../../engine/lane/closed.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { parseMessage, type StoredMessage, withoutPerson } from '../../engine/recipients/outbox-messages.js';
import type { Suppression } from '../../engine/suppression/suppression.js';
import { indexedOutboxes } from '../../intake/outbox/definition/outbox-index.js';
import { OutboxGoneError, outboxStore } from '../../intake/outbox/messages/store.js';
import type { ScheduleStore } from '../../intake/schedules/store.js';
import { changeIn, replaceIn, withoutNumber } from './places.js';

/*
 * A number in everything but campaigns. Each function returns how many messages it has cancelled, and how many entries it has erased; repeating
 * it is harmless.
 */

/** What {@link ELSEWHERE} needs. */
export interface ElsewhereDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'withId' | 'ids'>;
  readonly scheduled: Pick<ScheduleStore, 'list'>;
  readonly suppression: Pick<Suppression, 'forget' | 'keep'>;
  readonly clock: Clock;
  readonly retentionMs: number;
  /** Reads a number that people have written, in the country of their list. Null if it is none. */
  readNumber(text: string, country: string | undefined): string | null;
}

/** What was done. `isLeft`: something is open, and to be looked at again; `isKept`: the number stays suppressed. */
export interface Done {
  readonly cancelled: number;
  readonly erased: number;
  readonly isLeft?: boolean;
  readonly isKept?: boolean;
}

/**
 * A number, E.164 with its plus, and all that its subscriber has; its keyed digest; the id of the only lane on which it is forgotten, or undefined;
 * and whether it is suppressed no more.
 */
export interface Forgotten {
  readonly number: string;
  readonly numbers: readonly [string, ...string[]];
  readonly digest: Buffer;
  readonly lane: LaneId | undefined;
  readonly isLifted: boolean;
}

/** Whether the number is forgotten on a lane. */
export const isOn = ({ lane }: Pick<Forgotten, 'lane'>, id: LaneId): boolean =>
  lane === undefined || lane === id;

/** The lanes on which it is. */
const lanesOf = async ({ finder }: ElsewhereDeps, forgotten: Forgotten): Promise<LaneId[]> =>
  (await finder.ids()).filter((id) => isOn(forgotten, id));

/** What is about to be done in a campaign or in an outbox: ordinals, or ids of messages; and rows that were left out. */
export interface Intent {
  readonly cancelling: (string | number)[];
  readonly erasing: (string | number)[];
  readonly rows: number;
}

/** Counts what is done in a place once, although the process may die anywhere: what it intends is stored before, and forgotten with the count. */
export interface Progress {
  /** Stores what was found, and returns it with what a process that died has intended. */
  intend(found: Intent): Promise<Intent>;
  record(done: Done): Promise<void>;
}

/** Messages of outboxes that wait are cancelled; those that are final lose number, reference, and reason. An open one keeps them until then. */
async function inOutboxes(
  deps: ElsewhereDeps,
  forgotten: Forgotten,
  progressOf: (place: string) => Progress,
): Promise<Done> {
  const { redis, keys, finder } = deps;
  const { numbers } = forgotten;
  const isOf = ({ to }: Pick<StoredMessage, 'to'>): boolean => numbers.includes(to);
  let isLeft = false;
  for (const { name, lane: id } of await indexedOutboxes(redis, keys)) {
    if (!isOn(forgotten, id)) continue;
    const lane = await finder.withId(id);
    const store = outboxStore(lane, name);
    const target = store.keys.messages;
    /** Erases the number from a final message. Returns its state, or null if the message is not final or has another number. */
    const blank = async (message: string): Promise<RecipientState | null> => {
      for (;;) {
        const raw = await redis.hget(target, message);
        if (raw === null) return null;
        const stored = parseMessage(raw);
        if (RECIPIENT_STATE[stored.state].open) return null;
        // The process that died may have taken it out.
        if (!isOf(stored)) return stored.to === '' ? stored.state : null;
        if (await replaceIn(redis, { target, kind: 'hash', place: message }, raw, withoutPerson(raw)))
          return stored.state;
      }
    };
    const found: Intent = { cancelling: [], erasing: [], rows: 0 };
    for await (const some of store.all())
      for (const [message, stored] of some)
        if (isOf(stored)) (stored.state === 'planned' ? found.cancelling : found.erasing).push(message);
    const progress = progressOf(`outbox ${id} ${name}`);
    const { cancelling, erasing } = await progress.intend(found);
    let [cancelled, erased] = [0, 0];
    for (const message of cancelling.map(String)) {
      const done = await store.cancel(message, { version: null }).catch((error: unknown) => {
        if (error instanceof OutboxGoneError) return { outcome: 'unknown' as const, events: [] };
        throw error;
      });
      lane.emit(done.events);
      const ended = await blank(message);
      if (ended === 'cancelled') cancelled += 1;
      if (ended !== null) erased += 1;
      else isLeft ||= done.outcome !== 'unknown';
    }
    for (const message of erasing.map(String)) {
      if ((await blank(message)) !== null) erased += 1;
      else isLeft = true;
    }
    if (cancelling.length + erasing.length > 0) await progress.record({ cancelled, erased });
  }
  return { cancelled: 0, erased: 0, isLeft };
}

/** The rows of stored lists of schedules go, and reasons of occurrences lose the number. */
async function inSchedules(
  { redis, keys, scheduled, readNumber }: ElsewhereDeps,
  { number, numbers, lane }: Forgotten,
): Promise<Done> {
  let erased = 0;
  const listed = lane === undefined ? {} : { lanes: [lane] };
  for await (const { ref, definition } of scheduled.list(listed)) {
    const target = keys.schedules.one(ref);
    const replaced = (place: string, change: (text: string) => string, raised = ''): Promise<boolean> =>
      changeIn(redis, { target, kind: 'hash', place, raised }, change);
    const { country, toColumn = 'to', countryColumn = '' } = definition.campaign;
    let [rows, recipientCount] = [0, 0];
    const withoutRows = (json: string): string => {
      const all = z.array(z.record(z.string(), z.unknown())).parse(JSON.parse(json));
      const columns = Object.keys(all[0] ?? {});
      const memberOf = (column: string) => namesMeant(column.trim(), columns)[0] ?? column;
      const [to, ofRow] = [memberOf(toColumn), memberOf(countryColumn)];
      const numberOf = (row: Readonly<Record<string, unknown>>) =>
        readNumber(String(row[to] ?? ''), countryNamed(String(row[ofRow] ?? '')) ?? country);
      const kept = all.filter((row) => !numbers.includes(numberOf(row) ?? ''));
      [rows, recipientCount] = [all.length - kept.length, kept.length];
      // The columns of a list are the members of its first row.
      if (kept[0] !== undefined)
        kept[0] = { ...Object.fromEntries(columns.map((name) => [name, ''])), ...kept[0] };
      return rows === 0 ? json : JSON.stringify(kept);
    };
    // An occurrence that has read the list before does not commit its campaign with another revision.
    await replaced('recipients', withoutRows, 'revision');
    erased += rows;
    if (definition.source.kind === 'inline')
      await replaced('definition', (json) => {
        const { source, ...rest } = JSON.parse(json);
        return source.recipientCount === recipientCount
          ? json
          : JSON.stringify({ ...rest, source: { ...source, recipientCount } });
      });
    await replaced('reason', (text) => withoutNumber(text, number));
    const occurrences = keys.schedules.occurrences(ref);
    const members = await redis.zrange(occurrences, '0', '-1', 'WITHSCORES');
    for (let at = 0; at + 1 < members.length; at += 2) {
      const [member = '', score = '0'] = [members[at], members[at + 1]];
      const occurrence = JSON.parse(member);
      const reason = withoutNumber(String(occurrence.reason ?? ''), number);
      if (reason === (occurrence.reason ?? '')) continue;
      await redis
        .multi()
        .zrem(occurrences, member)
        .zadd(occurrences, score, JSON.stringify({ ...occurrence, reason }))
        .exec();
    }
  }
  return { cancelled: 0, erased };
}

const waitingReports = z.looseObject({
  letters: z.record(z.string(), z.string()),
  words: z.record(z.string(), z.string()).optional(),
});

/** Reports that wait for their request lose their entry for the number. */
async function inReports(deps: ElsewhereDeps, forgotten: Forgotten): Promise<Done> {
  const { redis, keys } = deps;
  const { numbers } = forgotten;
  const forms = numbers.map((number) => number.replace('+', ''));
  const without = <Value>(entries: Readonly<Record<string, Value>>): Record<string, Value> =>
    Object.fromEntries(Object.entries(entries).filter(([of]) => !forms.includes(of)));
  let erased = 0;
  for (const lane of await lanesOf(deps, forgotten)) {
    const target = keys.lane(lane, 'early');
    for await (const [place, before] of hashEntries(redis, target)) {
      if (!forms.some((digits) => before.includes(digits))) continue;
      const { letters, words, ...rest } = waitingReports.parse(JSON.parse(before));
      if (!forms.some((digits) => digits in letters || digits in (words ?? {}))) continue;
      const after = { ...rest, letters: without(letters), ...(words && { words: without(words) }) };
      if (await replaceIn(redis, { target, kind: 'hash', place }, before, JSON.stringify(after))) erased += 1;
    }
  }
  return { cancelled: 0, erased };
}

/** What people and services wrote about a campaign, or about a batch with an unknown outcome: a member of JSON. */
const STATE_TEXTS = { states: 'pauseReason', unknown: 'reason' } as const;

/** Why lanes are held or stopped, campaigns are paused, and outcomes are unknown. */
async function inReasons(deps: ElsewhereDeps, forgotten: Forgotten): Promise<Done> {
  const { redis, keys } = deps;
  const { number } = forgotten;
  let erased = 0;
  const rewrite = async (target: string, place: string, change: (text: string) => string): Promise<void> => {
    if (await changeIn(redis, { target, kind: 'hash', place }, change)) erased += 1;
  };
  const ofClosed = (json: string): string => {
    const closed = parseClosed(json);
    const whys = Object.values(closed).map(({ why }) => why);
    if (whys.every((why) => withoutNumber(why, number) === why)) return json;
    const without = (name: string, value: string) => (name === 'why' ? withoutNumber(value, number) : value);
    return JSON.stringify(closed, without);
  };
  for (const lane of await lanesOf(deps, forgotten)) {
    await rewrite(keys.lane(lane, 'lane'), 'closed', ofClosed);
    for (const key of ['callback', 'inboundCallback'])
      await rewrite(keys.lane(lane, key), 'detail', (text) => withoutNumber(text, number));
    for (const [key, member] of Object.entries(STATE_TEXTS)) {
      const target = keys.lane(lane, key);
      const blank = (json: string): string => {
        const stored = z.looseObject({ [member]: z.string().default('') }).parse(JSON.parse(json));
        const [before, after] = [stored[member] ?? '', withoutNumber(stored[member] ?? '', number)];
        return before === after ? json : JSON.stringify({ ...stored, [member]: after });
      };
      for await (const [place, json] of hashEntries(redis, target))
        if (blank(json) !== json) await rewrite(target, place, blank);
    }
  }
  return { cancelled: 0, erased };
}

/** Messages that people sent to a lane, or that were sent to the number, as far as they are kept. */
async function inInbound(deps: ElsewhereDeps, forgotten: Forgotten): Promise<Done> {
  const { redis, keys } = deps;
  const { numbers, lane: only } = forgotten;
  let erased = 0;
  // The confirmation of a stop concerns all lanes. It expires within a day.
  if (only === undefined)
    for (const number of numbers) erased += await redis.unlink(keys.stopConfirmed(number));
  for (const lane of await lanesOf(deps, forgotten))
    erased += await inboundStore(redis, keys, lane).erase(numbers);
  return { cancelled: 0, erased };
}

/** The lists of suppressed numbers, and what people wrote about their changes. */
async function inSuppressions(deps: ElsewhereDeps, forgotten: Forgotten): Promise<Done> {
  const { number, numbers, digest, lane, isLifted } = forgotten;
  const { changed, isKept } = await deps.suppression.forget(
    numbers,
    [...(lane === undefined ? [null] : []), ...(await lanesOf(deps, forgotten))],
    isLifted ? null : { digest, at: deps.clock() },
    (text) => withoutNumber(text, number),
  );
  return { cancelled: 0, erased: changed, isKept };
}

/** Requests for call records of the number lose it when they are over. */
async function inRecords({ redis, keys }: ElsewhereDeps, forgotten: Forgotten): Promise<Done> {
  const { number } = forgotten;
  const store = recordsStore(redis, keys, 0);
  let [erased, isLeft] = [0, false];
  for (const credential of await store.credentials()) {
    for await (const { id, lane, state, parameters, reason = '' } of store.list(credential)) {
      if (!isOn(forgotten, lane)) continue;
      const target = keys.records(credential, `request:${id}`);
      const blank = Object.fromEntries(
        Object.entries(parameters).map(([name, value]) => [name, withoutNumber(value, number)]),
      );
      const [before, after] = [JSON.stringify(parameters), JSON.stringify(blank)];
      if (before === after && withoutNumber(reason, number) === reason) continue;
      if (!RECORDS_OVER.includes(state)) {
        isLeft = true;
        continue;
      }
      // The digest of the content has no key.
      await redis.hset(target, { parameters: after, reason: withoutNumber(reason, number), key: '' });
      erased += 1;
    }
  }
  return { cancelled: 0, erased, isLeft };
}

/** By their names, in the order in which a request goes through them, before and after the campaigns. */
export const ELSEWHERE = {
  inOutboxes,
  inSchedules,
  inReports,
  inReasons,
  inInbound,
  inSuppressions,
  inRecords,
};
