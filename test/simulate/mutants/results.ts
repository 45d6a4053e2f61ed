import type { Mutant } from './mutant.js';

/** Bugs in the log of results. */
export const RESULT_MUTANTS: readonly Mutant[] = [
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
];
