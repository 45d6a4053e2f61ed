import { followUpTurn } from '../../src/follow-up/follow-up.js';
import { createInbox } from '../../src/notifications/inbox.js';
import { openCallbacks } from '../../src/notifications/receiver.js';
import { sweepLane } from '../../src/recovery/sweep.js';
import { sendTurn } from '../../src/sending/send.js';
import type { Parts } from './process.js';
import type { LuaChange } from './scripts.js';

/** A bug planted on purpose. The simulation must see it, and as a violation of this invariant. */
export interface Mutant {
  readonly name: string;
  /** By its number in violation.ts. */
  readonly invariant: number;
  /** What the bug does, that only this invariant forbids. */
  readonly why: string;
  /** The seed to begin with, so that it is soon seen; default: 0. */
  readonly from?: number;
  /** Texts of the scripts; one that is not there any more is an error. */
  readonly lua?: readonly LuaChange[];
  /** Parts of the pipeline. */
  readonly parts?: Partial<Parts>;
}

/** Matching that does not know which ids belong to the lane's own requests. */
const everAccepted = async (): Promise<ReadonlySet<string>> => new Set();

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'polls take no permits',
    invariant: 1,
    why: 'sends fill the window, and polls come on top',
    lua: [
      {
        file: 'lane/gate.lua',
        from: 'local used = lane.sends + lane.polls + inFlight.send + inFlight.poll',
        to: 'local used = lane.sends + inFlight.send',
      },
    ],
  },
  {
    name: 'what is in flight takes no permits',
    invariant: 1,
    why: 'a burst may be claimed twice before the first of it is answered',
    lua: [
      {
        file: 'lane/gate.lua',
        from: 'local used = lane.sends + lane.polls + inFlight.send + inFlight.poll',
        to: 'local used = lane.sends + lane.polls',
      },
    ],
  },
  {
    name: 'what nobody knows is sent again',
    invariant: 2,
    why: 'a request without an answer may have been accepted',
    lua: [
      {
        file: 'sending/settle-send.lua',
        from: 'if rules.deduplicates and',
        to: 'if true or rules.deduplicates and',
      },
    ],
  },
  {
    name: 'a claim is given back before it is sent',
    invariant: 3,
    why: 'what leaves has no claim, and nobody would know of it',
    parts: {
      send: (stage, lane, ...rest) => {
        const send: typeof lane.claims.send = async (call) => {
          const reply = await lane.claims.send(call);
          const entries = reply.claims.map((claim) => ({ claim, as: 'unsent' }) as const);
          if (entries.length > 0) await lane.settlements.send(entries, 0);
          return reply;
        };
        return sendTurn(stage, { ...lane, claims: { ...lane.claims, send } }, ...rest);
      },
    },
  },
  {
    name: 'a final status moves no count',
    invariant: 4,
    why: 'the bytes say more are delivered than the counts',
    lua: [
      {
        file: 'lane/settle.lua',
        from: 'campaign_move(c, STATE_OF[old], STATE_OF[new], 1)',
        to: 'if false then campaign_move(c, STATE_OF[old], STATE_OF[new], 1) end',
      },
    ],
  },
  {
    name: 'a notification needs no token',
    invariant: 4,
    why: 'whoever has found the address tells of deliveries that never were',
    parts: {
      callbacks: (options) => openCallbacks({ ...options, callback: { ...options.callback, proof: 'path' } }),
    },
  },
  {
    name: 'what comes late is taken for what nobody knows',
    from: 1400,
    invariant: 4,
    why: 'a batch that was never accepted is said to be an earlier request to the same people',
    parts: {
      inbox: (lane, options) =>
        createInbox(lane, { ...options, matches: { ...options.matches, everAccepted } }),
      followUp: (stage, ...rest) =>
        followUpTurn({ ...stage, matches: { ...stage.matches, everAccepted } }, ...rest),
    },
  },
  {
    name: 'a campaign is completed without its reports',
    invariant: 4,
    why: 'completed is only what has nothing open',
    lua: [
      {
        file: 'lane/campaign.lua',
        from: "local OPEN = { 'planned', 'sending', 'unknown', 'deliveredToNetwork' }",
        to: "local OPEN = { 'planned', 'sending', 'unknown' }",
      },
    ],
  },
  {
    name: 'the last report wins',
    from: 120,
    invariant: 5,
    why: 'a report that contradicts a final status is applied',
    lua: [
      {
        file: 'lane/settle.lua',
        from: "if old == 'N' or old == 'C' then",
        to: "if FINAL[old] or old == 'N' or old == 'C' then",
      },
    ],
  },
  {
    name: 'a refused login does not stop the account',
    from: 25,
    invariant: 6,
    why: 'a wrong password is presented a third time',
    lua: [
      {
        file: 'auth/login-attempt.lua',
        from: '(mine or late) and counted() >= limit',
        to: '(mine or late) and counted() > limit',
      },
    ],
  },
  {
    name: 'allProcesses probes',
    from: 100,
    invariant: 7,
    why: 'after a pause all that wait go at once',
    lua: [
      {
        file: 'lane/gate.lua',
        from: "if now < lane.probeUntil then return 'probing', lane.probeUntil end",
        to: '',
      },
    ],
  },
  {
    name: 'a pause holds nobody',
    from: 130,
    invariant: 7,
    why: 'requests go on after a 429',
    lua: [
      {
        file: 'lane/gate.lua',
        from: 'if now < lane.pausedUntil then return lane.paused, lane.pausedUntil end',
        to: '',
      },
    ],
  },
  {
    name: 'a claim of a paused campaign stands',
    from: 25,
    invariant: 8,
    why: 'a process that was stopped sends after pause has returned',
    lua: [
      {
        file: 'lane/confirm-claim.lua',
        from: "return state and cjson.decode(state).s == 'running' and 1 or 0",
        to: 'return state and 1 or 0',
      },
    ],
  },
  {
    name: 'a paused campaign is claimed from',
    from: 160,
    invariant: 8,
    why: 'an answer that comes after the pause puts it back into the order',
    lua: [
      {
        file: 'lane/campaign.lua',
        from: "return c.s == 'running' and c.rest == 'planned'",
        to: "return c.rest == 'planned'",
      },
    ],
  },
  {
    name: 'who was served most is served next',
    from: 25,
    invariant: 9,
    why: 'a small campaign waits for all of a huge one',
    lua: [
      {
        file: 'sending/claim-send.lua',
        from: 'virtual[candidate] < virtual[id]',
        to: 'virtual[candidate] > virtual[id]',
      },
    ],
  },
  {
    name: 'what was refused before an operator opened the lane stops it again',
    from: 60,
    invariant: 9,
    why: 'answers that were still out undo what he has mended',
    lua: [{ file: 'lane/gate.lua', from: 'if epoch < lane.opened then return false end', to: '' }],
  },
  {
    name: 'a word to stop the lane asks for no epoch',
    from: 60,
    invariant: 9,
    why: 'one that comes late undoes what an operator has mended',
    lua: [
      {
        file: 'lane/command-lane.lua',
        from: 'if not gate_stopped(lane, epoch, reason) then return 0 end',
        to: 'lane.stopped = reason',
      },
    ],
  },
  {
    name: 'a turn whose key is refused stops the lane by itself',
    from: 125,
    invariant: 9,
    why: 'it does not know that an operator has opened the lane since its request was claimed',
    parts: {
      send: (stage, lane, tokenSource, ...rest) => {
        const replaceRefused: typeof tokenSource.replaceRefused = async (generation) => {
          const outcome = await tokenSource.replaceRefused(generation);
          const { epoch } = await lane.views.look();
          if (outcome.kind === 'stopped') await lane.commands.stop(outcome.reason, epoch);
          return outcome;
        };
        return sendTurn(stage, lane, { ...tokenSource, replaceRefused }, ...rest);
      },
    },
  },
  {
    name: 'what shows that a lane is mended is not believed',
    from: 30,
    invariant: 9,
    why: 'it is tried with one request at a time for ever',
    lua: [
      {
        file: 'lane/gate.lua',
        from: 'if claim.e >= lane.opened then lane.unproven = 0 end',
        to: '',
      },
    ],
  },
  {
    name: 'a lane that had been stopped is not tried first',
    from: 20,
    invariant: 7,
    why: 'a whole portion is refused where nothing was mended',
    lua: [
      {
        file: 'lane/gate.lua',
        from: 'if lane.unproven == 0 then return',
        to: 'if true then return',
      },
    ],
  },
  {
    name: 'what is past its retention stays',
    invariant: 10,
    why: 'data that nobody needs any more',
    parts: {
      sweep: (lane, options, alive) => sweepLane(lane, { ...options, removeCampaign: async () => {} }, alive),
    },
  },
];
