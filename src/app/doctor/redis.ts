import { counted } from '../../base/counted.js';
import { formatDuration } from '../../base/duration.js';
import { assessLoss, assessStated, BOUND_THE_LOSS } from '../../base/redis/durability.js';
import { type FileReplay, REPLAY_FAULTS } from '../../base/redis/file-replay.js';
import type { FileRemains } from '../../engine/recovery/rewrite-file.js';
import { type Finding, fail, ok, warn } from './check.js';
import type { RedisFacts } from './redis-facts.js';
import { skewCheck } from './skew.js';

/** BullMQ needs Redis 6.2. */
const MIN_VERSION = [6, 2] as const;
/** Clocks synchronised by NTP differ by less. */
const MAX_SKEW_MS = 1_000;
const MEMORY_NEARLY_FULL = 0.8;

/** Each row checks one fact. `mayLoseMs`: the setting REDIS_MAY_LOSE. */
const CHECKS: readonly ((facts: RedisFacts, mayLoseMs: number | 'auto') => Finding)[] = [
  version,
  appendOnly,
  fsync,
  failover,
  defaultUser,
  eviction,
  memory,
  clockSkew,
  reshard,
];

/** Checks the facts. For a cluster, each check shows its worst node. */
export function checkRedis(nodes: readonly RedisFacts[], mayLoseMs: number | 'auto'): Finding[] {
  return CHECKS.map((check) => {
    const results = nodes.map((facts) => {
      const result = check(facts, mayLoseMs);
      return result.state === 'ok' || facts.node === undefined
        ? result
        : { ...result, message: `${facts.node}: ${result.message}` };
    });
    return (
      results.find(({ state }) => state === 'fail') ??
      results.find(({ state }) => state === 'warn') ??
      results[0] ??
      fail(
        'Redis',
        'no node answers',
        'Check that the nodes of the cluster are running, and that this machine can reach them.',
      )
    );
  });
}

function version({ version: found }: RedisFacts): Finding {
  const [major = 0, minor = 0] = found.split('.').map(Number);
  const isEnough = major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1]);
  return isEnough
    ? ok('Redis version', found)
    : fail('Redis version', found || 'not reported', `Upgrade to ${MIN_VERSION.join('.')} or later.`);
}

function appendOnly({ appendonly: found }: RedisFacts): Finding {
  const name = 'Redis append-only file';
  if (found === 'yes') return ok(name, 'on');
  if (found === undefined)
    return warn(name, 'not reported by the server', 'Ask its provider. It must be on (appendonly yes).');
  return warn(
    name,
    'off: after a restart, Redis has lost campaigns and the record of sent messages',
    'Set appendonly yes, and run CONFIG REWRITE.',
  );
}

function fsync({ appendonly, appendfsync: found }: RedisFacts, setting: number | 'auto'): Finding {
  const name = 'Redis fsync';
  if (found === 'always' && appendonly !== 'no')
    return ok(name, 'always: everything that Redis confirmed is on disk');
  if (found === undefined && setting !== 'auto')
    return ok(name, `not reported by the server; REDIS_MAY_LOSE (${formatDuration(setting)}) covers it`);
  if (found === undefined)
    return warn(
      name,
      'not reported by the server',
      'Ask its provider. Only appendfsync always loses nothing.',
    );
  if (appendonly === 'no')
    return warn(name, 'nothing is written to disk', 'Set appendonly yes and appendfsync always.');
  const lost = found === 'everysec' ? 'the last second' : 'what the system had not yet written';
  return warn(
    name,
    `${found}: a power cut may lose ${lost}; requests that no surviving worker can replay get an unknown outcome`,
    'Set appendfsync always.',
  );
}

/** Whether something bounds what a failover to a replica may lose. */
function failover({ durability: facts }: RedisFacts, setting: number | 'auto'): Finding {
  const name = 'Redis failover';
  const waits = 'a process, a campaign, and a resume wait for this long before their first message';
  if (setting !== 'auto') {
    const stated = assessStated(facts, setting);
    if (!Number.isFinite(stated.ms))
      return fail(
        name,
        `${stated.why}; workers do not send, because messages could be sent twice`,
        BOUND_THE_LOSS,
      );
    // Without CONFIG, only the setting is known.
    const { ms, why } = facts.minReplicas === undefined ? stated : assessLoss(facts);
    if (ms <= setting) return ok(name, `REDIS_MAY_LOSE is ${formatDuration(setting)}: ${waits}`);
    const actual = Number.isFinite(ms) ? `it may lose ${formatDuration(ms)} (${why})` : why;
    return warn(name, `REDIS_MAY_LOSE is ${formatDuration(setting)}, but ${actual}`, BOUND_THE_LOSS);
  }
  const { ms, why } = assessLoss(facts);
  if (!Number.isFinite(ms))
    return fail(name, `${why}; workers do not start, because messages could be sent twice`, BOUND_THE_LOSS);
  const { isCluster, replicas = 0, minReplicas = 0 } = facts;
  if (!isCluster && minReplicas > 0 && replicas > minReplicas)
    return warn(
      name,
      `${replicas} replicas, and min-replicas-to-write is ${minReplicas}: a master that is cut off together with ${minReplicas} of them never stops accepting writes`,
      `Set min-replicas-to-write ${replicas}, or make sure that such a master cannot be cut off from the others.`,
    );
  if (ms === 0) return ok(name, 'no replica: nothing is lost');
  return ok(name, `may lose the last ${formatDuration(ms)} (${why}); ${waits}`);
}

