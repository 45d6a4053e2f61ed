import { systemAlarm } from '../../base/clock.js';
import { accountOf } from '../../base/config/index.js';
import { readState } from '../../engine/lane/campaigns.js';
import type { Lane } from '../../engine/lane/lane.js';
import { accountId } from '../../service/auth/token-record.js';
import type { Instance } from './instance.js';

/** How often a worker looks at the lanes that are being removed; less in a short quota window, as tests have. */
const LOOK_MS = 15_000;

/**
 * Ends the removal of stored lanes. Their credentials are needed until the last report: polls need them, and an unknown outcome waits for an
 * operator. Then the subscription, the token, and the credentials are deleted, in this order, because each needs the next. Every step may be
 * repeated, by any worker.
 */
export function finishRemovals(instance: Instance): { stop(): Promise<void> } {
  const { config, redis, keys, events, finder, lanes, stored, notifications } = instance;

  /** Cancels campaigns that were stored while another process did not know yet that the lane is leaving. */
  const cancelRest = async (lane: Lane): Promise<void> => {
    for (const id of await redis.hkeys(keys.lane(lane.id, 'states'))) {
      const state = await readState(redis, keys, lane.id, id);
      if (state === null || ['importing', 'completed', 'cancelled'].includes(state.state)) continue;
      lane.emit((await lane.commands.campaign('cancel', id, 'its lane is being removed')).events);
    }
  };
  const finish = async (lane: Lane): Promise<void> => {
    const status = await lane.freshStatus();
    if (status.running + status.scheduled + status.waiting > 0) return cancelRest(lane);
    const open = status.inFlightSends + status.inFlightPolls + status.awaiting + status.unknown;
    if (open > 0 || !('credentials' in lane.settings)) return;
    if (config.callback !== undefined) {
      const { outcome } = await notifications.subscription(lane.name).remove();
      if (outcome === 'unanswered') return;
    }
    const account = accountOf(lane.settings.credentials);
    const others = lanes.lanes.filter(({ name }) => name !== lane.name);
    const isShared = others.some((other) => {
      const used = 'credentials' in other ? accountOf(other.credentials) : undefined;
      return used !== undefined && account !== undefined && accountId(used) === accountId(account);
    });
    if (account !== undefined && !isShared) await redis.unlink(keys.token(accountId(account)));
    const record = await stored.get(lane.id);
    if (record?.state !== 'leaving') return;
    await stored.remove(record);
    events.emit({ type: 'lane.removed', lane: lane.name });
    await finder.live.refresh();
  };

  const everyMs = Math.min(LOOK_MS, Math.max(500, config.quotaWindowMs / 240));
  let isStopped = false;
  let cancel = (): void => {};
  let running: Promise<void> = Promise.resolve();
  const look = async (): Promise<void> => {
    // What fails is tried again; another worker may just have finished it.
    for (const lane of finder.live.current().values())
      if (lane.settings.stored?.isLeaving && !isStopped) await finish(lane).catch(() => {});
  };
  const next = (): void => {
    if (isStopped) return;
    cancel = systemAlarm(everyMs, () => {
      running = look().then(next);
    });
  };
  next();
  return {
    async stop() {
      isStopped = true;
      cancel();
      await running;
    },
  };
}
