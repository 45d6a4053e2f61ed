import { z } from 'zod';
import type { Random } from '../../base/clock.js';
import { luaList } from '../../base/redis/script.js';
import { newCampaignId, PRIORITY_WEIGHT } from '../../campaign/campaign.js';
import { storedMeta } from '../../engine/lane/campaign-meta.js';
import { indexMember } from '../../engine/lane/campaigns.js';
import { type LaneStore, laneScript } from '../../engine/lane/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../../engine/lane/script-events.js';
import { metaKey, recipientListKey, statusesKey } from '../../engine/recipients/campaign-keys.js';
import { packRecipient } from '../../engine/recipients/packed-recipient.js';
import { argOf, type DueList, keysOf, readDue, type Trim, trimsOf } from './due-lists.js';
import { type OutboxSettings, parseSettings } from './settings.js';
import { forgetTime, type OutboxStore, outboxStore } from './store.js';
import { unpackMessage, type WaitingMessage } from './stored-message.js';
import { asRecipient, WAVE_MS, waveMeta } from './wave.js';

/*
 *   due ──► late? ──► lapsed
 *    │
 *    └──► room? ──► appended to the wave, unless it has changed since it was read ──► claimed as in any campaign
 *
 * Every step may be repeated, and two processes may do it at the same time: a message is moved by a script that compares it with what
 * was read.
 */

/** More would block Redis for too long. */
const HARVEST_AT_ONCE = 1_000;
const ROUNDS = 50;
/** Hours and lists that are read at once; see look-outbox.lua. */
const SECONDS_AT_ONCE = 20;
/** How often to look whether a message in flight was released after its time. */
const LATE_IN_FLIGHT_MS = 1_000;

const wave = z.object({
  id: z.string(),
  state: z.string(),
  isOpen: z.boolean(),
  remainder: z.string(),
  ordinals: z.number(),
  capacity: z.number(),
  launchAt: z.number(),
  planned: z.number(),
  /** When the first of its planned messages lapses, ms. */
  earliest: z.number().optional(),
  /** When the first of its messages in flight lapses if it is released, ms. */
  claimedUntil: z.number().optional(),
  /** Whether Redis may have lost messages of it. */
  hasLost: z.boolean(),
});
type Wave = z.output<typeof wave>;

const look = z.object({
  now: z.number(),
  state: z.enum(['open', 'paused', 'closed']),
  buckets: z.number(),
  revision: z.number(),
  loss: z.string(),
  wave: z.string(),
  capacity: z.number().optional(),
  room: z.number(),
  opensAt: z.number(),
  waves: luaList(wave),
  due: luaList(z.string()),
  forget: luaList(z.string()),
});

/** What an outbox has to do. */
interface Seen extends z.output<typeof look> {
  readonly settings: OutboxSettings;
  /** The first ids of the messages that were due when they were put. */
  readonly dueNow: readonly string[];
}

const lookScript = laneScript(
  import.meta.url,
  './look-outbox.lua',
  (reply): Seen | null => {
    const [settings, json, dueNow] = z
      .tuple([z.string(), z.string().optional(), z.array(z.string()).optional()])
      .parse(reply);
    if (settings === '' || json === undefined) return null;
    return { ...look.parse(JSON.parse(json)), settings: parseSettings(settings), dueNow: dueNow ?? [] };
  },
  { comparesClock: true },
);
const appendScript = laneScript(import.meta.url, './append-wave.lua', (reply) => {
  const [outcome, events, ...changed] = z.tuple([z.string(), z.string()]).rest(z.string()).parse(reply);
  return { outcome, events: scriptEvents(events), changed };
});
const retireScript = laneScript(import.meta.url, './retire-messages.lua', (reply) => {
  const [lapsed, forgotten] = z.tuple([z.number(), z.number()]).parse(reply);
  return { lapsed, forgotten };
});
const forgetScript = laneScript(import.meta.url, './forget-ended.lua', (reply) => reply === 1);
const trimScript = laneScript(import.meta.url, './trim-due.lua', (reply) =>
  scriptEvents(z.tuple([z.number(), z.string()]).parse(reply)[1]),
);
const noteScript = laneScript(import.meta.url, './note-due.lua', (reply) => z.number().parse(reply));
const scheduleScript = laneScript(import.meta.url, './schedule-outbox.lua', (reply) => reply === 1);
const sealScript = laneScript(import.meta.url, './seal-wave.lua', (reply) =>
  scriptEvents(z.string().parse(reply)),
);
const lapseScript = laneScript(import.meta.url, './lapse-wave.lua', (reply) => {
  const [lapsed, events] = z.tuple([z.number(), z.string()]).parse(reply);
  return { lapsed, events: scriptEvents(events) };
});

