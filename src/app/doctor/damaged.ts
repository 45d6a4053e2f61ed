import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { VolleyError } from '../../campaign/errors/errors.js';
import { outboxId } from '../../engine/recipients/outbox-messages.js';
import { readMeta } from '../../engine/store/campaign-meta.js';
import { listCampaigns, readState } from '../../engine/store/campaigns.js';
import { indexedOutboxes } from '../../intake/outbox/definition/outbox-index.js';
import { readOutboxSettings } from '../../intake/outbox/definition/settings.js';
import { scheduleStore } from '../../intake/schedules/store.js';
import { inBatches } from '../../reporting/in-batches.js';
import { webhookStore } from '../../reporting/webhooks/store.js';
import { type Finding, fail } from './check.js';

/** Campaigns that are looked at, newest first. */
const CAMPAIGNS = 20_000;
const READ_AT_ONCE = 100;
/** Records that are named. */
const NAMED = 20;

/** Names the stored records that cannot be read. Readers of many records skip them, so that they stop no other. */
export async function checkDamaged(
  redis: Redis,
  keys: Keys,
  damagedLanes: readonly string[],
): Promise<Finding[]> {
  const found: Finding[] = [];
  const look = async (read: Promise<unknown>, remove: string): Promise<void> => {
    try {
      await read;
    } catch (error) {
      if (!(error instanceof VolleyError && error.code === 'damaged')) throw error;
      const [what = ''] = error.message.split(': ');
      found.push(fail('stored data', `${what}.`, `To remove it: ${remove}`));
    }
  };
  const campaigns = inBatches(listCampaigns(redis, keys), READ_AT_ONCE, ({ id, lane }) =>
    look(
      Promise.all([readMeta(redis, keys, lane, id), readState(redis, keys, lane, id)]),
      `volley delete ${id}`,
    ),
  );
  let looked = 0;
  for await (const _ of campaigns) {
    looked += 1;
    if (looked === CAMPAIGNS) break;
  }
  for (const { name, lane } of await indexedOutboxes(redis, keys))
    await look(
      Promise.all([
        readOutboxSettings(redis, keys, lane, name),
        readState(redis, keys, lane, outboxId(name)),
      ]),
      `volley outbox delete ${name}`,
    );
  const schedules = scheduleStore(redis, keys);
  for await (const { id, ref } of schedules.refs())
    await look(schedules.read(ref), `volley schedule remove ${id}`);
  for (const id of await webhookStore(redis, keys).damaged())
    found.push(
      fail('stored data', `webhook ${id} cannot be read.`, `To remove it: volley webhook remove ${id}`),
    );
  for (const id of damagedLanes)
    found.push(
      fail(
        'stored data',
        `the stored lane ${id} cannot be read, so no process serves it.`,
        'Restore its record in Redis from a backup. Its campaigns wait.',
      ),
    );
  const more = found.length - NAMED;
  if (more <= 0) return found;
  return [...found.slice(0, NAMED), fail('stored data', `${more} more records cannot be read.`)];
}
