import type { LaneStatus } from '../../src/campaign/views/views.js';

/** The status of a lane that may send, and has sent nothing. */
export const OPEN_LANE: LaneStatus = {
  name: 'main',
  id: 'main',
  targetAccount: null,
  state: 'open',
  quota: {
    configured: 100,
    learned: null,
    limit: 100,
    span: '1h',
    used: { send: 0, poll: 0 },
    inFlight: 0,
    keptForPolls: 0,
    nextPermitAt: null,
    nextPermits: 0,
    permitsToCome: [],
  },
  blockedBy: null,
  turnFailures: [],
  zone: null,
  window: null,
  throttled: 0,
  campaigns: { running: 0, waiting: 0, scheduled: 0 },
  awaitingReports: 0,
  unknownOutcomes: 0,
  maxRecipients: 1,
};
