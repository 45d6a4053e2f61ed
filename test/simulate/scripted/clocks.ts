import { campaign, lane, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

/** Worlds in which the clock of Redis is set. */
export const CLOCK_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'clock-corrected-twice',
    about:
      'The clock is set back, which only p2 notices, and then forward, which only p1 notices. p1 compares it with the time before both.',
    scenario: scenario({
      lanes: [lane({ settings: { hourlyQuota: 1 } })],
      campaigns: [campaign(), campaign({ committedAt: 6_728 }, 1)],
      chaosMs: 4_000,
    }),
    script(stage) {
      stage.fates('send', { response: 500 });
      stage.at(871, () => stage.faults.setClock(-19_849, ({ name }) => (name === 'p2' ? 700 : undefined)));
      stage.at(1_696, () =>
        stage.faults.setClock(1_633_065, ({ name }) => (name === 'p1' ? 100 : undefined)),
      );
    },
    bug: {
      name: 'a process does not know that it may have missed a step back',
      invariant: 1,
      why: 'it moves the lane by too little, and a permit returns early',
      lua: [
        {
          file: 'engine/lane/record.lua',
          from: 'local mayHaveMissed = lane.agreedAt < since and since <= lane.setBackFrom',
          to: 'local mayHaveMissed = false',
        },
      ],
    },
  },
];
