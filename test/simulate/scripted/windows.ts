import { sendTurn } from '../../../src/engine/sending/send.js';
import { START } from '../server.js';
import { campaign, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

const RULE = 'window of c00';
const ALWAYS = Number.MAX_SAFE_INTEGER;

/** Worlds in which campaigns may send only in a window. */
export const WINDOW_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'stopped-as-the-window-closes',
    about: 'A process is stopped with a claim, and goes on after the window of the campaign has closed.',
    scenario: scenario({
      campaigns: [campaign({ window: RULE })],
      windows: new Map([
        [
          RULE,
          [
            { from: START, until: START + 1_000 },
            { from: START + 5_000, until: ALWAYS },
          ],
        ],
      ]),
    }),
    script(stage) {
      stage.after('p1', 'claim-send', () => stage.faults.stop(stage.process('p1'), 1_500, []));
    },
    bug: {
      name: 'a request may leave after its window has closed',
      invariant: 12,
      why: 'a process that is slow, or suspended, sends outside the window',
      parts: {
        send: (lane, sending, options) => {
          const { claims } = sending;
          const take: typeof claims.take = async (call) => {
            const reply = await claims.take(call);
            const withoutDeadline = reply.claims.map((claim) => {
              const { leaveWithinMs: _, ...rest } = claim;
              return claim.again === 'underCorrelator' ? claim : rest;
            });
            return { ...reply, claims: withoutDeadline };
          };
          return sendTurn(lane, { ...sending, claims: { ...claims, take } }, options);
        },
      },
    },
  },
];