/** What {@link tendOutbox} needs beside the lane. */
export interface HarvestOptions {
  readonly random: Random;
  /** How long the id of a message that has lapsed is kept. */
  readonly retentionMs: number;
  /** Time in ms, for tests and simulations. Default: the time of Redis. */
  readonly now?: number | undefined;
}

/** What was done. */
export interface Harvested {
  /** Messages appended to waves. */
  readonly planned: number;
  readonly lapsed: number;
  readonly events: readonly ScriptEvent[];
}

/** An id that is due, and what is stored under it. */
interface DueMessage {
  readonly id: string;
  readonly raw: Buffer;
  readonly message: WaitingMessage;
}

/** Does everything that an outbox has to do now: lapses what is late, plans what is due, and forgets what ended long ago. */
export async function tendOutbox(lane: LaneStore, name: string, options: HarvestOptions): Promise<Harvested> {
  const tending = tendingOf(lane, name, options, true);
  let [planned, lapsed] = [0, 0];
  for (let rounds = 0; rounds < ROUNDS; rounds += 1) {
    const seen = await lookAt(tending);
    if (seen === null) {
      await lane.redis.zrem(lane.keys.lane(lane.id, 'outboxes'), name);
      break;
    }
    const round = await tendOnce(tending, seen);
    planned += round.planned;
    lapsed += round.lapsed;
    if (round.next === 'scheduled') break;
    if (round.next === 'nothing') {
      const { waitsUntil = 0 } = round;
      await scheduleScript(lane, { name, at: nextOfWaves(seen), waitsUntil, revision: seen.revision }, [], {
        ownKeys: tending.store.keys.fixed,
      });
      break;
    }
  }
  return { planned, lapsed, events: tending.events };
}

/**
 * Only lapses what is late. `lapsesAt`: when to do so again; `Infinity` if nothing of the outbox is due. Its schedule stays as it is, for a
 * process that serves the lane.
 */
export async function lapseOutbox(
  lane: LaneStore,
  name: string,
  options: HarvestOptions,
): Promise<{ readonly lapsesAt: number; readonly events: readonly ScriptEvent[] }> {
  const tending = tendingOf(lane, name, options, false);
  let lapsesAt = Number.POSITIVE_INFINITY;
  for (let rounds = 0; rounds < ROUNDS; rounds += 1) {
    const seen = await lookAt(tending);
    if (seen === null) break;
    const { next, firstLapse } = await tendOnce(tending, seen);
    lapsesAt = Math.min(firstLapse, nextOfWaves(seen) || Number.POSITIVE_INFINITY);
    if (next !== 'again') break;
  }
  return { lapsesAt, events: tending.events };
}

const tendingOf = (lane: LaneStore, name: string, options: HarvestOptions, plans: boolean): Tending => ({
  lane,
  name,
  store: outboxStore(lane, name),
  options,
  plans,
  events: [],
});

interface Tending {
  readonly lane: LaneStore;
  readonly name: string;
  readonly store: OutboxStore;
  readonly options: HarvestOptions;
  /** Whether messages that are due are planned: this process serves the lane. */
  readonly plans: boolean;
  readonly events: ScriptEvent[];
}

