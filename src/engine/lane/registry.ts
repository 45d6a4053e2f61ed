import { createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import {
  type Config,
  ConfigError,
  type Credentials,
  type LocalConfig,
  laneNameProblem,
} from '../../base/config/index.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import { InputError, NotFoundError } from '../../campaign/errors/errors.js';
import { listed } from '../../campaign/errors/listed.js';

/*
 * A lane's id is the hash tag of its keys, and never changes. Its name is an alias, which is what people and programs use. The
 * registry also maps the credentials of each service to an id, so that a lane under another name keeps its ledger and campaigns.
 *
 *   credentials known ──► the lane they belong to ── under this name ──► its id
 *          │                                      └─ under another ───► refused, until `rename` gives it this name
 *       unknown ───────► name known: new credentials of that lane ────► its id
 *                        name unknown: a new lane ───────────────────► its name is its id
 *
 * Credentials are never removed: old ones under another name still mean the quota of this lane.
 */

const registrations = z.array(
  z.object({
    id: z.string(),
    known: z.number().transform((known) => known === 1),
    refusal: z.object({ kind: z.enum(['renamed', 'unconfirmed', 'reserved']), owner: z.string() }).optional(),
  }),
);
const registerScript = loadScript(import.meta.url, './register-lanes.lua', (reply) =>
  registrations.parse(JSON.parse(z.string().parse(reply))),
);
const renameScript = loadScript(import.meta.url, './rename-lane.lua', (reply) => {
  const [outcome, id] = z.tuple([z.enum(['renamed', 'missing', 'taken']), z.string()]).parse(reply);
  return { outcome, id };
});

/** A configured lane as the registry knows it. */
export interface FoundLane {
  readonly name: string;
  readonly id: string;
  /** False for a lane that no process has registered: its id may still change. */
  readonly isRegistered: boolean;
  /** Why the lane cannot be opened for sending or importing, and what to do; null if it can. */
  readonly problem: string | null;
  /** Whether only this lane must wait, because its credentials belonged to a stored lane until a moment ago. */
  readonly isReserved: boolean;
}

/** The ids and names of all lanes, in Redis. */
export interface LaneRegistry {
  /** Finds the configured lanes without registering them. With credentials, each has its `problem`. */
  find(): Promise<FoundLane[]>;
  /** Registers the configured lanes, or only this one. Rejects with a ConfigError if one is refused; then none is registered. */
  register(only?: string): Promise<FoundLane[]>;
  /** Writes again what Redis has lost of these lanes. */
  restore(lanes: readonly FoundLane[]): Promise<void>;
  /** The names of all registered lanes by their ids. */
  names(): Promise<ReadonlyMap<string, string>>;
  /**
   * Gives a lane a new name. Returns its id. Rejects with a NotFoundError if there is no such lane, and with an InputError if the
   * new name is invalid or belongs to another lane.
   */
  rename(from: string, to: string): Promise<string>;
}

/** How long credentials of a disabled or removed lane belong to it: its last requests must no longer count at the service, ms. */
export const reservedMs = ({ quotaWindowMs, requestTimeoutMs }: LocalConfig): number =>
  quotaWindowMs + 2 * requestTimeoutMs + 10_000;

/** The secret of the digests of credentials, made when it is first needed. `known`: what it was before Redis lost it. */
export async function registrySecret(redis: Redis, keys: Keys, known: string | null = null): Promise<string> {
  const { secret } = keys.registry;
  if ((await redis.exists(secret)) === 0)
    await redis.set(secret, known ?? randomBytes(32).toString('base64url'), 'NX');
  return (await redis.get(secret)) ?? '';
}

/** Opens the registry for the lanes of a configuration. It does not access Redis before the first call. */
export function laneRegistry(redis: Redis, keys: Keys, config: Config | LocalConfig): LaneRegistry {
  const { names, ids, credentials, stored, changes, secret: secretKey } = keys.registry;
  /** Kept, so that it can be restored: the stored digests are worthless without it. */
  let secret: string | null = null;

  const credentialOf = (lane: Config['lanes'][number] | LocalConfig['lanes'][number]): string =>
    'messagingBaseUrl' in config && 'credentials' in lane && secret !== null
      ? credentialDigest(secret, lane.baseUrl ?? config.messagingBaseUrl, lane.credentials)
      : '';
  const run = async (
    mode: 'find' | 'register' | 'restore',
    { only, known = [] }: { only?: string | undefined; known?: readonly FoundLane[] } = {},
  ): Promise<FoundLane[]> => {
    // Looked up first: on a full Redis, a command still finds a lane that is registered.
    if (mode !== 'find') await registrySecret(redis, keys, secret);
    if ('messagingBaseUrl' in config) secret = await redis.get(secretKey);
    const lanes = config.lanes.map((lane, at) => ({
      name: lane.name,
      id: known[at]?.id ?? '',
      credential: credentialOf(lane),
      wanted: only === undefined || only === lane.name,
    }));
    const results = await registerScript.run(
      redis,
      { names, ids, credentials, stored, changes },
      { mode, lanes: JSON.stringify(lanes), reserve: reservedMs(config) },
    );
    return results.map(({ id, known: isKnown, refusal }, at) => {
      const name = config.lanes[at]?.name ?? '';
      const problem = refusal === undefined ? null : problemOf(refusal, name, isKnown);
      return { name, id, isRegistered: isKnown, problem, isReserved: refusal?.kind === 'reserved' };
    });
  };

  return {
    find: () => run('find'),
    async register(only) {
      const lanes = await run('register', { only });
      const problems = lanes.flatMap(({ name, problem, isReserved }) =>
        problem === null || isReserved || (only !== undefined && only !== name) ? [] : problem,
      );
      if (problems.length > 0) throw new ConfigError(problems);
      return lanes;
    },
    restore: async (known) => void (await run('restore', { known })),
    names: async () => new Map(Object.entries(await redis.hgetall(names))),
    async rename(from, to) {
      const problem = laneNameProblem(to);
      if (problem !== null)
        throw new InputError(`${JSON.stringify(to)} is not a name for a lane: it ${problem}`);
      const [isUsed, isTaken] = await Promise.all([hasUnregisteredData(from), hasUnregisteredData(to)]);
      const { outcome, id } = isTaken
        ? ({ outcome: 'taken', id: '' } as const)
        : await renameScript.run(redis, { names, ids }, { from, to, isUsed: isUsed ? 1 : 0 });
      if (outcome === 'taken')
        throw new InputError(`there is another lane named ${to}: rename that one first`);
      if (outcome === 'renamed') return id;
      const all = await redis.hvals(names);
      const which =
        all.length === 0 ? 'no lane is registered yet' : `the registered lanes are: ${listed(all.sort())}`;
      throw new NotFoundError(`there is no lane ${from}; ${which}`);
    },
  };

  /** Whether a lane that was never registered has campaigns: one from before there was a registry. */
  async function hasUnregisteredData(lane: string): Promise<boolean> {
    const [isUsed, registered] = await Promise.all([
      redis.sismember(keys.lanes, lane),
      redis.hexists(names, lane),
    ]);
    return isUsed === 1 && registered === 0;
  }
}

/** Identifies credentials at a service. An account is its user and target account, because a password may change. */
export function credentialDigest(secret: string, baseUrl: string, credentials: Credentials): string {
  const identity =
    credentials.kind === 'apiKey'
      ? ['apiKey', credentials.apiKey]
      : ['account', credentials.username, credentials.targetAccountId ?? ''];
  const service = new URL(baseUrl).href.replace(/\/+$/, '');
  return createHmac('sha256', secret)
    .update(JSON.stringify([service, ...identity]))
    .digest('base64url');
}

function problemOf(
  { kind, owner }: { readonly kind: 'renamed' | 'unconfirmed' | 'reserved'; readonly owner: string },
  name: string,
  isKnown: boolean,
): string {
  if (kind === 'reserved')
    return `lane ${name} has the credentials of the stored lane ${owner}, which is disabled: lane ${name} is served when the requests of lane ${owner} no longer count, one quota window from then`;
  const rename = `if ${name} is its new name, run \`volley lane rename ${owner} ${name}\``;
  if (kind === 'unconfirmed') {
    return `lane ${name} is not registered, but lane ${owner} is, and it is not configured here: ${rename}; if it is a new lane, start a worker with its credentials first`;
  }
  const problem = `lane ${name} has the credentials of lane ${owner}, and so its quota`;
  return isKnown
    ? `${problem}: give lane ${name} its own credentials again. If both lanes were renamed, use \`volley lane rename\` for each`
    : `${problem}: ${rename}; otherwise name it ${owner} again`;
}
