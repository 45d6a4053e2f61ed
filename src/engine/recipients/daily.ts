import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId, LaneName } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import { type DailyLimit, LimitError } from '../../campaign/check-limits.js';
import type { LimitName } from '../../campaign/limit-values.js';
import { formatAmount } from '../../campaign/price.js';

/*
 * What may be stored in a UTC day, by an API key on a lane, and by everyone on it. The counters are in daily.lua, beside what the key has
 * stored (key-bytes.ts). An import reserves its messages before it is committed, and a discarded one returns them; a cancelled campaign does
 * not. A message of an outbox counts when it is put.
 */

/** Messages that are stored, and what they cost, in micros. */
export interface Counted {
  readonly messages: number;
  readonly micros: number;
}

const reserveScript = loadScript(import.meta.url, './reserve-day.lua', (reply) =>
  z.tuple([z.string(), z.number()]).parse(reply),
);

/** The limits as scripts read them. */
export const scriptLimits = (limits: readonly DailyLimit[]): string =>
  JSON.stringify(
    limits.map(({ key, recipientsPerDay, costPerDay }) => ({
      key,
      ...(recipientsPerDay !== null && { recipients: recipientsPerDay }),
      ...(costPerDay !== null && { micros: costPerDay }),
    })),
  );

/** Where messages are counted. `currency`: that of the prices. */
export interface DayOf {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly lane: { readonly id: LaneId; readonly name: LaneName };
  readonly limits: readonly DailyLimit[];
  readonly currency: string | undefined;
}

/**
 * Counts the messages of an import for the daily limits; without an import, only checks them. Resolves to false if the import was discarded.
 * Rejects with a LimitError.
 */
export async function reserveDay(day: DayOf, campaign: string | null, counted: Counted): Promise<boolean> {
  const { redis, keys, lane, limits } = day;
  if (limits.length === 0) return true;
  const [refusal, endsAt] = await reserveScript.run(
    redis,
    { states: keys.lane(lane.id, 'states'), keyBytes: keys.lane(lane.id, 'keyBytes') },
    { id: campaign ?? '', limits: scriptLimits(limits), ...counted, time: '' },
  );
  if (refusal === 'gone') return false;
  if (refusal !== '') throw overDay(day, refusal, endsAt, counted);
  return true;
}

/** The error for messages that a daily limit does not allow. `refusal`: as daily.lua says it; `endsAt`: of the day, ms. */
export function overDay(
  { limits, lane, currency }: Pick<DayOf, 'limits' | 'lane' | 'currency'>,
  refusal: string,
  endsAt: number,
  { messages, micros }: Counted,
): LimitError {
  const [limit = '', left = '', ...key] = refusal.split(' ');
  const of = limits.find((each) => each.key === key.join(' '));
  if (of === undefined) throw new Error(`no limit refuses "${refusal}"`);
  const { owner, who } = of;
  const resetsAt = new Date(endsAt).toISOString();
  const isCost = limit === 'costPerDay';
  const shown = (count: number): string => {
    if (isCost && currency !== undefined) return `${formatAmount(count, currency)} ${currency}`;
    return `${count.toLocaleString('en')} ${count === 1 ? 'message' : 'messages'}`;
  };
  const most = shown((isCost ? of.costPerDay : of.recipientsPerDay) ?? 0);
  const where = owner === 'lane' ? '' : ` on lane ${lane.name}`;
  const needed = isCost ? `costs ${shown(micros)}` : `has ${shown(messages)}`;
  return new LimitError(
    `${who} may ${isCost ? 'spend' : 'send'} ${most} a day${where}: ${shown(Number(left))} left until ${resetsAt}, and this ${needed}`,
    {
      limit: limit as LimitName,
      owner,
      left: isCost ? shown(Number(left)) : Number(left),
      resetsAt,
      field: 'recipients',
    },
  );
}