/** What a round did. `next`: it changed something, and there may be more to do; it noted when there is; or it found nothing to do. */
interface Round {
  readonly planned: number;
  readonly lapsed: number;
  readonly next: 'again' | 'scheduled' | 'nothing';
  /** When the first message lapses that is due and not planned, ms; `Infinity` if there is none. */
  readonly firstLapse: number;
  /** While the window is closed: when it opens, or when the first message that is due lapses, ms. */
  readonly waitsUntil?: number;
}

const lookAt = ({ lane, store, options, plans }: Tending): Promise<Seen | null> =>
  lookScript(lane, { most: HARVEST_AT_ONCE, plans: plans ? 1 : 0, time: options.now }, [], {
    ownKeys: store.keys.fixed,
  });

/** When the waves next have something to do, ms; 0: never. */
function nextOfWaves({ now, waves }: Seen, appended: readonly number[] = []): number {
  const soon = now + LATE_IN_FLIGHT_MS;
  const times = waves.flatMap(({ isOpen, launchAt, earliest, claimedUntil }) => [
    ...(isOpen ? [launchAt + WAVE_MS] : []),
    ...(earliest === undefined ? [] : [earliest]),
    ...(claimedUntil === undefined ? [] : [Math.max(claimedUntil, soon)]),
  ]);
  return [...times, ...appended].reduce((first, time) => (first === 0 ? time : Math.min(first, time)), 0);
}

