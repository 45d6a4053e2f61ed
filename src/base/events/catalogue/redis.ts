import { entry } from '../entry.js';
import { count, failure, id, oneOf, prose, span } from '../field.js';

/** Redis, and what its failures cost. */
export const REDIS_EVENTS = {
  'redis.fileRewritten': entry(
    'info',
    { campaigns: count('campaign') },
    (e) =>
      `Redis has rewritten its append-only file; nothing is left in it of ${e.campaigns} that were removed`,
  ),
  'redis.rewriteRefused': entry(
    'warn',
    { reason: prose, campaigns: count('campaign') },
    (e) =>
      `Redis refuses to rewrite its append-only file (${e.reason}): it still contains ${e.campaigns} whose retention period has ended`,
  ),
  'redis.rewriteFailed': entry(
    'warn',
    { campaigns: count('campaign') },
    (e) =>
      `Redis failed to rewrite its append-only file: it still contains ${e.campaigns} whose retention period has ended`,
  ),
  'redis.lost': entry(
    'error',
    { error: failure },
    (e) => `the connection to Redis is lost: ${e.error}; sending continues when Redis is back`,
  ),
  'redis.restored': entry('info', { down: span }, (e) => `Redis is connected again after ${e.down}`),
  'redis.restarted': entry(
    'warn',
    { lane: id, grace: span },
    (e) =>
      `Redis was restarted without losing data; lane ${e.lane} recovers for up to ${e.grace} while workers replay their recent claims`,
  ),
  'redis.dataLoss': entry(
    'error',
    { lane: id, sign: oneOf('runId', 'sequence'), grace: span },
    (e) =>
      `Redis may have lost data (${{ runId: 'another server answers, or it was restarted', sequence: 'a claim that a worker remembers is missing' }[e.sign] ?? e.sign}); lane ${e.lane} recovers for up to ${e.grace} while workers replay their recent claims, and for longer if one does not`,
  ),
  'redis.rolledBack': entry(
    'error',
    { lane: id, claim: id },
    (e) =>
      `Redis has older data than before: it does not know claim ${e.claim} of lane ${e.lane}, which no crash can have lost; a backup was restored, or Redis was emptied. All lanes are held, so that nothing is sent twice; run \`volley doctor --restored\` before you resume them`,
  ),
  'stateFile.notWritten': entry(
    'error',
    { reason: prose },
    (e) =>
      `cannot write STATE_FILE (${e.reason}): a restored backup may not be noticed; sending continues, and the file is written as soon as possible`,
  ),
  'stateFile.earlierData': entry(
    'error',
    { file: prose },
    (e) =>
      `Redis has data that it had before other data, as STATE_FILE ${e.file} knows: a backup was restored. All lanes are held, so that nothing is sent twice; run \`volley doctor --restored\` before you resume them`,
  ),
  'stateFile.otherData': entry(
    'warn',
    { file: prose },
    (e) =>
      `Redis has other data than STATE_FILE ${e.file} is about: the file starts over; if you did not mean to use another Redis, hold the lanes and run \`volley doctor --restored\``,
  ),
  'redis.unbounded': entry(
    'error',
    { lane: id },
    (e) =>
      `lane ${e.lane} sends nothing: Redis has a replica, and nothing bounds how much is lost when it takes over; set min-replicas-to-write in Redis, or REDIS_MAY_LOSE; \`volley doctor\` explains it`,
  ),
  'redis.evicts': entry(
    'error',
    { policy: id },
    (e) =>
      `Redis deletes data when its memory is full (maxmemory-policy ${e.policy}): campaigns, claims, and suppressions may be lost; set maxmemory-policy noeviction`,
  ),
  'redis.clockChanged': entry(
    'warn',
    { lane: id, direction: oneOf('forward', 'back'), by: span },
    (e) =>
      `the clock of Redis was set ${e.direction} by ${e.by}; lane ${e.lane} delays its next requests, so that they stay within the quota`,
  ),
  'redis.replayFailed': entry(
    'error',
    { lane: id, reason: prose },
    (e) =>
      `lane ${e.lane}: this worker cannot replay its recent claims to Redis, and counts as lost, so requests get an unknown outcome: ${e.reason}`,
  ),
  'workers.lost': entry(
    'error',
    { lane: id, processes: id },
    (e) =>
      `lane ${e.lane}: workers ${e.processes} stopped while Redis lost data; requests that they may have sent get an unknown outcome`,
  ),
  'workers.windowsDiffer': entry(
    'warn',
    { processes: prose, used: span },
    (e) =>
      `worker processes run with different QUOTA_WINDOW_MS: ${e.processes}; all lanes use the longest, ${e.used}`,
  ),
  'redis.reshardUnfinished': entry(
    'error',
    { lane: id, for: span },
    (e) =>
      `lane ${e.lane}: its slot of the Redis cluster has been on its way to another node for ${e.for}, so nothing can be sent; if no reshard is running, finish it: redis-cli --cluster fix`,
  ),
  'sweep.failed': entry(
    'error',
    { error: failure },
    (e) => `the sweep failed, and is tried again: ${e.error}`,
  ),
} as const;
