import type { Mutant } from './mutant.js';

/** Bugs which let requests exceed the quota. */
export const QUOTA_MUTANTS: readonly Mutant[] = [
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
];
