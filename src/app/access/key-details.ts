import type { Clock } from '../../base/clock.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { formatAmount, parseLimit } from '../../campaign/limits/price.js';
import type { ApiKey, ApiKeyDetails } from '../../campaign/states/api-key.js';
import { storedInDay } from '../../engine/day-limits/daily.js';

/** What {@link keyDetails} needs. `currency`: of the prices. */
interface DetailsDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly currency: string | undefined;
}

/** Adds to a key what it has stored today, as far as its daily limits count it, and what its limits still allow. */
export async function keyDetails(
  { redis, keys, clock, currency }: DetailsDeps,
  key: ApiKey,
): Promise<ApiKeyDetails> {
  const { id, maxSuppressions, recipientsPerDay, costPerDay } = key;
  const suppressed = Number(await redis.hget(keys.suppression.addedBy, id)) || 0;
  const suppressionsLeft = Math.max(0, maxSuppressions - suppressed);
  if (recipientsPerDay === null && costPerDay === null) return { ...key, suppressionsLeft, today: null };
  const { messages, micros, endsAt } = await storedInDay({ redis, keys }, id, clock());
  const amount = (value: bigint): string | null =>
    currency === undefined ? null : `${formatAmount(value > 0n ? value : 0n, currency)} ${currency}`;
  const most = costPerDay === null || currency === undefined ? null : parseLimit(costPerDay, currency);
  return {
    ...key,
    suppressionsLeft,
    today: {
      recipientCount: messages,
      // Nothing else counts the cost of a message of an outbox.
      cost: costPerDay === null ? null : amount(BigInt(micros)),
      recipientsLeft: recipientsPerDay === null ? null : Math.max(0, recipientsPerDay - messages),
      costLeft: typeof most === 'bigint' ? amount(most - BigInt(micros)) : null,
      resetsAt: new Date(endsAt).toISOString(),
    },
  };
}
