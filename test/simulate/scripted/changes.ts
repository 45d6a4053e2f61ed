import { campaign, lane, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

/** Requests carry correlators, which the service remembers for 10 min. */
const CORRELATED = lane({ settings: { clientCorrelator: { deduplicatesForMs: 600_000 } } });

/** Worlds in which an operator changes the text of a campaign. */
export const CHANGE_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'changed-between-claim-and-request',
    about:
      'A process is stopped when it has claimed. The campaign gets another text, which is confirmed before the process goes on.',
    scenario: scenario({ campaigns: [campaign({ recipients: 3 })] }),
    script(stage) {
      stage.after('p1', 'claim-send', () => {
        stage.faults.stop(stage.process('p1'), 4_000, []);
        stage.in(10, () => stage.change('c00'));
      });
    },
    bug: {
      name: 'the revision of a claim is not checked right before its request',
      invariant: 13,
      why: 'a recipient gets the earlier text after the change was confirmed',
      lua: [
        {
          file: 'engine/claim/confirm-claim.lua',
          from: 'local isCurrent = claim.again or c and',
          to: 'local isCurrent = true or claim.again or c and',
        },
      ],
    },
  },
  {
    name: 'changed-before-a-repeat',
    about:
      'The service accepts a request, and its response is lost. The campaign gets another text before the request is repeated under its correlator.',
    scenario: scenario({ lanes: [CORRELATED], campaigns: [campaign({ recipients: 3 })] }),
    script(stage) {
      stage.fates('send', { kind: 'silence' });
      stage.at(1_000, () => stage.change('c00'));
    },
    bug: {
      name: 'a repeat has the text of now',
      invariant: 13,
      why: 'it is another request under the correlator of the first',
      lua: [
        {
          file: 'engine/store/ranges.lua',
          from: 'if range and not range.again then range.edition',
          to: 'if range then range.edition',
        },
      ],
    },
  },
];
