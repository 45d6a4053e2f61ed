import { parseDuration } from '../../base/duration.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import type { CampaignState } from '../../campaign/states/campaign.js';
import { readSource } from '../import/read-results-of.js';
import type { FollowUp } from './schedule.js';

/**
 * When a follow-up is due, ms: so long after its campaign started, or will start by what is known now. And the state of that campaign.
 * Throws an InputError if it does not exist any more.
 */
export async function readFollowed(
  deps: { readonly redis: Redis; readonly keys: Keys },
  { campaign, after }: Pick<FollowUp, 'campaign' | 'after'>,
): Promise<{ readonly at: number; readonly state: CampaignState }> {
  const { state } = await readSource(deps, campaign);
  return { at: state.launchAt + (parseDuration(after) ?? 0), state: state.state };
}
