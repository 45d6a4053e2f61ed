import type { Mutant } from './mutant.js';

/** Bugs in the messages of an outbox. */
export const OUTBOX_MUTANTS: readonly Mutant[] = [
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
        file: 'engine/store/unsent.lua',
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
        from: 'm.state = OUTBOX.SENDING\n  OUTBOX.change(c, m)\n  return OUTBOX.range(c, m)',
        to: 'return OUTBOX.range(c, m)',
      },
    ],
  },
  {
    name: 'a message that lapses is not counted',
    invariant: 4,
    why: 'it is in no count of its outbox',
    lua: [
      {
        file: 'engine/store/unsent.lua',
        from: "campaign_move(c, 'planned', state, 1, m.number)",
        to: "if state == 'cancelled' then campaign_move(c, 'planned', state, 1, m.number) else results.note(c, results.LIST.recipients, m.number, 1) end",
      },
    ],
  },
];
