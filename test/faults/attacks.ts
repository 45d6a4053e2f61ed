import { connect } from '../../src/base/redis/connection.js';
import { startPrivateRedis } from '../../src/base/redis/private-server.js';
import { seededRandom } from '../../src/tools/simulator/random.js';
import { dueAtOnceRun } from '../end-to-end/due-at-once-run.js';
import { outboxSetRun } from '../end-to-end/outbox-set-run.js';
import { cancelledRace, outboxWritersRun, versionsRace } from '../end-to-end/outbox-writers-run.js';
import { tenantsRun } from '../end-to-end/tenants-run.js';
import { webhooksKillRun } from '../end-to-end/webhooks-kill-run.js';
import { scheduleReplaceRun } from '../intake/schedules/replace-run.js';
import { lateWritesRun } from './late-writes.js';

/** What an attack has shown. */
interface Shown {
  /** Every promise that was broken. */
  readonly problems: readonly string[];
}

/** What an attack gets: a Redis of its own, and how long it is. */
interface Means {
  readonly redisUrl: string;
  readonly times: number;
  readonly seed: number;
  note(line: string): void;
}

interface Attack {
  /** How long it is by default, in what it repeats. */
  readonly times: number;
  run(means: Means): Promise<Shown>;
}

/** Attacks on outboxes, schedules, and webhooks with real processes. `npm test` has a short version of each. */
const ATTACKS = {
  /** A cancel with version 3 races a put with version 2 of a message that was cancelled when it was planned. `times`: ids. */
  cancelled: {
    times: 5_000,
    run: ({ redisUrl, times, seed }) =>
      outboxWritersRun(
        { redisUrl, prefix: 'cancelled', ids: times, kills: 0, random: seededRandom(seed) },
        cancelledRace,
      ),
  },
  /** Two writers put an id with different versions when it is due, and workers are killed. `times`: ids. */
  versions: {
    times: 2_000,
    run: ({ redisUrl, times, seed }) =>
      outboxWritersRun(
        { redisUrl, prefix: 'versions', ids: times, kills: times / 50, random: seededRandom(seed) },
        versionsRace,
      ),
  },
  /** Schedules are removed, added again, and paused, while the processes that run them are stopped. `times`: schedules. */
  schedules: {
    times: 2_000,
    async run({ redisUrl: url, times, seed }) {
      const redis = connect(url);
      try {
        const run = { redis, url, prefix: 'schedules', races: times, random: seededRandom(seed) };
        const { late, ...figures } = await scheduleReplaceRun(run);
        return { problems: late, ...figures };
      } finally {
        redis.disconnect();
      }
    },
  },
  /** The settings of an outbox change while messages are sent. Workers, and processes that make a change, are killed. `times`: changes. */
  settings: {
    times: 30,
    run: ({ redisUrl, times, seed, note }) =>
      outboxSetRun({
        redisUrl,
        prefix: 'settings',
        changes: times,
        waiting: 3_000,
        random: seededRandom(seed),
        onProgress: note,
      }),
  },
  /** A process stands still for 15 s between its claims and its writes. `times`: stops. */
  'late-writes': {
    times: 20,
    async run({ times, seed, note }) {
      const problems: string[] = [];
      const held = { late: 0, window: 0, suppressed: 0 };
      for (let at = 0; at < times; at += 1) {
        const outcome = await lateWritesRun(seededRandom(seed + at), at % 2 === 0);
        problems.push(...outcome.problems);
        for (const kind of ['late', 'window', 'suppressed'] as const) held[kind] += outcome.held[kind];
        note(`${at + 1} stops, ${problems.length} problems, held ${JSON.stringify(held)}`);
      }
      return { problems, held };
    },
  },
  /** Messages of two lanes are due in the same second, and workers are killed. `times`: messages. */
  'due-at-once': {
    times: 100_000,
    run: ({ redisUrl, times, seed, note }) =>
      dueAtOnceRun({
        redisUrl,
        prefix: 'due-at-once',
        messages: times,
        kills: 20,
        random: seededRandom(seed),
        onProgress: note,
      }),
  },
  /** Processes that deliver to webhooks are killed. `times`: kills. */
  webhooks: {
    times: 100,
    run: ({ redisUrl, times, seed, note }) =>
      webhooksKillRun({
        redisUrl,
        prefix: 'webhooks',
        kills: times,
        random: seededRandom(seed),
        onProgress: note,
      }),
  },
  /** Lanes are added over HTTP while four workers send. `times`: lanes. */
  tenants: {
    times: 200,
    run: ({ redisUrl, times, note }) =>
      tenantsRun({ redisUrl, prefix: 'tenants', lanes: times, workers: 4, onProgress: note }),
  },
} as const satisfies Record<string, Attack>;

export type AttackName = keyof typeof ATTACKS;
export const ATTACK_NAMES = Object.keys(ATTACKS) as readonly AttackName[];

/** Runs an attack on a Redis of its own, which writes every change to disk before it answers. */
export async function runAttack(
  name: AttackName,
  times: number | undefined,
  seed: number,
  note: (line: string) => void,
): Promise<Shown> {
  const server = await startPrivateRedis({ appendfsync: 'always' });
  const attack: Attack = ATTACKS[name];
  try {
    return await attack.run({ redisUrl: server.url, times: times ?? attack.times, seed, note });
  } finally {
    await server.stop();
  }
}
