import type { Result } from '../../bench/peers/round.js';

/** What a contestant might do in a round. */
export const RESULT: Result = {
  tookMs: 1_000,
  sends: 10,
  polls: 12,
  throttled: 0,
  utilisation: 0.995,
  worstWindow: 300,
  duplicates: 0,
  notSent: 0,
  notFinal: 0,
  unknown: 0,
  logs: { arrivals: [], ledger: [] },
  isDone: true,
  bytesPending: 5,
  commandsSent: 1,
  commandsRun: 2,
  killedAfterMs: Number.NaN,
};
