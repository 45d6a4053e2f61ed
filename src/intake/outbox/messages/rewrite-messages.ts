import { z } from 'zod';
import { ruleIn } from '../../../campaign/estimate/window.js';
import { outboxId, outboxKeys, type StoredMessage } from '../../../engine/recipients/outbox-messages.js';
import { registerWindows } from '../../../engine/recovery/windows.js';
import { type LaneStore, laneScript } from '../../../engine/scripts/lane-script.js';
import { editionOf, type OutboxSettings } from '../definition/settings.js';
import type { WaitingMessage } from '../definition/stored-message.js';
import { refusalsOf, rewritten, unfitMessages, waitingReader } from './change-outbox.js';
import { outboxStore } from './store.js';

/*
 * After a change of the settings of an outbox, its waiting messages are rewritten: they get the times that the new rule says, and the values
 * that they lack. The process that makes the change begins; if it dies, a worker continues. A message that is due before its turn waits for it
 * (due-messages.lua).
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
async function rewriteSome(
  lane: LaneStore,
  name: string,
  settings: OutboxSettings,
  stored: Iterable<readonly [id: string, message: StoredMessage]>,
  now: number,
  unfit: ReturnType<typeof unfitMessages>,
  isLast = false,
): Promise<boolean> {
  const read = waitingReader(settings, []);
  const entries: (string | number)[][] = [];
  const zones = new Set<string>();
  for (const [id, message] of stored) {
    if (!isChangeable(message) || message.edition >= settings.since) continue;
    const waiting = asWaiting(message);
    const content = read(waiting, now);
    const refusals = refusalsOf(content);
    unfit.note(id, refusals);
    zones.add(content.zone);
    const [after, why] = refusals[0]
      ? ['', `its \`${refusals[0].member}\` does not fit settings that the outbox got later`]
      : [rewritten(settings, waiting, content, now), ''];
    entries.push([id, message.number, message.edition, after, why]);
  }
  if (entries.length === 0 && !isLast) return true;
  await registerWindows(
    lane,
    [...zones].flatMap((zone) => ruleIn(settings.window, zone) ?? []),
    now,
  );
  const { outbox } = outboxKeys(lane.keys, lane.id, name).fixed;
  for (let from = 0; from === 0 || from < entries.length; from += MESSAGES_AT_ONCE) {
    const entryArgs = entries.slice(from, from + MESSAGES_AT_ONCE).flat();
    const args = { id: outboxId(name), edition: editionOf(settings), isLast: isLast ? 1 : 0 };
    if (!(await rewriteScript(lane, args, [], { ownKeys: { outbox }, entryArgs }))) return false;
  }
  return true;
}

/** Rewrites all waiting messages that were checked by earlier settings. `clock`: that of this process; `unfit` gets those they do not allow. */
export async function rewriteAll(
  lane: LaneStore,
  name: string,
  settings: OutboxSettings,
  clock: () => number,
  unfit = unfitMessages(),
): Promise<void> {
  const { outbox } = outboxKeys(lane.keys, lane.id, name).fixed;
  let leaseUntil = 0;
  for await (const some of outboxStore(lane, name).all()) {
    if (leaseUntil - clock() < REWRITE_LEASE_MS / 2) {
      leaseUntil = clock() + REWRITE_LEASE_MS;
      // Only if there is something to do: the outbox may be gone, or have other settings.
      if ((await lane.redis.hexists(outbox, 'outdated')) === 0) return;
      await lane.redis.hset(outbox, 'outdated', leaseUntil);
    }
    if (!(await rewriteSome(lane, name, settings, some, clock(), unfit))) return;
  }
  await rewriteSome(lane, name, settings, [], clock(), unfit, true);
}

/** Whether a message waits and cannot have been accepted, so that a change of the settings applies to it. */
export const isChangeable = ({ state, again }: StoredMessage): boolean => state === 'planned' && again === '';

/** A stored message as it would be put. */
export const asWaiting = ({ to, edition, ...message }: StoredMessage): WaitingMessage => ({
  ...message,
  number: to,
  revision: edition,
});

/** Whether a process has to rewrite the messages of an outbox. `outdated`: the field of the outbox. */
export function mustRewrite(outdated: string | null | undefined, now: number): boolean {
  return typeof outdated === 'string' && Number(outdated) <= now;
}
