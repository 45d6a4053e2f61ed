import { systemClock } from '../../base/clock.js';
import { lazily } from '../../base/lazily.js';
import type { Operator } from '../../campaign/states/audit.js';
import type { ImportDeps } from '../../intake/import/import-campaign.js';
import type { Instance } from './instance.js';

/** Loads the modules that import campaigns, which take longer to load than most commands take to run. */
export const importModules = lazily(() =>
  Promise.all([
    import('../../intake/import/import-campaign.js'),
    import('../../intake/import/campaign-input.js'),
  ]),
);

/** What an import needs. `laneNamed`: opens the lane of a campaign that is checked. */
export const importDeps = (
  { redis, keys, config, finder, events, suppression, launched, random }: Instance,
  laneNamed: ImportDeps['laneNamed'],
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
  laneNamed,
});
