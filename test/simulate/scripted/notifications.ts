import { followUpTurn } from '../../../src/engine/follow-up/follow-up.js';
import { createInbox } from '../../../src/engine/notifications/inbox.js';
import { campaign, config, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

/** Matching that does not know which ids belong to the lane's own requests. */
const everAccepted = async (): Promise<ReadonlySet<string>> => new Set();

/** Worlds in which the service sends notifications. */
export const NOTIFICATION_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'early-report',
    about:
      'Two campaigns text one number. The first request is reported before its response comes. The second is never accepted, and its outcome unknown.',
    scenario: scenario({
      config: config({ isNotified: true }),
      campaigns: [campaign(), campaign({ id: 'c01' })],
      notifications: { loss: 0, areLate: false, isAmbiguous: true },
    }),
    script(stage) {
      stage.fates('send', { returnsInMs: 1_000 }, { kind: 'reset', arrivesInMs: 200 });
    },
    bug: {
      name: 'a late notification is matched to a batch with an unknown outcome',
      invariant: 4,
      why: 'a batch that was never accepted is recorded as an earlier request to the same recipients',
      parts: {
        inbox: (lane, options) =>
          createInbox(lane, { ...options, matches: { ...options.matches, everAccepted } }),
        followUp: (lane, followUp, options) =>
          followUpTurn(lane, { ...followUp, matches: { ...followUp.matches, everAccepted } }, options),
      },
    },
  },
];
