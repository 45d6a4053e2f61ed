import { z } from 'zod';
import type { Clock } from '../../../base/clock.js';
import { serverTime } from '../../../base/redis/connection.js';
import { orNull } from '../../../engine/recipients/damaged.js';
import { outboxId, outboxKeys, readMessages } from '../../../engine/recipients/outbox-messages.js';
import { digestOf, indexKey } from '../../../engine/recipients/request-index.js';
import { type LaneStore, laneScript } from '../../../engine/scripts/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../../../engine/scripts/script-events.js';
import { listUnknown, resolveBatches } from '../../../engine/sending/unknown.js';
import { parseSettings } from '../definition/settings.js';
import { mustRewrite, rewriteAll } from '../messages/rewrite-messages.js';

/*
 * What the outboxes of a lane need beside what each claim does: they give up and forget what is old, and a change of their settings is completed if its
 * process has died. On a lane that no process serves, messages still have to lapse.
 */

/** More would block Redis for too long. */
const MESSAGES_AT_ONCE = 1_000;
const ROUNDS = 50;
const OUTBOXES_AT_ONCE = 100;
/** How long after it was tended an outbox is tended again, at the latest. */
const AGAIN_MS = 3_600_000;
/** While a change of its settings is not completed. */
const REWRITE_AGAIN_MS = 5_000;
const TOO_OLD = 'its outcome was unknown until MAX_CAMPAIGN_AGE';

const lookScript = laneScript(
  import.meta.url,
  './look-outboxes.lua',
  (reply) => {
    const [next, events] = z.tuple([z.string(), z.string()]).parse(reply);
    return { next: Number(next), events: scriptEvents(events) };
  },
  { comparesClock: true },
);
const tendScript = laneScript(import.meta.url, './tend-outbox.lua', (reply) => z.number().parse(reply) === 1);

/** What {@link tendOutboxes} needs beside the lane. */
export interface TendOptions {
  readonly clock: Clock;
  /** How long the id of a message is kept after it is final. */
  readonly retentionMs: number;
  /** How long after its claim a message is followed up at most. */
  readonly openForMs: number;
  /** Time in ms, for tests and simulations. Default: the time of Redis. */
  readonly now?: number | undefined;
}

/** Tends the outboxes of a lane that are due for it. One that cannot be read is left for an operator. */
export async function tendOutboxes(lane: LaneStore, options: TendOptions): Promise<void> {
  const now = options.now ?? (await serverTime(lane.redis));
  const names = await lane.redis.zrangebyscore(
    lane.keys.lane(lane.id, 'tending'),
    '-inf',
    now,
    'LIMIT',
    0,
    OUTBOXES_AT_ONCE,
  );
  await Promise.all(names.map((name) => orNull(tendOutbox(lane, name, options, now))));
}

async function tendOutbox(
  lane: LaneStore,
  name: string,
  { clock, retentionMs, openForMs, now: time }: TendOptions,
  now: number,
): Promise<void> {
  const { fixed } = outboxKeys(lane.keys, lane.id, name);
  const fields = await lane.redis.hgetall(fixed.outbox);
  const { settings, outdated } = fields;
  if (settings !== undefined && mustRewrite(outdated, clock()))
    await rewriteAll(lane, name, parseSettings(settings, name), clock);
  const replaced = Object.entries(fields).filter(
    ([field, value]) =>
      field.startsWith('edition:') && Number.parseInt(value, 10) + openForMs + retentionMs <= now,
  );
  if (replaced.length > 0) await lane.redis.hdel(fixed.outbox, ...replaced.map(([field]) => field));
  const args = {
    name,
    id: outboxId(name),
    retention: retentionMs,
    openFor: openForMs,
    most: MESSAGES_AT_ONCE,
    again: outdated === undefined ? AGAIN_MS : REWRITE_AGAIN_MS,
    time,
  };
  await abandonOld(lane, args.id, now - openForMs, time);
  for (let rounds = 0; rounds < ROUNDS; rounds += 1) {
    if (lane.rules.notify === true) await unindex(lane, fixed, now - retentionMs);
    if (!(await tendScript(lane, args, [], { ownKeys: fixed }))) return;
  }
}

/** Removes the requests of messages that are about to be forgotten from the index: a report could still change those without a final one. */
async function unindex(
  { redis, keys, id }: LaneStore,
  { messages, due }: { readonly messages: string; readonly due: string },
  until: number,
): Promise<void> {
  const ids = await redis.zrevrangebyscore(due, -1, -until, 'LIMIT', 0, MESSAGES_AT_ONCE);
  const found = await readMessages(redis, messages, ids);
  const digests = found.flatMap((message) =>
    message?.state === 'unconfirmed' && message.requestId !== '' ? [digestOf(message.requestId)] : [],
  );
  await Promise.all(digests.map((digest) => redis.hdel(indexKey(keys, id, digest), digest.field)));
}

/** Gives up messages whose outcome no operator has resolved in as long as a message is followed up. */
async function abandonOld(lane: LaneStore, id: string, before: number, time?: number): Promise<void> {
  const unknown = await listUnknown(lane);
  const old = unknown.filter(({ campaign, claimedAt }) => campaign === id && claimedAt <= before);
  if (old.length > 0) await resolveBatches(lane, 'abandon', TOO_OLD, old, time);
}

/**
 * Lets messages lapse that are too late, as each claim does: a lane that no process serves, or an outbox that was changed, may have none.
 * `next`: when to do so again, ms by the clock of Redis; null if the lane has no outbox that waits.
 */
export async function lapseDue(
  lane: LaneStore,
  now?: number,
): Promise<{ readonly next: number | null; readonly events: readonly ScriptEvent[] }> {
  const { next, events } = await lookScript(lane, { time: now });
  return { next: next === -1 ? null : next, events };
}
