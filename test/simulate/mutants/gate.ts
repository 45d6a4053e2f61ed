import { sendTurn } from '../../../src/engine/sending/send.js';
import type { Mutant } from './mutant.js';

/** Bugs in the gate of a lane, and in what stops and resumes it. */
export const GATE_MUTANTS: readonly Mutant[] = [
  {
    name: 'a refused login does not stop the account',
    invariant: 6,
    why: 'a wrong password is tried a third time',
    lua: [
      {
        file: 'service/auth/login-attempt.lua',
        from: "if numberOf('counted') >= rules.limit then stop(code, detail) end",
        to: "if numberOf('counted') > rules.limit then stop(code, detail) end",
      },
    ],
  },
  {
    name: 'a pause stops no requests',
    from: 10,
    invariant: 7,
    why: 'requests continue after a 429',
    lua: [
      {
        file: 'engine/store/closed.lua',
        from: 'recovering = true, throttled = true, unreachable = true },',
        to: 'recovering = true },',
      },
    ],
  },
  {
    name: 'a refusal from before an operator resumed the lane stops it again',
    from: 120,
    invariant: 9,
    why: 'responses that were still on their way undo the fix',
    lua: [
      { file: 'engine/quota/gate.lua', from: 'if epoch < lane.openedEpoch then return false end', to: '' },
    ],
  },
  {
    name: 'a turn whose credentials are refused stops the lane directly',
    from: 80,
    invariant: 9,
    why: 'it does not know that an operator has resumed the lane since its request was claimed',
    parts: {
      send: (lane, sending, options) => {
        const { tokens } = sending;
        const replaceRefused: typeof tokens.replaceRefused = async (generation) => {
          const outcome = await tokens.replaceRefused(generation);
          const { epoch } = await lane.freshStatus();
          if (outcome.kind === 'stopped') await lane.commands.stop(outcome.reason, epoch);
          return outcome;
        };
        return sendTurn(lane, { ...sending, tokens: { ...tokens, replaceRefused } }, options);
      },
    },
  },
  {
    name: 'a successful response does not prove a resumed lane',
    invariant: 9,
    why: 'the lane keeps sending one request at a time',
    lua: [
      {
        file: 'engine/quota/gate.lua',
        from: 'if claim.epoch >= lane.openedEpoch and not gate_sends_fail(lane) then lane.onTrial = 0 end',
        to: '',
      },
    ],
  },
  {
    name: 'a resumed lane does not start with a single request',
    invariant: 7,
    why: 'many requests are refused if nothing was fixed',
    lua: [
      {
        file: 'engine/quota/permits.lua',
        from: 'if lane.onTrial == 0 then return',
        to: 'if true then return',
      },
    ],
  },
];
