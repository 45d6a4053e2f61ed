import { sendTurn } from '../../../src/engine/sending/send.js';
import { accountLane, campaign, config, scenario } from './scenario.js';
import type { ScriptedWorld } from './scripted-world.js';

/** Worlds in which tokens expire and are refused. */
export const CREDENTIAL_WORLDS: readonly ScriptedWorld[] = [
  {
    name: 'refused-token-while-waiting',
    about:
      'The service refuses an expired token. Until the next permit, the lane is woken twice more. Only the next request renews the token.',
    scenario: scenario({
      config: config({ windowMs: 3_600_000 }),
      lanes: [accountLane({ settings: { hourlyQuota: 1 } })],
      campaigns: [
        campaign({ recipients: 3 }),
        campaign({ committedAt: 8_000_000 }, 1),
        campaign({ committedAt: 9_000_000 }, 2),
      ],
    }),
    bug: {
      name: 'a lane that waits for permits renews a refused token in every turn',
      invariant: 6,
      why: 'the account service sees a refresh for each turn',
      parts: {
        send: (lane, sending, options) => {
          const { tokens } = sending;
          return sendTurn(lane, { ...sending, tokens: { ...tokens, get: tokens.getForRequest } }, options);
        },
      },
    },
  },
  {
    name: 'late-stop',
    about:
      'A process finds its account refused. Its command to stop the lane reaches Redis after an operator has fixed the account and resumed the lane.',
    scenario: scenario({
      lanes: [accountLane({ tokenLifeMs: 20_000 })],
      campaigns: [campaign(), campaign({ committedAt: 25_000 }, 1)],
      chaosMs: 60_000,
      refusal: { lane: 'lane0', at: 21_000, rounds: 1, status: 401 },
    }),
    bug: {
      name: 'a command to stop the lane ignores the epoch',
      invariant: 9,
      why: 'a late command undoes the fix of an operator',
      lua: [
        {
          file: 'engine/lane/command-lane.lua',
          from: 'if not gate_stopped(lane, epoch, reason) then return 0 end',
          to: 'lane.stopped = reason',
        },
      ],
    },
  },
];
