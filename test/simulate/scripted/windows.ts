import { sendTurn } from '../../../src/engine/sending/send.js';
import { START } from '../server/server.js';
import { campaign, lane, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

const RULE = 'window of c00';
const ALWAYS = Number.MAX_SAFE_INTEGER;
const opening = (from: number, until: number) => ({
  from: START + from,
  until: until === ALWAYS ? ALWAYS : START + until,
});

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
  {
    name: 'zones-and-a-killed-process',
    about:
      'A process is killed with claims for one zone of three, of which another closes, and the next one opens, before it is missed. What it claimed is unknown, and sent again only in the hours of its zone.',
    scenario: scenario({
      lanes: [
        lane({ settings: { hourlyQuota: 100, unknownOutcome: { action: 'resend', afterMs: 60_000 } } }),
      ],
      campaigns: [
        campaign({ window: 'hours; recipient', zones: ['east', 'middle', 'west'], recipients: 60 }),
      ],
      windows: new Map([
        ['hours; east', [opening(0, 1_000), opening(90_000, ALWAYS)]],
        ['hours; middle', [opening(500, 3_000), opening(60_000, ALWAYS)]],
        ['hours; west', [opening(2_500, 4_000), opening(120_000, ALWAYS)]],
      ]),
      processes: 3,
    }),
    script(stage) {
      stage.after('p1', 'claim-send', () => stage.faults.kill(stage.process('p1'), 20_000));
      stage.at(2_900, () => stage.faults.stop(stage.process('p2'), 3_000, []));
    },
    bug: {
      name: 'what is released goes again at any hour',
      invariant: 12,
      why: 'its zone may be closed by then',
      lua: [
        {
          file: 'engine/store/open-zones.lua',
          from: 'return hours_at(c, part, now, isNoted)',
          to: 'return now + 60000',
        },
      ],
    },
  },
];
