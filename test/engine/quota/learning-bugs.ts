import {
  emptiesATokenBucket,
  followsARaisedQuota,
  followsARaisedQuotaSlowly,
  learnsAnHourlyQuota,
  learnsAShortWindow,
  learnsNothingFromStrays,
  type Place,
  showsWhatIsKnown,
  survivesAnotherCause,
} from './learning-runs.js';

/** A bug planted on purpose in how a quota is learned: a replacement of some text in the Lua scripts. */
export interface LearningBug {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  /** A run that shows it. */
  readonly run: (place: Place) => Promise<void>;
  /** What the run says about it. */
  readonly caughtAs: string;
}

/** The bugs that the runs of learning lanes must catch. */
export const LEARNING_BUGS: readonly LearningBug[] = [
  {
    name: 'one stray 429 teaches a limit',
    from: 'if held <= 0 or (isFew and not isAgreed and lane.doubts <= POLICY.DOUBTS) then return end',
    to: 'if held <= 0 then return end',
    run: (place) => learnsNothingFromStrays(place, 5),
    caughtAs: 'what a stray 429 teaches',
  },
  {
    name: 'two stray 429s agree, although the service accepted more between them',
    from: 'if held > lane.suspected and not LIMIT.is_close(held, lane.suspected) then lane.suspected = 0 end',
    to: '',
    run: (place) => learnsNothingFromStrays(place, 5),
    caughtAs: 'what a stray 429 teaches',
  },
  {
    name: 'a trial does not end when two windows agree',
    from: 'lane.trial = isAgreed and 0 or lane.learned',
    to: 'lane.trial = lane.learned',
    run: showsWhatIsKnown,
    caughtAs: 'what is known after one window, and after two',
  },
  {
    name: 'a limit on trial counts as known',
    from: 'return lane.trial > 0 and lane.trial < POLICY.ENOUGH_TO_LEARN_FROM and 0 or lane.learned',
    to: 'return lane.learned',
    run: showsWhatIsKnown,
    caughtAs: 'what is known after one window, and after two',
  },
  {
    name: 'a limit on trial is not put to the test',
    from: 'if lane.trial > 0 then LIMIT.test(windowKey, lane, rules, now) end',
    to: '',
    run: (place) => survivesAnotherCause(place, 25),
    caughtAs: 'accepted in three windows',
  },
  {
    name: 'a learned limit is never raised',
    from: 'lane.learned + math.max(1, math.floor(lane.learned * part)), lane.raises + 1',
    to: 'lane.learned, lane.raises + 1',
    run: (place) => followsARaisedQuota(place, 'sliding'),
    caughtAs: 'accepted in the last window',
  },
  {
    name: 'a learned limit is raised by as little after each window',
    from: 'POLICY.RAISE * 2 ^ lane.raises',
    to: 'POLICY.RAISE',
    run: (place) => followsARaisedQuota(place, 'sliding'),
    caughtAs: 'accepted in the last window',
  },
  {
    name: 'a 429 does not lower the limit',
    from: 'return math.max(1, math.min(lane.learned - 1, used))',
    to: 'return lane.learned',
    run: (place) => learnsAnHourlyQuota(place, 'sliding', 30),
    caughtAs: 'mean refusals in later windows',
  },
  {
    name: 'many requests are in flight close to the limit',
    from: 'return math.floor(lane.certain * (1 - POLICY.SINGLE_BEFORE))',
    to: 'return 2 * lane.learned',
    run: (place) => learnsAShortWindow(place, 'bucket', 100),
    caughtAs: 'mean refusals in later windows',
  },
  {
    name: 'what was learned counts as certain',
    from: 'math.min(lane.learned, mean)',
    to: 'lane.learned',
    run: (place) => learnsAShortWindow(place, 'clock', 100, 1),
    caughtAs: 'mean refusals in later windows',
  },
  {
    name: 'what a token bucket has saved counts as certain',
    from: 'math.floor(used * rules.window / (rules.window + span))',
    to: 'used',
    run: (place) => learnsAShortWindow(place, 'bucket', 100),
    caughtAs: 'mean refusals in later windows',
  },
  {
    name: 'the limit is raised after a third of a window',
    from: 'and 1 - POLICY.WINDOW_TOLERANCE or 1 + POLICY.WINDOW_TOLERANCE',
    to: 'and 0.3 or 0.3',
    run: (place) => learnsAShortWindow(place, 'clock', 100, 1),
    caughtAs: 'mean refusals in later windows',
  },
  {
    name: 'a second 429 within a window lowers the limit by no more than the first',
    from: 'if now - lane.watchedFrom < rules.window and span > POLICY.CLOSE * rules.window then',
    to: 'if false then',
    run: emptiesATokenBucket,
    caughtAs: 'refusals ahead of one per window',
  },
  {
    name: 'a lane that sends one request at a time never sends more',
    from: 'lane.extraInFlight, lane.likely = lane.extraInFlight + 1,',
    to: 'lane.extraInFlight, lane.likely = lane.extraInFlight,',
    run: (place) => followsARaisedQuotaSlowly(place, 'sliding'),
    caughtAs: 'accepted in the best window',
  },
];
