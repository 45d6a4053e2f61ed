import type { Alarm } from '../../base/clock.js';
import { type RepeatingTask, repeating } from '../../base/repeating.js';
import { checkOldCampaigns, type OldCampaignsOptions } from './old-campaigns.js';
import { fileRewriter } from './rewrite-file.js';

const EVERY_MS = 60_000;
/** Soon after the start, so that a process that never runs for long removes data as well. */
const FIRST_MS = 5_000;
/** Old campaigns are checked by one process of the fleet at a time. */
const OLD_CAMPAIGNS_EVERY_MS = 3_600_000;

/** What {@link startDataRemoval} needs. */
export interface DataRemovalOptions extends OldCampaignsOptions {
  readonly alarm: Alarm;
  /** Continues to forget numbers. By default, there is nothing to continue. */
  forget?(): Promise<void>;
}

/**
 * Ends campaigns that never end by themselves, continues to forget numbers, and rewrites the append-only file after
 * removals. Unlike the sweep, it covers lanes that are not configured. Errors are reported and tried again a minute later.
 */
export function startDataRemoval(options: DataRemovalOptions): RepeatingTask {
  const { redis, keys, events, alarm } = options;
  const rewrite = fileRewriter(options);
  const round = async (): Promise<void> => {
    try {
      const isMine = await redis.set(keys.oldCampaignsChecked, '', 'PX', OLD_CAMPAIGNS_EVERY_MS, 'NX');
      if (isMine === 'OK') await checkOldCampaigns(options);
      await options.forget?.();
      await rewrite();
    } catch (error) {
      events.emit({ type: 'sweep.failed', error: error instanceof Error ? error : new Error(String(error)) });
    }
  };
  return repeating(alarm, round, { everyMs: EVERY_MS, firstMs: FIRST_MS });
}