/** Whether a restart keeps what is in the append-only file. */
export function checkReplay(replay: FileReplay): Finding {
  const name = 'Redis restart';
  if (replay === 'complete') return ok(name, 'the default user has all rights that a restart needs');
  if (replay === 'absent') return ok(name, 'there is no append-only file to replay');
  const { why, advice } = REPLAY_FAULTS[replay];
  return replay === 'hidden' ? warn(name, why, advice) : fail(name, `${why}; workers do not start`, advice);
}

/** What is left of removed campaigns in the append-only file. */
export function checkRemains(
  nodes: readonly Pick<RedisFacts, 'appendonly' | 'node' | 'durability'>[],
  { removals, lastAttempt }: FileRemains,
): Finding {
  const name = 'Redis removed data';
  if (nodes.every(({ appendonly: found }) => found === 'no')) return ok(name, 'there is no append-only file');
  const replicas = nodes.reduce(
    (sum, { node, durability }) => sum + (node === undefined ? (durability.replicas ?? 0) : 0),
    0,
  );
  const others =
    replicas === 0
      ? ''
      : `; Volley cannot rewrite the files of its ${counted(replicas, 'replica')}: run BGREWRITEAOF there once a day`;
  if (removals === 0)
    return ok(name, `nothing of a removed campaign is left in the append-only file${others}`);
  const left = `the append-only file still contains the numbers and texts of ${counted(removals, 'removed campaign')}`;
  if (lastAttempt === 'refused')
    return warn(
      name,
      `${left}, because the server refuses BGREWRITEAOF`,
      'Allow it (+bgrewriteaof in the ACL), or ask the provider when the server rewrites its file, and how long backups are kept.',
    );
  if (lastAttempt === 'failed')
    return warn(
      name,
      `${left}, because the last rewrite failed`,
      'See the log of Redis. A rewrite needs free memory and disk space.',
    );
  return ok(name, `${left} until the next rewrite, within a day while a worker runs${others}`);
}

function defaultUser({ isOpen, hasPassword }: RedisFacts): Finding {
  const name = 'Redis default user';
  if (!isOpen) return ok(name, 'needs a password, or is off');
  const found = 'it needs no password: everyone who can reach Redis can read and change everything';
  const todo = 'Use docs/redis.acl, which turns it off, or set requirepass.';
  // Where Volley uses a password, someone relies on it.
  return hasPassword ? fail(name, found, todo) : warn(name, found, todo);
}

function eviction({ eviction: found }: RedisFacts): Finding {
  const name = 'Redis eviction';
  if (found === 'noeviction') return ok(name, found);
  if (found === undefined)
    return warn(name, 'not reported by the server', 'Ask its provider. It must be noeviction.');
  return fail(
    name,
    `${found}: a full server deletes keys, and messages may be sent twice`,
    'Set maxmemory-policy noeviction.',
  );
}

function memory({ usedMemory, maxMemory }: RedisFacts): Finding {
  const name = 'Redis memory';
  const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1_048_576)} MB`;
  if (maxMemory === 0) return ok(name, `${megabytes(usedMemory)} used, no limit`);
  const found = `${megabytes(usedMemory)} of ${megabytes(maxMemory)} used`;
  return usedMemory / maxMemory < MEMORY_NEARLY_FULL
    ? ok(name, found)
    : warn(name, found, 'Raise maxmemory: above 85%, Redis takes no new campaigns and messages.');
}

function clockSkew({ skewMs }: RedisFacts): Finding {
  return skewCheck('clock of Redis', skewMs, MAX_SKEW_MS);
}

function reshard({ movingSlots }: RedisFacts): Finding {
  const name = 'Redis reshard';
  const [slot = ''] = movingSlots;
  if (movingSlots.length === 0) return ok(name, 'none is running');
  return warn(
    name,
    `slot ${slot}${movingSlots.length > 1 ? ` and ${movingSlots.length - 1} more` : ''} is on its way to another node`,
    'If no reshard is running, finish it: redis-cli --cluster fix. Until then, the lanes in this slot send nothing.',
  );
}