/** One round. */
async function tendOnce(tending: Tending, seen: Seen): Promise<Round> {
  const { lane, name, store, options, events } = tending;
  const { settings } = seen;
  store.know(seen.buckets);
  let lapsed = 0;
  for (const { id, earliest } of seen.waves) {
    if (earliest === undefined || earliest > seen.now) continue;
    const result = await lapseScript(lane, { id, time: options.now }, [], {
      ownKeys: { statuses: statusesKey(lane.keys, lane.id, id) },
    });
    lapsed += result.lapsed;
    events.push(...result.events);
  }
  const again = { planned: 0, lapsed, next: 'again', firstLapse: Number.POSITIVE_INFINITY } as const;
  if (lapsed > 0 || (await sealOld(tending, seen)) > 0) return again;

  const lists = await readLists(tending, seen);
  const ids = [...new Set(lists.flatMap((list) => list.ids))];
  const raws = ids.length === 0 ? [] : await store.read(ids);
  const second = Math.floor(seen.now / 1_000);
  const waiting: DueMessage[] = [];
  const late: { id: string; raw: Buffer }[] = [];
  const over: { id: string; raw: Buffer }[] = [];
  const early: { id: string; due: number }[] = [];
  for (const [at, id] of ids.entries()) {
    const raw = raws[at] ?? null;
    if (raw === null) continue;
    const message = unpackMessage(raw);
    if (message.kind === 'waiting' && message.due <= second) {
      if (message.due * 1_000 + settings.lateMs <= seen.now) late.push({ id, raw });
      else waiting.push({ id, raw, message });
    } else if (message.kind === 'waiting') {
      early.push({ id, due: message.due });
    } else if ((message.kind === 'cancelled' || message.kind === 'lapsed') && message.forgetAt <= second) {
      over.push({ id, raw });
    }
  }
  const retired = [...late, ...over];
  if (retired.length > 0) {
    const forgetAt = forgetTime(seen.now, options.retentionMs);
    const done = await retireScript(
      lane,
      { name, endedAt: second, forgetAt, buckets: store.buckets, lateMs: settings.lateMs, time: options.now },
      retired.map(({ id }) => store.bucketKey(id)),
      {
        ownKeys: { ...store.keys.fixed, list: store.keys.forgetList(forgetAt) },
        entryArgs: retired.flatMap(({ id, raw }) => [id, raw]),
      },
    );
    lapsed += done.lapsed;
    // Some have changed: they are read again.
    if (done.lapsed + done.forgotten < retired.length) return { ...again, lapsed };
  }
  // The clock was set back since they were put to be sent at once; or they were moved, and have an entry already.
  const dueNow = new Set(lists.find(({ key }) => key === store.keys.fixed.dueNow)?.ids);
  const unnoted = early.filter(({ id }) => dueNow.has(id));
  if (unnoted.length > 0) {
    const entryKeys = unnoted.map(({ due }) => store.keys.dueList(due));
    const entryArgs = unnoted.flatMap(({ id, due }) => [id, due]);
    await noteScript(lane, {}, entryKeys, { ownKeys: store.keys.fixed, entryArgs });
  }
  waiting.sort((a, b) => a.message.due - b.message.due);
  const wave = growing(tending, seen);
  // An operator, or refusals of the service, may have paused it.
  const isPaused = seen.waves.some(({ id, state }) => id === seen.wave && state === 'paused');
  const fitting = isPaused ? [] : waiting.slice(0, Math.min(seen.room, wave.capacity - wave.ordinals));
  const firstLapse = Math.min(...waiting.map(({ message }) => message.due * 1_000 + settings.lateMs));
  const left = new Set(waiting.map(({ id }) => id));
  for (const { id } of fitting) left.delete(id);
  const trims = trimsOf(lists, left);
  // The log of results says where in these lists messages are.
  for (const { member, set } of trims) {
    if (set === store.keys.fixed.forget)
      await forgetScript(lane, { second: member }, [], { ownKeys: store.keys.fixed });
  }
  if (fitting.length > 0) {
    const outcome = await append(tending, seen, wave, fitting, trims);
    if (outcome === 'again') return { ...again, lapsed };
    if (outcome === 'done') {
      const isFull = wave.ordinals + fitting.length >= wave.capacity;
      const isCut = ids.length >= HARVEST_AT_ONCE || seen.due.length + seen.forget.length >= SECONDS_AT_ONCE;
      const isMore = isFull || (isCut && left.size === 0);
      return { planned: fitting.length, lapsed, next: isMore ? 'again' : 'scheduled', firstLapse };
    }
    // The lane recovers from a loss of data, or someone has paused the outbox.
    return { planned: 0, lapsed, next: 'nothing', firstLapse };
  }
  if (trims.length > 0) {
    const { revision, loss } = seen;
    const args = { trims: JSON.stringify(trims.map(argOf)), revision, loss, time: options.now };
    events.push(...(await trimScript(lane, args, trims.flatMap(keysOf), { ownKeys: store.keys.fixed })));
  }
  const waitsUntil = seen.opensAt > 0 ? Math.min(seen.opensAt, firstLapse) : 0;
  return { planned: 0, lapsed, next: trims.length > 0 ? 'again' : 'nothing', firstLapse, waitsUntil };
}

/** The beginnings of the lists of ids that are due, the oldest first. */
async function readLists({ lane, store }: Tending, { now, due, forget, dueNow }: Seen): Promise<DueList[]> {
  const { keys } = store;
  const latest = Math.floor(now / 1_000);
  const lists: DueList[] = [];
  let left = HARVEST_AT_ONCE;
  const add = (some: readonly DueList[]): void => {
    lists.push(...some);
    for (const { ids } of some) left -= ids.length;
  };
  for (const member of due) {
    if (left <= 0) break;
    if (member !== '0') add(await readDue(lane.redis, keys, member, latest, left));
    else
      add([
        {
          member,
          second: 0,
          key: keys.fixed.dueNow,
          set: keys.fixed.due,
          field: '',
          ids: dueNow.slice(0, left),
        },
      ]);
  }
  for (const member of forget) {
    if (left <= 0) break;
    const key = keys.forgetList(Number(member));
    const ids = await lane.redis.lrange(key, 0, left - 1);
    add([{ member, second: Number(member), key, set: keys.fixed.forget, field: '', ids }]);
  }
  return lists;
}

