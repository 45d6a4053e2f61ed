import { campaign, lane, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

/** Worlds in which recipients send stop words while their campaign is sent. */
export const STOP_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'stop-while-sending',
    about: 'A recipient sends STOP after the first requests of its campaign, and before its own is claimed.',
    scenario: scenario({
      lanes: [lane({ settings: { hourlyQuota: 10 } })],
      campaigns: [campaign({ recipients: 14 })],
    }),
    script(stage) {
      stage.at(5_000, () => stage.stop('c00', 13));
    },
    bug: {
      name: 'rendering does not check suppression',
      invariant: 14,
      why: 'a number that has sent STOP before its request was claimed gets a message',
      lua: [
        {
          file: 'engine/recipients/check-suppressed.lua',
          from: 'local isSuppressed = onAll[i] or onLane[i]',
          to: 'local isSuppressed = false',
        },
      ],
    },
  },
];
