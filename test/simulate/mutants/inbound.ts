import type { Mutant } from './mutant.js';

/** Bugs in the replies of people. */
export const INBOUND_MUTANTS: readonly Mutant[] = [
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
];
