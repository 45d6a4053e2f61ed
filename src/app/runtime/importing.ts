import { systemClock } from '../../base/clock.js';
import type { Operator } from '../../campaign/audit.js';
import type { Lanes } from '../../engine/lane/lane-finder.js';
import { lazily, type Parts } from './parts.js';

/** Loads the modules that import campaigns, which take longer to load than most commands take to run. */
export const importing = lazily(() =>
  Promise.all([
    import('../../intake/import/import-campaign.js'),
    import('../../intake/import/campaign-input.js'),
  ]),
);

/** What an import needs, for the lanes it may use and the operator who imports. */
export const importDeps = async (
  { redis, keys, config, finder, events, suppression, launched, random, format }: Parts,
  lanes: Promise<Lanes>,
  by: Operator,
) => ({
  redis,
  keys,
  config,
  finder,
  events,
  suppression,
  launched,
  clock: systemClock,
  random,
  by,
  lanes: await lanes,
  mayHaveFormerKeys: format.mayHaveFormerKeys,
});
