import { sendTurn } from '../../../src/engine/sending/send.js';
import type { Mutant } from './mutant.js';

/** Bugs which send a batch twice that may have been accepted, or take back what was. */
export const BATCH_MUTANTS: readonly Mutant[] = [
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
        from: "if claim.again and (claim.again == 'underCorrelator' or claim.count == 1 or c.remainder ~= 'planned') then",
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
        from: 'local range = { first = claim.first, count = claim.count, again = claim.again }',
        to: 'local range = { first = claim.first, count = claim.count }',
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
        file: 'engine/store/released.lua',
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
    name: 'a claim has the timeout of the process that reads it',
    invariant: 2,
    why: 'a batch is sent again while the request of a process with a longer timeout may still arrive',
    lua: [
      {
        file: 'engine/store/stored-claim.lua',
        from: 'if claim.timeout then return claim.timeout, claim.margin end',
        to: 'if claim.timeout then return rules.timeout, rules.margin end',
      },
      {
        file: 'engine/store/stored-claim.lua',
        from: 'claim.at + (claim.timeout or rules.timeout) + (claim.margin or rules.margin)',
        to: 'claim.at + rules.timeout + rules.margin',
      },
    ],
  },
];
