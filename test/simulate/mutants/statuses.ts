import { openReceiver } from '../../../src/engine/notifications/receiver.js';
import type { Mutant } from './mutant.js';

/** Bugs in states, counts, and delivery reports. */
export const STATUS_MUTANTS: readonly Mutant[] = [
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
];
