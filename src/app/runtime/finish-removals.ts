import { accountOf } from '../../base/config/index.js';
import { type RepeatingTask, repeating } from '../../base/repeating.js';
import type { Lane } from '../../engine/lane/lane.js';
import { KNOWN_MS } from '../../engine/lane/stored-lanes.js';
import { accountId } from '../../service/auth/token-record.js';
import type { LaneAdmin } from '../access/lane-admin.js';
import type { Instance } from './instance.js';

/** How often a worker looks at the lanes that are being removed; less in a short quota window, as tests have. */
const LOOK_MS = 15_000;
/** A number of recipients that no lane has: a removal that expects it says how many there are. */
const ONLY_COUNT = -1;

/**
 * Ends the removal of stored lanes. Their credentials are needed until the last report: polls need them, and an unknown outcome waits for an
 * operator. Then the subscription, the token, and the credentials are deleted, in this order, because each needs the next. Every step may be
 * repeated, by any worker.
 */
export function finishRemovals(instance: Instance, admin: Pick<LaneAdmin, 'remove'>): RepeatingTask {
  const { config, redis, keys, events, finder, lanes, stored, notifications, time } = instance;

  const finish = async (lane: Lane): Promise<void> => {
    const record = await stored.get(lane.id);
    // A lane that is closing may be reopened: the command that closes it decides, or its repeat.
    if (record?.state !== 'leaving' || record.isClosing) return;
    // What another process has stored while it did not know yet that the lane is leaving.
    const waiting = await admin.remove(lane.name, ONLY_COUNT);
    if (waiting.outcome === 'unexpected' && waiting.recipientCount > 0)
      return void (await admin.remove(lane.name, waiting.recipientCount));
    // First, because each leaves a result or an unknown outcome. Those that are set aside count as well: they become unknown.
    const claims = await redis.hlen(keys.lane(lane.id, 'claims'));
    const status = await lane.freshStatus();
    const imports = await redis.zcard(keys.lane(lane.id, 'importing'));
    // A stop word that waits for its second part may count for all lanes.
    const replies = await redis.hlen(keys.lane(lane.id, 'inboundPending'));
    const open = claims + status.inFlightPolls + status.awaiting + status.unknown;
    if (open + imports + replies > 0 || !('credentials' in lane.settings)) return;
    // Until every worker knows that the lane is leaving, one may still subscribe it.
    if ((await time.ofRedis(redis)) - record.revision < KNOWN_MS) return;
    if (!(await notifications.leave(lane))) return;
    const account = accountOf(lane.settings.credentials);
    const others = lanes.lanes.filter(({ name }) => name !== lane.name);
    const isShared = others.some((other) => {
      const used = 'credentials' in other ? accountOf(other.credentials) : undefined;
      return used !== undefined && account !== undefined && accountId(used) === accountId(account);
    });
    if (account !== undefined && !isShared) await redis.unlink(keys.token(accountId(account)));
    await redis.unlink(keys.lane(lane.id, 'templates'));
    await stored.remove(record);
    events.emit({ type: 'lane.removed', lane: lane.name });
    await finder.live.refresh();
  };

  const everyMs = Math.min(LOOK_MS, Math.max(500, config.quotaWindowMs / 240));
  const look = async (): Promise<void> => {
    // What fails is tried again; another worker may just have finished it.
    for (const lane of finder.live.current().values())
      if (lane.settings.stored?.isLeaving && !task.isStopped) await finish(lane).catch(() => {});
  };
  const task = repeating(time.alarm, look, { everyMs });
  return task;
}
