import { z } from 'zod';
import type { Clock, Random } from '../../../base/clock.js';
import { luaList } from '../../../base/redis/script.js';
import { isFull } from '../../../base/redis/unavailable.js';
import { newCampaignId, PRIORITY_WEIGHT } from '../../../campaign/states/campaign.js';
import { metaKey, recipientListKey, statusesKey } from '../../../engine/recipients/campaign-keys.js';
import { packList } from '../../../engine/recipients/stored-slices.js';
import { type LaneStore, laneScript } from '../../../engine/scripts/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../../../engine/scripts/script-events.js';
import { storedMeta } from '../../../engine/store/campaign-meta.js';
import { indexMember } from '../../../engine/store/campaigns.js';
import { type OutboxKeys, outboxKeys } from '../definition/outbox-keys.js';
import { type OutboxSettings, parseSettings } from '../definition/settings.js';
import { mustRewrite, rewriteAll, rewriteSome } from '../messages/rewrite-messages.js';
import { forgetTime, outboxStore } from '../messages/store.js';
import { returnPlanned } from './planned-messages.js';
import { waveMeta } from './wave.js';

/*
 *   due ──► late? ──► lapsed
 *    │
 *    └──► room? ──► planned: appended to the wave ──► claimed as in any campaign
 *
 * One script moves messages, and every step may be repeated, and be done by two processes at the same time.
 */

/** More would block Redis for too long. */
const MESSAGES_AT_ONCE = 1_000;
const ROUNDS = 50;

const done = z.object({
  planned: z.number(),
  lapsed: z.number(),
  isMore: z.boolean(),
  needs: z.enum(['wave', 'reading', '']),
  late: luaList(z.string()),
  full: luaList(z.string()),
  returning: luaList(z.string()),
  outdated: luaList(z.string()),
  lists: luaList(z.string()),
  lapsesAt: z.number(),
});
type Done = z.output<typeof done>;

const tendScript = laneScript(
  import.meta.url,
  './tend-outbox.lua',
  (reply): Done & { readonly events: readonly ScriptEvent[] } => {
    const [json, events] = z.tuple([z.string(), z.string()]).parse(reply);
    return { ...done.parse(JSON.parse(json)), events: scriptEvents(events) };
  },
  { comparesClock: true },
);
const forgetScript = laneScript(import.meta.url, './forget-list.lua', () => undefined);
const sealScript = laneScript(import.meta.url, './seal-wave.lua', (reply) =>
  scriptEvents(z.string().parse(reply)),
);
const lapseScript = laneScript(import.meta.url, './lapse-wave.lua', (reply) => {
  const [lapsed, events] = z.tuple([z.number(), z.string()]).parse(reply);
  return { lapsed, events: scriptEvents(events) };
});

/** What {@link tendOutbox} needs beside the lane. */
export interface TendOptions {
  readonly random: Random;
  readonly clock: Clock;
  /** How long the id of a message that has lapsed is kept. */
  readonly retentionMs: number;
  /** Time in ms, for tests and simulations. Default: the time of Redis. */
  readonly now?: number | undefined;
}

/** What was done. */
export interface Tended {
  /** Messages appended to waves. */
  readonly planned: number;
  readonly lapsed: number;
  readonly events: readonly ScriptEvent[];
}

/** Does everything that an outbox has to do now: lapses what is late, plans what is due, and forgets what ended long ago. */
export async function tendOutbox(lane: LaneStore, name: string, options: TendOptions): Promise<Tended> {
  return tend(lane, name, options, true);
}

/**
 * Only lapses what is late. `lapsesAt`: when to do so again; `Infinity` if nothing of the outbox is due. Its schedule stays as it is, for a
 * process that serves the lane.
 */
export async function lapseOutbox(
  lane: LaneStore,
  name: string,
  options: TendOptions,
): Promise<{ readonly lapsesAt: number; readonly events: readonly ScriptEvent[] }> {
  return tend(lane, name, options, false);
}

