import type { Mutant } from './mutant.js';

/** Bugs in the fair order of campaigns. */
export const ORDER_MUTANTS: readonly Mutant[] = [
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
];
