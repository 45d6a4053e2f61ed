import { recordsKey } from '../../../src/engine/recipients/campaign-keys.js';
import { parseRecord } from '../../../src/engine/recipients/request-records.js';
import { sweepLane } from '../../../src/engine/recovery/sweep.js';
import { campaign, config, lane, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

/** Worlds in which the data of campaigns are removed after their retention. */
export const REMOVAL_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'removed-with-its-words',
    seeds: [159],
    about:
      "The service reports a status of its own for recipients that never become final. After the retention, the campaign is removed, and so are the service's words.",
    scenario: scenario({
      config: config({ isNotified: true }),
      lanes: [lane({ settings: { maxRecipientsPerRequest: 2 } })],
      campaigns: [campaign({ recipients: 2 }), campaign({ committedAt: 3 * 3_600_000 }, 1)],
    }),
    script(stage) {
      stage.fates('send', { status: 'Queued' });
      stage.fates('poll', ...Array.from({ length: 20 }, () => ({ status: 'Queued' })));
    },
    bug: {
      name: "a removal takes the service's words for records of requests",
      invariant: 0,
      why: 'each sweep of the lane fails',
      parts: {
        sweep: (lane, options, alive) => {
          const { redis, keys } = options;
          const removeCampaign: typeof options.removeCampaign = async (of, id) => {
            for (const text of await redis.hvals(recordsKey(keys, of, id, 0))) parseRecord(text);
            await options.removeCampaign(of, id);
          };
          return sweepLane(lane, { ...options, removeCampaign }, alive);
        },
      },
    },
  },
];
