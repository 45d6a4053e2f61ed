import { InputError } from '../../campaign/errors/errors.js';
import type { Redis } from './connection.js';
import { type Node, refusal } from './durability.js';
import { type RetryOptions, untilAnswered } from './until-answered.js';

/**
 * Whether a server can replay its append-only file when it starts. From 7.0 on, Redis replays it as the default user, and `EXEC` checks that
 * user's rights. Without them, the server drops each transaction, and so what each script with two writes has written, and reports a clean
 * start. Only the latest versions of Redis and Valkey check nothing.
 *
 * - `complete`: the server can
 * - `absent`: it has no such file
 * - `dropped`: the default user lacks rights
 * - `refused`: the user of this connection may not ask
 * - `hidden`: the server does not say
 */
export type FileReplay = 'complete' | 'absent' | 'dropped' | 'refused' | 'hidden';

const WORST_FIRST = [
  'dropped',
  'refused',
  'hidden',
  'absent',
  'complete',
] as const satisfies readonly FileReplay[];

const CHECKS_SINCE_VERSION = 7;

/** With all rights, and without a password, so that no client can log in. */
const LINE = '"user default off resetpass ~* &* +@all"';
const LOAD = 'load the file (ACL LOAD) or restart the server (docker compose restart redis)';
const REPLAYS = 'replays its append-only file with the rights of its default user';

/** Why a restart may lose data, and what to do. */
export const REPLAY_FAULTS: Readonly<
  Record<Exclude<FileReplay, 'complete'>, { readonly why: string; readonly advice: string }>
> = {
  dropped: {
    why: `a restart of Redis may lose data: it ${REPLAYS}, who lacks them`,
    advice: `Put the line ${LINE} into the ACL file of every server, and then ${LOAD}.`,
  },
  refused: {
    why: `a restart of Redis may lose data: it ${REPLAYS}, and does not let Volley ask whether that user has them (ACL DRYRUN)`,
    advice: `Put the line ${LINE} into the ACL file of every server, give +acl|dryrun to the user in REDIS_URL, as in docs/redis.acl, and then ${LOAD}.`,
  },
  absent: {
    why: 'a restart of Redis loses everything, also what was sent: it writes nothing to disk',
    advice: 'Set appendonly yes in Redis, and run CONFIG REWRITE.',
  },
  hidden: {
    why: `Redis ${REPLAYS}, and does not tell whether that user has them (ACL DRYRUN)`,
    advice: `Ask its provider. With the line ${LINE} in the ACL file, a restart loses nothing.`,
  },
};

/** A write of each type of data: a user may lack the category of one. */
const writesTo = (key: string): readonly (readonly string[])[] => [
  ['SET', key, '1'],
  ['HSET', key, 'field', '1'],
  ['ZADD', key, '1', 'member'],
  ['SADD', key, 'member'],
  ['RPUSH', key, 'item'],
  ['XADD', key, '*', 'field', '1'],
  ['PEXPIREAT', key, '1'],
  ['DEL', key],
];

/** Asks the server, or each node of a cluster, also replicas: one may become a master. Rejects if no server answers. */
export async function fileReplay(redis: Redis, prefix: string): Promise<FileReplay> {
  // A cluster client learns its nodes with the first command.
  await redis.ping();
  const nodes = 'nodes' in redis ? redis.nodes() : [redis];
  const answers = await Promise.allSettled(nodes.map((node) => askNode(node, prefix)));
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  const worst = WORST_FIRST.find((each) => found.includes(each));
  if (worst === undefined) throw new Error('no server answers', { cause: answers[0] });
  return worst;
}

async function askNode(node: Node, prefix: string): Promise<FileReplay> {
  const info = String(await node.info().catch(refusal));
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  if (field('aof_enabled') === '0') return 'absent';
  // Volley itself uses the default user, whose rights are enough for all that it writes.
  if (['', 'default'].includes(node.options.username ?? '')) return 'complete';
  if (Number.parseInt(field('redis_version'), 10) < CHECKS_SINCE_VERSION) return 'complete';
  // The keys of a lane begin with a brace.
  const writes = [`${prefix}:key`, `{${prefix}:lane}key`].flatMap(writesTo);
  try {
    const answers = await Promise.all(writes.map((write) => node.call('ACL', 'DRYRUN', 'default', ...write)));
    return answers.every((answer) => answer === 'OK') ? 'complete' : 'dropped';
  } catch (error) {
    refusal(error);
    return error instanceof Error && error.message.startsWith('NOPERM') ? 'refused' : 'hidden';
  }
}

/** Rejects with an InputError if a restart of a server may lose data. Returns a hint if a server does not tell. */
export async function requireReplay(
  redis: Redis,
  prefix: string,
  retry: RetryOptions = {},
): Promise<string | undefined> {
  const replay = await untilAnswered(() => fileReplay(redis, prefix), retry);
  if (replay === 'complete') return undefined;
  const { why, advice } = REPLAY_FAULTS[replay];
  if (replay === 'hidden' || replay === 'absent') return `${why}. ${advice}`;
  throw new InputError(`This process does not start, because ${why}. ${advice}`);
}
