import { openReceiver } from '../../../src/engine/notifications/receiver.js';
import { sweepLane } from '../../../src/engine/recovery/sweep.js';
import { sendTurn } from '../../../src/engine/sending/send.js';
import type { Parts } from '../process/process.js';
import type { LuaChange } from '../server/scripts.js';

/** A bug planted on purpose. The simulation must catch it as a violation of this invariant. */
export interface Mutant {
  readonly name: string;
  /** The number of the invariant, see violation.ts. */
  readonly invariant: number;
  /** The wrong behaviour that the bug causes. */
  readonly why: string;
  /** The first seed to run, chosen so that the bug shows early; default: 0. */
  readonly from?: number;
  /** Changes to the Lua scripts. A text that is no longer in its script is an error. */
  readonly lua?: readonly LuaChange[];
  /** Replaced parts of the TypeScript code. */
  readonly parts?: Partial<Parts>;
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'polls take no permits',
    invariant: 1,
    why: 'sends use up the quota, and polls exceed it',
    lua: [
      {
        file: 'engine/quota/permits.lua',
        from: 'local used = lane.sends + lane.polls + inFlight.send + inFlight.poll',
        to: 'local used = lane.sends + inFlight.send',
      },
    ],
  },
  {
    name: 'requests in flight take no permits',
    invariant: 1,
    why: 'the quota can be claimed twice before the first response arrives',
    lua: [
      {
        file: 'engine/quota/permits.lua',
        from: 'local used = lane.sends + lane.polls + inFlight.send + inFlight.poll',
        to: 'local used = lane.sends + lane.polls',
      },
    ],
  },
  {
    name: 'a request with an unknown outcome is sent again',
    invariant: 2,
    why: 'the service may have accepted a request that got no response',
    lua: [
      {
        file: 'engine/sending/settle-send.lua',
        from: "if isRepeatable and c.remainder == 'planned' then",
        to: 'if true then return release_range(c, claim, statuses, { first = claim.first, count = claim.count }) elseif false then',
      },
    ],
  },
  {
    name: 'a refused repeat counts as a refusal of the recipients',
    from: 475,
    invariant: 4,
    why: 'the service refused only the correlator, which it knew: it has accepted the first request',
    lua: [
      {
        file: 'engine/sending/settle-send.lua',
        from: "if claim.again == 'underCorrelator' or (claim.again and claim.count == 1) then",
        to: "if claim.again == 'underCorrelator' then claim.again = nil end if false then",
      },
    ],
  },
  {
    name: 'a repeat that is not accepted is sent again as if it were new',
    invariant: 4,
    why: 'it is cancelled or lapses, although the service has accepted its first request',
    lua: [
      {
        file: 'engine/sending/settle-send.lua',
        from: "if claim.again == 'underCorrelator' then\n    return remain_unknown_after_repeat",
        to: "if claim.again == 'underCorrelator' then claim.again = nil elseif false then\n    return remain_unknown_after_repeat",
      },
    ],
  },
  {
    name: 'a correlator names the claim instead of the batch',
    from: 30,
    invariant: 2,
    why: 'the service does not recognise a repeat and sends the messages again',
    parts: {
      send: (lane, sending, options) => {
        const render: typeof sending.messages.render = async (claims) => {
          const rendered = await sending.messages.render(claims);
          return rendered.map((message, at) => {
            if (message instanceof Error || message.clientCorrelator === undefined) return message;
            return { ...message, clientCorrelator: `${message.clientCorrelator}-${claims[at]?.number}` };
          });
        };
        return sendTurn(lane, { ...sending, messages: { ...sending.messages, render } }, options);
      },
    },
  },
  {
    name: 'a batch is repeated under its correlator at any age',
    from: 60,
    invariant: 2,
    why: 'the service has forgotten the correlator and sends the messages again',
    lua: [
      {
        file: 'engine/store/campaign.lua',
        from: 'return firstAt <= now and now < firstAt + rules.repeatFor',
        to: 'return rules.repeatFor > 0',
      },
    ],
    parts: {
      send: (lane, sending, options) => {
        const { claims } = sending;
        const take: typeof claims.take = async (call) => {
          const reply = await claims.take(call);
          return { ...reply, claims: reply.claims.map(({ leaveWithinMs: _, ...claim }) => claim) };
        };
        return sendTurn(lane, { ...sending, claims: { ...claims, take } }, options);
      },
    },
  },
  {
    name: 'the window of the lane is ignored',
    from: 30,
    invariant: 12,
    why: 'campaigns without a window of their own send at any time',
    lua: [
      {
        file: 'engine/store/window.lua',
        from: 'if not rule then return nil end',
        to: "if not rule or string.find(rule, 'lane', 1, true) then return nil end",
      },
    ],
  },
  {
    name: 'a recipient is claimed while the window of its zone is closed',
    invariant: 12,
    why: 'its request leaves at an hour at which it may not',
    lua: [
      {
        file: 'engine/store/zones.lua',
        from: "return WINDOW.at(ZONES.base .. 'windows', rule, now, isNoted)",
        to: "local closes, _, since = WINDOW.at(ZONES.base .. 'windows', rule, now, isNoted)\n  return closes or now + 60000, nil, since or now",
      },
    ],
  },
  {
    name: 'the age of a claim is measured by the monotonic clock alone',
    from: 45,
    invariant: 8,
    why: 'a machine that was suspended sends after pause has returned',
    parts: {
      startStopwatch: ({ monotonic }) => {
        const at = monotonic();
        return () => monotonic() - at;
      },
    },
  },
  {
    name: 'a step of the clock of Redis is not noticed',
    invariant: 1,
    why: 'permits return early when the clock is set forward',
    lua: [
      {
        file: 'engine/store/record.lua',
        from: 'if unseen > POLICY.CLOCK_STEP_MS or ahead',
        to: 'if ahead',
      },
      {
        file: 'engine/scripts/correct-clock.lua',
        from: 'if unseen > POLICY.CLOCK_STEP_MS then return unseen + 2 * POLICY.CLOCK_STEP_MS end',
        to: '',
      },
    ],
  },
  {
    name: 'a claim has the timeout of the process that reads it',
    invariant: 2,
    why: 'a batch is sent again while the request of a process with a longer timeout may still arrive',
    lua: [
      {
        file: 'engine/store/record.lua',
        from: 'if claim.timeout then return claim.timeout, claim.margin end',
        to: 'if claim.timeout then return rules.timeout, rules.margin end',
      },
      {
        file: 'engine/store/record.lua',
        from: 'claim.at + (claim.timeout or rules.timeout) + (claim.margin or rules.margin)',
        to: 'claim.at + rules.timeout + rules.margin',
      },
    ],
  },
  {
    name: 'a claim is released before its request is sent',
    invariant: 3,
    why: 'the request leaves without a claim in Redis',
    parts: {
      send: (lane, sending, options) => {
        const { claims } = sending;
        const take: typeof claims.take = async (call) => {
          const reply = await claims.take(call);
          const released = reply.claims.map((claim) => ({ claim, result: 'released' }) as const);
          if (released.length > 0) await claims.settle(released);
          return reply;
        };
        return sendTurn(lane, { ...sending, claims: { ...claims, take } }, options);
      },
    },
  },
  {
    name: 'a final status changes no count',
    invariant: 4,
    why: 'the statuses show more delivered recipients than the counts',
    lua: [
      {
        file: 'engine/store/statuses.lua',
        from: 'campaign_move(c, RECIPIENT_STATE[old], RECIPIENT_STATE[new], 1, first + at - 1)',
        to: 'results.note(c, results.LIST.recipients, first + at - 1, 1)',
      },
    ],
  },
  {
    name: 'a notification needs no token',
    from: 65,
    invariant: 4,
    why: 'anyone who knows the callback address can report deliveries that never happened',
    parts: {
      receiver: (options) => openReceiver({ ...options, callback: { ...options.callback, proof: 'path' } }),
    },
  },
  {
    name: 'a campaign is completed before its delivery statuses are final',
    invariant: 4,
    why: 'a completed campaign has only final recipients',
    lua: [
      {
        file: 'engine/store/states.lua',
        from: "local OPEN_STATES = { 'planned', 'sending', 'unknown', 'deliveredToNetwork' }",
        to: "local OPEN_STATES = { 'planned', 'sending', 'unknown' }",
      },
    ],
  },
  {
    name: 'the last report wins',
    from: 15,
    invariant: 5,
    why: 'a delivery status that contradicts a final one is applied',
    lua: [
      {
        file: 'engine/store/statuses.lua',
        from: 'if old == RECIPIENT_LETTER.deliveredToNetwork or (',
        to: 'if (FINAL[old] and FINAL[new]) or old == RECIPIENT_LETTER.deliveredToNetwork or (',
      },
      // The state machine would refuse the move.
      {
        file: 'engine/store/campaign.lua',
        from: 'if not RECIPIENT_MOVES[from][to] then',
        to: 'if false then',
      },
    ],
  },
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
    name: 'a claim of a paused campaign is confirmed',
    from: 40,
    invariant: 8,
    why: 'a process that was suspended sends after pause has returned',
    lua: [
      {
        file: 'engine/claim/confirm-claim.lua',
        from: "return c and c.state == 'running' and isCurrent and 1 or 0",
        to: 'return c and isCurrent and 1 or 0',
      },
    ],
  },
  {
    name: 'batches of a paused campaign are claimed',
    from: 40,
    invariant: 8,
    why: 'a response that arrives after the pause puts the campaign back into the rotation',
    lua: [
      {
        file: 'engine/store/campaign.lua',
        from: "return c.state == 'running' and c.remainder == 'planned'",
        to: "return c.remainder == 'planned'",
      },
    ],
  },
  {
    name: 'the campaign that was served most is served next',
    invariant: 9,
    why: 'a small campaign waits for a huge one to finish',
    lua: [
      {
        file: 'engine/claim/order.lua',
        from: 'order.virtual[candidate] < order.virtual[id]',
        to: 'order.virtual[candidate] > order.virtual[id]',
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
        from: 'if claim.epoch >= lane.openedEpoch then lane.onTrial = 0 end',
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
  {
    name: 'a result is not appended to the log',
    invariant: 11,
    why: 'a platform never learns it',
    lua: [
      {
        file: 'engine/store/results.lua',
        from: "local length = redis.call('APPEND', latestResultsKey, table.concat(entries))",
        to: 'local length = 0',
      },
    ],
  },
  {
    name: 'a result is appended before the state changes',
    invariant: 11,
    why: 'a platform that reads between the two sees a recipient in flight, and never its result',
    lua: [
      {
        file: 'engine/store/campaign.lua',
        from: 'if RESULT_STATES[to] then',
        to: "if to == 'sending' and first then",
      },
      {
        file: 'engine/claim/order.lua',
        from: "campaign_move(c, 'planned', 'sending', range.count)",
        to: "campaign_move(c, 'planned', 'sending', range.count, range.first)",
      },
    ],
  },
  {
    name: 'an entry of the log begins one recipient late',
    invariant: 11,
    why: 'the first recipient of each batch is missing from the feed',
    lua: [
      {
        file: 'engine/store/results.lua',
        from: 'list.number, range[2], range[1]',
        to: 'list.number, range[2] + 1, range[1]',
      },
    ],
  },
  {
    name: 'a campaign stays in the rotation when its window closes',
    from: 25,
    invariant: 12,
    why: 'claims look at every campaign that is closed',
    lua: [
      {
        file: 'engine/claim/order.lua',
        from: 'order.touched[id], order.exhausted[#order.exhausted + 1] = c, id\nend',
        to: 'order.touched[id] = c\nend',
      },
    ],
  },
  {
    name: 'a cancel is acknowledged, but not stored',
    invariant: 13,
    why: 'the message is sent all the same',
    lua: [
      {
        file: 'intake/outbox/messages/cancel-messages.lua',
        from: "if version >= 0 and version < m.version then return 'stale' end",
        to: "if m.state == OUTBOX.WAITING then return 'cancelled' end",
      },
    ],
  },
  {
    name: 'a message that ends while it waits is not in the results',
    invariant: 11,
    why: 'the platform never learns what became of it',
    lua: [
      {
        file: 'engine/store/due-messages.lua',
        from: "campaign_move(c, 'planned', state, 1, m.number)",
        to: 'c.counts.planned, c.counts[state] = c.counts.planned > 1 and c.counts.planned - 1 or nil, (c.counts[state] or 0) + 1',
      },
    ],
  },
  {
    name: 'a message that is claimed still waits',
    invariant: 4,
    why: 'it can still be changed and cancelled, and is sent all the same',
    lua: [
      {
        file: 'engine/store/due-messages.lua',
        from: 'm.state = OUTBOX.SENDING\n        OUTBOX.change(c, m)\n        return range_of(c, m)',
        to: 'return range_of(c, m)',
      },
    ],
  },
  {
    name: 'a message that lapses is not counted',
    invariant: 4,
    why: 'it is in no count of its outbox',
    lua: [
      {
        file: 'engine/store/due-messages.lua',
        from: "campaign_move(c, 'planned', state, 1, m.number)",
        to: "if state == 'cancelled' then campaign_move(c, 'planned', state, 1, m.number) else results.note(c, results.LIST.recipients, m.number, 1) end",
      },
    ],
  },
  {
    name: 'a repeat of a logged message is stored again',
    invariant: 15,
    why: 'a platform gets it twice',
    lua: [
      {
        file: 'engine/inbound/receive-inbound.lua',
        from: 'if known and not pending then return {} end',
        to: 'if known and not pending then known = nil end',
      },
    ],
  },
  {
    name: 'a worker reads the suppression lists of another lane',
    invariant: 14,
    why: 'a stop word has no effect',
    lua: [
      {
        file: 'engine/suppression/check-suppressed.lua',
        from: 'local isSuppressed = onAll[i] or onLane[i]',
        to: 'local isSuppressed = onAll[i]',
      },
    ],
  },
  {
    name: 'campaigns past their retention are not removed',
    invariant: 10,
    why: 'their data stays in Redis',
    parts: {
      sweep: (lane, options, alive) => sweepLane(lane, { ...options, removeCampaign: async () => {} }, alive),
    },
  },
];
