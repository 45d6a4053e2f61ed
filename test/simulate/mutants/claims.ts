import { sendTurn } from '../../../src/engine/sending/send.js';
import type { Mutant } from './mutant.js';

/** Bugs which send without a claim, or for a campaign that is paused. */
export const CLAIM_MUTANTS: readonly Mutant[] = [
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
];
