import { z } from 'zod';
import { type LaneStore, laneScript } from '../../../engine/scripts/lane-script.js';
import { outboxKeys } from '../definition/outbox-keys.js';
import { editionOf, type OutboxSettings } from '../definition/settings.js';
import { unpackMessage } from '../definition/stored-message.js';
import { rewritten, waitingReader } from './change-outbox.js';
import { outboxStore } from './store.js';

/*
 * After a change of the settings of an outbox, its waiting messages are rewritten: they get the times that the new rule says, and the values
 * that they lack. The process that makes the change begins; if it dies, a worker continues. A message that is due before its turn is
 * rewritten when it is due.
 */

/** For how long the process that rewrites is thought to be alive, after it last said so. */
export const REWRITE_LEASE_MS = 15_000;
const MESSAGES_AT_ONCE = 500;

const rewriteScript = laneScript(
  import.meta.url,
  './rewrite-messages.lua',
  (reply) => z.number().parse(reply) === 1,
);

/** Rewrites those of these messages that were checked by earlier settings. Returns false if the outbox has other settings by now. */
export async function rewriteSome(
  lane: LaneStore,
  name: string,
  settings: OutboxSettings,
  stored: Iterable<readonly [id: string, raw: Buffer | null]>,
  now: number,
  isLast = false,
): Promise<boolean> {
  const read = waitingReader(settings, []);
  const entries: (string | number | Buffer)[][] = [];
  for (const [id, raw] of stored) {
    const message = raw === null ? null : unpackMessage(raw);
    if (raw === null || message?.kind !== 'waiting' || (message.revision ?? 0) >= settings.since) continue;
    const { kind: _, ...waiting } = message;
    const after = rewritten(settings, waiting, read(waiting, now), now);
    entries.push([id, raw, after ?? '', message.due + Math.ceil(settings.lateMs / 1_000)]);
  }
  if (entries.length === 0 && !isLast) return true;
  const ownKeys = outboxKeys(lane.keys, lane.id, name).fixed;
  for (let from = 0; from === 0 || from < entries.length; from += MESSAGES_AT_ONCE) {
    const entryArgs = entries.slice(from, from + MESSAGES_AT_ONCE).flat();
    const args = { name, edition: editionOf(settings), isLast: isLast ? 1 : 0 };
    if (!(await rewriteScript(lane, args, [], { ownKeys, entryArgs }))) return false;
  }
  return true;
}

/** Rewrites all waiting messages that were checked by earlier settings. `clock`: that of this process. */
export async function rewriteAll(
  lane: LaneStore,
  name: string,
  settings: OutboxSettings,
  clock: () => number,
): Promise<void> {
  const { outbox } = outboxKeys(lane.keys, lane.id, name).fixed;
  let leaseUntil = 0;
  for await (const some of outboxStore(lane, name, { lateMs: settings.lateMs }).all()) {
    if (leaseUntil - clock() < REWRITE_LEASE_MS / 2) {
      leaseUntil = clock() + REWRITE_LEASE_MS;
      // Only if there is something to do: the outbox may be gone, or have other settings.
      if ((await lane.redis.hexists(outbox, 'outdated')) === 0) return;
      await lane.redis.hset(outbox, 'outdated', leaseUntil);
    }
    if (!(await rewriteSome(lane, name, settings, some, clock()))) return;
  }
  await rewriteSome(lane, name, settings, [], clock(), true);
}

/** Whether a process has to rewrite the messages of an outbox. `outdated`: the field of the outbox. */
export function mustRewrite(outdated: string | null | undefined, now: number): boolean {
  return typeof outdated === 'string' && Number(outdated) <= now;
}