const mayGrow = (
  { isOpen, state, remainder, ordinals, capacity, launchAt, hasLost }: Wave,
  now: number,
): boolean =>
  isOpen &&
  state === 'running' &&
  remainder === 'planned' &&
  ordinals < capacity &&
  now < launchAt + WAVE_MS &&
  !hasLost;

/** Seals waves that get no more messages. Returns how many. */
async function sealOld(
  { lane, store, options, events }: Tending,
  { now, waves, state, due }: Seen,
): Promise<number> {
  let sealed = 0;
  for (const one of waves) {
    const isPaused = one.state === 'paused' && now < one.launchAt + WAVE_MS;
    const isOver = state === 'closed' && due.length === 0 && (await store.waiting()) === 0;
    if (!one.isOpen || ((mayGrow(one, now) || isPaused) && !isOver)) continue;
    events.push(
      ...(await sealScript(lane, { id: one.id, time: options.now }, [], { ownKeys: store.keys.fixed })),
    );
    sealed += 1;
  }
  return sealed;
}

/** The wave that gets the next messages, or a new one. */
function growing({ options }: Tending, { now, wave: id, waves, capacity: next = 1_000 }: Seen) {
  const current = waves.find((one) => one.id === id);
  if (current !== undefined && mayGrow(current, now)) return { ...current, isNew: false };
  return { id: newCampaignId(now, options.random), capacity: next, ordinals: 0, isNew: true };
}

/** Appends messages to the wave, and trims the lists. False if another process has changed something, or the lane takes none now. */
async function append(
  tending: Tending,
  seen: Seen,
  { id, isNew, capacity, ordinals }: ReturnType<typeof growing>,
  messages: readonly DueMessage[],
  trims: readonly Trim[],
): Promise<'done' | 'closed' | 'again'> {
  const { lane, name, store, options, events } = tending;
  const { settings } = seen;
  const { redis, keys, id: laneId } = lane;
  const ranges: [number, number][] = [];
  for (const { message } of messages) {
    const notAfter = message.due * 1_000 + settings.lateMs;
    const last = ranges.at(-1);
    if (last?.[1] === notAfter) last[0] += 1;
    else ranges.push([1, notAfter]);
  }
  if (isNew) {
    // Before the wave: one that is not in the index could not be found.
    await redis.sadd(keys.lanes, laneId);
    await redis.zadd(keys.campaigns, 0, indexMember(laneId, id));
  }
  const appended = [...ranges.map(([, notAfter]) => notAfter), ...(isNew ? [seen.now + WAVE_MS] : [])];
  const reply = await appendScript(
    lane,
    {
      wave: id,
      begin: isNew ? storedMeta(waveMeta(settings, name, laneId, id, seen.now)) : '',
      capacity,
      weight: PRIORITY_WEIGHT[settings.priority],
      name,
      rule: settings.window ?? '',
      revision: seen.revision,
      loss: seen.loss,
      ordinals,
      ranges: JSON.stringify(ranges),
      trims: JSON.stringify(trims.map(argOf)),
      wavesAt: nextOfWaves(seen, appended),
      time: options.now,
    },
    [...messages.map(({ id: message }) => store.bucketKey(message)), ...trims.flatMap(keysOf)],
    {
      ownKeys: {
        ...store.keys.fixed,
        meta: metaKey(keys, laneId, id),
        recipients: recipientListKey(keys, laneId, id),
      },
      entryArgs: messages.flatMap(({ id: own, raw, message }) => [
        own,
        raw,
        packRecipient(asRecipient(own, message)),
      ]),
    },
  );
  events.push(...reply.events);
  if (reply.outcome === 'done') return 'done';
  // The entry of a wave that was not begun.
  if (isNew) await redis.zrem(keys.campaigns, indexMember(laneId, id));
  return reply.outcome === 'closed' ? 'closed' : 'again';
}
