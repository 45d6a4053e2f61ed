import type { Redis } from '../base/redis/connection.js';
import type { Keys, LaneId } from '../base/redis/keys.js';
import { possibleFormsOf } from '../campaign/numbers/number-forms.js';
import { NOT_SENT_STATES } from '../campaign/states/recipient.js';
import { messageEntry } from '../engine/inbound/in-flight.js';
import { countCampaigns } from './fleet-snapshot.js';
import type { OutboxSearch } from './outbox-search.js';
import { recipientReader } from './recipient-reader.js';

/** What {@link sentSince} needs. */
interface SentSinceDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly outboxes: Pick<OutboxSearch, 'sentSince'>;
}

/**
 * Finds the messages of a lane to the subscriber of a number, E.164 with its plus, whose requests were claimed at `from` or later, in campaigns that began until
 * `begunUntil`, or in outboxes; ms by the clock of Redis. It reads the states of all campaigns, and is for what is rare.
 */
export async function sentSince(
  { redis, keys, outboxes }: SentSinceDeps,
  lane: LaneId,
  number: string,
  { from, begunUntil }: { readonly from: number; readonly begunUntil: number },
): Promise<string[]> {
  const campaigns: string[] = [];
  await countCampaigns(redis, keys, lane, (id, { launchAt, endedAt, outbox }) => {
    if (outbox === undefined && launchAt <= begunUntil && (endedAt === 0 || endedAt >= from))
      campaigns.push(id);
  });
  const messages = [...(await outboxes.sentSince(lane, number, from))];
  for (const campaign of campaigns) {
    const reader = recipientReader(redis, keys, lane, campaign);
    for await (const record of reader.records(await reader.ordinalsOf(possibleFormsOf(number)))) {
      const claimedAt = record.request?.sentAt ?? record.claimedAt ?? 0;
      if (claimedAt >= from && !NOT_SENT_STATES.includes(record.state))
        messages.push(messageEntry(lane, campaign, record.ordinal));
    }
  }
  return messages;
}
