import type { Mutant } from './mutant.js';

/** Bugs which send outside a window. */
export const WINDOW_MUTANTS: readonly Mutant[] = [
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
        file: 'engine/store/open-zones.lua',
        from: "closes, opens, since = WINDOW.at(ZONES.base .. 'windows', WINDOW.rule_in(c, part[PART.ZONE]), from, isNoted) end",
        to: "closes, opens, since = WINDOW.at(ZONES.base .. 'windows', WINDOW.rule_in(c, part[PART.ZONE]), from, isNoted) end\n  if opens then closes, opens, since = now + 60000, nil, now end",
      },
    ],
  },
  {
    name: 'a recipient is claimed before its time',
    invariant: 12,
    why: 'its request leaves too early',
    lua: [
      {
        file: 'engine/store/open-zones.lua',
        from: 'local at = part[PART.AT] or 0',
        to: 'local at = 0',
      },
    ],
  },
];
