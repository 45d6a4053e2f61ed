import { entry } from '../entry.js';
import { count, id, oneOf, prose } from '../field.js';

const RECORDS_OUTCOME: Readonly<Record<string, string>> = {
  notAccepted: 'was not accepted',
  refused: 'was refused',
  unknown: 'has an unknown outcome',
};

/** Call records. `records` is the id of a request. */
export const RECORDS_EVENTS = {
  'records.requested': entry(
    'info',
    { lane: id, records: id },
    (e) => `lane ${e.lane}: the service accepted the request for call records ${e.records}`,
  ),
  'records.notAccepted': entry(
    'warn',
    { lane: id, records: id, outcome: oneOf('notAccepted', 'refused', 'unknown'), reason: prose },
    (e) =>
      `lane ${e.lane}: the request for call records ${e.records} ${RECORDS_OUTCOME[e.outcome] ?? e.outcome}: ${e.reason}`,
  ),
  'records.ended': entry(
    'warn',
    { lane: id, records: id, outcome: oneOf('failed', 'expired', 'empty'), word: prose },
    (e) => `lane ${e.lane}: call records ${e.records} are not available: the service says ${e.word}`,
  ),
  'records.downloaded': entry(
    'info',
    { lane: id, records: id, bytes: count('byte') },
    (e) => `lane ${e.lane}: call records ${e.records} were downloaded: ${e.bytes}`,
  ),
} as const;
