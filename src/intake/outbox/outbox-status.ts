import { exactDuration } from '../../base/duration.js';
import { isOfRecipients, nextCommonOpening, ruleIn, windowNow } from '../../campaign/estimate/window.js';
import { returnedOfOutbox } from '../../campaign/fields/field-sets.js';
import { perName, RECIPIENT_STATES } from '../../campaign/states/recipient.js';
import type { OutboxStatus } from '../../campaign/views/outbox-views.js';
import type { Lane } from '../../engine/lane/lane.js';
import { orNull } from '../../engine/recipients/damaged.js';
import { outboxId, outboxKeys, readMessages } from '../../engine/recipients/outbox-messages.js';
import { readState } from '../../engine/store/campaigns.js';
import { pageOfOutboxes } from './definition/outbox-index.js';
import { type OutboxSettings, readOutboxSettings } from './definition/settings.js';

const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** Reads the status of an outbox; null if there is none with this name on the lane. `unserved`: why nothing is sent on the lane. */
export async function readOutboxStatus(
  lane: Lane,
  name: string,
  unserved: string | null = null,
): Promise<OutboxStatus | null> {
  const { redis, keys, id } = lane;
  const settings = await readOutboxSettings(redis, keys, id, name);
  if (settings === null) return null;
  const [state, closed] = await Promise.all([
    readState(redis, keys, id, outboxId(name)),
    redis.hget(outboxKeys(keys, id, name).fixed.outbox, 'closed'),
  ]);
  const { planned: waiting, ...counts } = perName(RECIPIENT_STATES, (each) => state?.counts[each] ?? 0);
  const isPaused = state?.state === 'paused';
  const isRefused = isPaused && state.pauseReason.startsWith('the service refuses');
  return {
    name,
    lane: lane.name,
    state: isPaused ? 'paused' : closed === '1' ? 'closed' : 'open',
    reason: unserved ?? (isRefused ? state.pauseReason : null),
    message: settings.message,
    sender: settings.sender,
    sendRule: settings.sendRule,
    zone: settings.zone ?? null,
    zoneFrom: settings.zoneFrom ?? null,
    late: exactDuration(settings.lateMs),
    window: windowNow(settings.window, lane.clock()),
    ...returnedOfOutbox(settings),
    createdAt: new Date(settings.created).toISOString(),
    counts: { total: state?.total ?? 0, waiting, ...counts },
    nextDue: waiting === 0 ? null : await nextSent(lane, name, settings),
  };
}

/** The messages of all outboxes of a lane. */
export interface OutboxTotals {
  /** Messages that wait for their time, or until the lane may send them. */
  readonly waiting: number;
  /** Messages that have lapsed, in all outboxes that exist. */
  readonly lapsed: number;
  /** How long the earliest message that is due has waited, such as `90s`; null if none is due. Those of paused outboxes do not count. */
  readonly late: string | null;
}

/** Outboxes that are read at a time: an installation may have thousands. */
const OUTBOXES_AT_ONCE = 50;

/** Counts the messages of the outboxes of each lane. Lanes without outboxes are left out. */
export async function outboxTotals(
  { redis, keys }: Pick<Lane, 'redis' | 'keys'>,
  lanes: readonly Lane[],
): Promise<ReadonlyMap<string, OutboxTotals>> {
  const byId = new Map(lanes.map((lane) => [lane.id, lane]));
  const totals = new Map<string, { waiting: number; lapsed: number; lateMs: number }>();
  const add = (lane: Lane, status: OutboxStatus): void => {
    const { waiting, lapsed, lateMs } = totals.get(lane.id) ?? { waiting: 0, lapsed: 0, lateMs: 0 };
    const isLate = status.state !== 'paused' && status.nextDue !== null;
    totals.set(lane.id, {
      waiting: waiting + status.counts.waiting,
      lapsed: lapsed + status.counts.lapsed,
      lateMs: isLate ? Math.max(lateMs, lane.clock() - Date.parse(status.nextDue ?? '')) : lateMs,
    });
  };
  for (let after: string | null | undefined; after !== null; ) {
    const page = await pageOfOutboxes(redis, keys, {
      lanes: [...byId.keys()],
      after,
      count: OUTBOXES_AT_ONCE,
    });
    await Promise.all(
      page.outboxes.map(async ({ name, lane: id }) => {
        const lane = byId.get(id);
        const status = lane && (await orNull(readOutboxStatus(lane, name)));
        if (lane && status) add(lane, status);
      }),
    );
    after = page.next;
  }
  return new Map(
    [...totals].map(([id, { lateMs, ...counts }]) => [
      id,
      { ...counts, late: lateMs > 0 ? exactDuration(lateMs) : null },
    ]),
  );
}

/** When a message that is due at this time, and has this zone, is sent: when its window and that of the lane are open. */
export function whenSent(
  settings: Pick<OutboxSettings, 'window'>,
  { rules, clock }: Pick<Lane, 'rules' | 'clock'>,
  due: string | null,
  zone = '',
): string | null {
  const windows = [ruleIn(settings.window, zone), rules.sendWindow].filter((rule) => rule !== undefined);
  if (due === null || windows.length === 0) return due;
  const at = Math.max(Date.parse(due), clock());
  const opening = nextCommonOpening(windows, at);
  return opening === null || opening.from <= at ? due : iso(opening.from);
}

/** Messages of an outbox that are compared: in their own hours, the first that is due may not be the first that is sent. */
const MESSAGES_COMPARED = 100;

/** When the next waiting message is sent; null if none waits. */
async function nextSent(lane: Lane, name: string, settings: OutboxSettings): Promise<string | null> {
  const { due, messages } = outboxKeys(lane.keys, lane.id, name).fixed;
  const most = isOfRecipients(settings.window) ? MESSAGES_COMPARED : 1;
  const flat = await lane.redis.zrangebyscore(due, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, most);
  const ids = flat.filter((_, at) => at % 2 === 0);
  const stored = most === 1 ? [] : await readMessages(lane.redis, messages, ids);
  const times = ids.map((_, at) => whenSent(settings, lane, iso(Number(flat[2 * at + 1])), stored[at]?.zone));
  return times.sort()[0] ?? null;
}
