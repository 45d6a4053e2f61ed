import type { LaneStatusRecord } from '../../src/engine/lane/lane-status.js';
import type { StoredState } from '../../src/engine/store/campaigns.js';
import { campaignStatus } from '../../src/reporting/status.js';
import { RULES, runningState, START } from '../engine/lane/lane-fixture.js';
import { draft } from '../scene/draft.js';

/** A lane that is open, and has sent nothing. */
export const OPEN: LaneStatusRecord = {
  now: START,
  sends: 0,
  polls: 0,
  inFlightSends: 0,
  inFlightPolls: 0,
  limit: 100,
  learned: null,
  nextPermitAt: 0,
  nextPermits: 0,
  keptForPolls: 0,
  window: 3_600_000,
  width: 9_375,
  ahead: 393_750,
  buckets: [],
  perMinute: [0, 0, 0, 0, 0],
  permitsToCome: [],
  closed: [],
  throttled: 0,
  epoch: 0,
  running: 1,
  scheduled: 0,
  waiting: 0,
  awaiting: 0,
  unknown: 0,
  sendAt: 0,
  pollAt: -1,
  sendBlocked: '',
  pollBlocked: '',
  latency: 100,
  losses: 0,
  pollDueAt: 0,
  closedMs: 0,
  failures: [],
};

/** Its description. */
export const META = draft('c', { name: 'Spring', created: START });

const RUNNING: StoredState = { ...runningState(2), batch: 1 };

/** The status of a campaign with two recipients that is running on an open lane. The arguments replace parts of what is stored. */
export const statusOf = (
  state: Partial<StoredState>,
  view: Partial<LaneStatusRecord> = {},
  more: Partial<Parameters<typeof campaignStatus>[0]> = {},
) =>
  campaignStatus({
    meta: META,
    state: { ...RUNNING, ...state },
    lane: { name: 'main', rules: RULES },
    isConfigured: true,
    view: { ...OPEN, ...view },
    outlook: null,
    unknownOutcomes: [],
    hasWorkers: true,
    acceptedCost: null,
    ...more,
  });
