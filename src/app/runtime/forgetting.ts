import { systemClock } from '../../base/clock.js';
import type { LaneId } from '../../base/redis/keys.js';
import type { Forgetting } from '../forget/forget.js';
import type { Instance } from './instance.js';

/** Opens what forgets numbers. It takes longer to load than most commands take to run. */
export async function openForgettingOf(instance: Instance): Promise<Forgetting> {
  const [{ openForgetting }, { numberReader }] = await Promise.all([
    import('../forget/forget.js'),
    import('../../campaign/numbers/number.js'),
  ]);
  const { redis, keys, config, finder, scheduled, suppression, positions } = instance;
  const readers = new Map<string | undefined, ReturnType<typeof numberReader>>();
  return openForgetting({
    redis,
    keys,
    finder,
    scheduled,
    suppression,
    positions,
    clock: systemClock,
    retentionMs: config.retentionMs,
    readNumber(text, country = config.defaultCountry) {
      const read = readers.get(country) ?? numberReader(country);
      readers.set(country, read);
      const outcome = read(text);
      return outcome.ok ? outcome.number : null;
    },
  });
}

/** Removes all data of a campaign that has ended. One that has not is left alone. `earlyByMs`: as of {@link removeCampaign}. */
export async function removeCampaignOf(
  { redis, keys, finder, events }: Pick<Instance, 'redis' | 'keys' | 'finder' | 'events'>,
  laneId: LaneId,
  id: string,
  earlyByMs = 0,
): Promise<void> {
  const { removeCampaign } = await import('../../engine/recovery/retention.js');
  const recipientCount = await removeCampaign(redis, keys, laneId, id, earlyByMs);
  const lane = await finder.nameOf(laneId);
  if (recipientCount !== null) events.emit({ type: 'retention.removed', lane, campaign: id, recipientCount });
}
