import { campaign, lane, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

/** Worlds in which permits return. */
export const QUOTA_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'late-arrival',
    seeds: [3180],
    about:
      'The connection breaks while a request is under way, and the request arrives after most of its timeout. Its permit returns a window after that.',
    scenario: scenario({
      lanes: [lane({ settings: { hourlyQuota: 1 } })],
      campaigns: [campaign(), campaign({}, 1)],
    }),
    script(stage) {
      stage.fates('send', { kind: 'overtaken', arrivesInMs: 4_990 });
    },
    bug: {
      name: 'a request without a response counts from when its process gave up',
      invariant: 1,
      why: 'its permit returns before the window in which it arrived has passed',
      lua: [
        {
          file: 'engine/quota/ledger.lua',
          from: 'return now + math.min(timeout, AHEAD * LEDGER.width(rules))',
          to: 'return now',
        },
      ],
    },
  },
];