/** `plans`: whether messages that are due are planned: this process serves the lane. */
async function tend(
  lane: LaneStore,
  name: string,
  options: TendOptions,
  plans: boolean,
): Promise<Tended & { readonly lapsesAt: number }> {
  const boxKeys = outboxKeys(lane.keys, lane.id, name);
  const tending: Tending = { lane, name, boxKeys, options, plans, events: [] };
  let [planned, lapsed, lapsesAt, needsWave] = [0, 0, Number.POSITIVE_INFINITY, false];
  for (let rounds = 0; rounds < ROUNDS; rounds += 1) {
    const fields = ['settings', 'edition', 'wave', 'outdated'];
    const [json = null, edition, wave, outdated] = await lane.redis.hmget(boxKeys.fixed.outbox, ...fields);
    // Deleted, and no longer marked as due: if it is by now, another was created.
    if (json === null) break;
    const known: Known = { settings: parseSettings(json), edition: edition ?? '' };
    if (mustRewrite(outdated, options.clock())) await rewriteAll(lane, name, known.settings, options.clock);
    const begins = needsWave && !wave;
    const round = begins ? await beginWave(tending, known) : await moveDue(tending, known, wave ?? '');
    const inWaves = await tendWaves(tending, round);
    await rewriteDue(tending, known, round.outdated);
    planned += round.planned;
    lapsed += round.lapsed + inWaves.lapsed;
    lapsesAt = round.lapsesAt || Number.POSITIVE_INFINITY;
    needsWave = round.needs === 'wave';
    if (!inWaves.isChanged && !round.isMore && round.needs === '' && round.outdated.length === 0) break;
  }
  return { planned, lapsed, lapsesAt, events: tending.events };
}

interface Tending {
  readonly lane: LaneStore;
  readonly name: string;
  readonly boxKeys: OutboxKeys;
  readonly options: TendOptions;
  readonly plans: boolean;
  readonly events: ScriptEvent[];
}

/** The settings of an outbox, as this process has read them. */
interface Known {
  readonly settings: OutboxSettings;
  readonly edition: string;
}

/** Moves the messages that are due. `begin`: the part of the wave that never changes, if it is a new one; otherwise ''. */
async function moveDue(
  { lane, name, boxKeys, options, plans, events }: Tending,
  { settings, edition }: Known,
  wave: string,
  begin = '',
): Promise<Done> {
  const { keys, id } = lane;
  const forgetAt = forgetTime(options.now ?? options.clock(), options.retentionMs);
  const reply = await tendScript(
    lane,
    {
      name,
      edition,
      most: MESSAGES_AT_ONCE,
      plans: plans ? 1 : 0,
      wave,
      begin,
      weight: PRIORITY_WEIGHT[settings.priority],
      rule: settings.window ?? '',
      lateMs: settings.lateMs,
      forgetAt,
      time: options.now,
    },
    [],
    {
      ownKeys: {
        ...boxKeys.fixed,
        list: boxKeys.endedList(forgetAt),
        recipients: recipientListKey(keys, id, wave),
        meta: metaKey(keys, id, wave),
      },
    },
  );
  events.push(...reply.events);
  return reply;
}

/** Moves the messages that are due to a new wave. It is in the index of campaigns first: one that is not could not be found. */
async function beginWave(tending: Tending, known: Known): Promise<Done> {
  const { lane, name, options } = tending;
  const { redis, keys, id } = lane;
  const now = options.now ?? options.clock();
  const wave = newCampaignId(now, options.random);
  await redis.sadd(keys.lanes, id);
  await redis.zadd(keys.campaigns, 0, indexMember(id, wave));
  const meta = waveMeta(known.settings, name, id, wave, now);
  const reply = await moveDue(tending, known, wave, storedMeta(meta));
  if (reply.planned === 0) await redis.zrem(keys.campaigns, indexMember(id, wave));
  return reply;
}

/** Does what a round has found that needs the keys of a wave or of a list. */
async function tendWaves(
  { lane, name, boxKeys, options, events }: Tending,
  { late, full, returning, lists }: Done,
): Promise<{ readonly lapsed: number; readonly isChanged: boolean }> {
  let lapsed = 0;
  for (const id of late) {
    const ownKeys = { statuses: statusesKey(lane.keys, lane.id, id) };
    const result = await lapseScript(lane, { id, time: options.now }, [], { ownKeys });
    lapsed += result.lapsed;
    events.push(...result.events);
  }
  for (const id of returning) events.push(...(await returnPlanned(lane, name, id, options.now)));
  for (const id of full) {
    await packList(lane.redis, lane.keys, lane.id, id).catch((error: unknown) => {
      // A wave that cannot be packed takes more memory, but has to end.
      if (!isFull(error)) throw error;
    });
    events.push(...(await sealScript(lane, { id, time: options.now }, [], { ownKeys: boxKeys.fixed })));
  }
  for (const second of lists) {
    const ownKeys = { ...boxKeys.fixed, list: boxKeys.endedList(Number(second)) };
    await forgetScript(lane, { second }, [], { ownKeys });
  }
  const isChanged = lapsed > 0 || full.length > 0 || returning.length > 0 || lists.length > 0;
  return { lapsed, isChanged };
}

/** Rewrites messages that are due and were checked by earlier settings. */
async function rewriteDue(
  { lane, name, options }: Tending,
  { settings }: Known,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const raws = await outboxStore(lane, name, { lateMs: settings.lateMs }).read(ids);
  const stored = ids.map((id, at) => [id, raws[at] ?? null] as const);
  await rewriteSome(lane, name, settings, stored, options.now ?? options.clock());
}
