import { campaign, lane, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

/** Worlds in which campaigns of one lane wait for each other. */
export const ORDER_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'released-again-and-again',
    seeds: [687, 1133],
    about:
      'A campaign has sent ten requests when another one with a single recipient begins. From then on, no connection to the service comes about.',
    scenario: scenario({
      lanes: [lane({ settings: { hourlyQuota: 10 } })],
      campaigns: [campaign({ recipients: 40 }), campaign({ committedAt: 30_000 }, 1)],
      chaosMs: 60_000,
    }),
    script(stage) {
      stage.fates('send', ...Array.from({ length: 10 }, () => ({})));
      stage.fates('send', ...Array.from({ length: 40 }, () => ({ kind: 'refused' as const })));
    },
    bug: {
      name: 'a campaign whose request is released returns with a head start',
      invariant: 9,
      why: 'the same request takes every turn of the lane',
      lua: [
        {
          file: 'engine/store/released.lua',
          from: "'NX', string.format('%.17g', lane.virtualTime + 1 / c.weight), id)",
          to: "'NX', math.max(0, lane.virtualTime - POLICY.HEAD_START), id)",
        },
      ],
    },
  },
];
