import { z } from 'zod';
import {
  type Config,
  type Credentials,
  durationProblems,
  type LaneRules,
  type LaneSettings,
  type LocalConfig,
  laneSchema,
  readLane,
} from '../../base/config/index.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import { InputError, throwInputErrors } from '../../campaign/errors/errors.js';
import { costProblem } from '../../campaign/limits/check-limits.js';
import { actor } from '../../campaign/states/actor.js';
import { createSeal } from '../../service/auth/seal.js';
import { readOrNull, readRecord } from '../recipients/damaged.js';
import { credentialDigest, registrySecret, reservedMs } from './registry.js';

/*
 * Lanes that are stored in Redis beside those of the configuration, so that an installation gets one without a restart. They have the fields of
 * a lanes file, except the address of the service: credentials go only where the configuration says. Credentials are sealed with SECRETS_KEY,
 * and compared by a keyed digest (store-lane.lua).
 */

/** The fields that are sealed. */
const SECRET_FIELDS = ['apiKey', 'account', 'client', 'authorization', 'xAuthorization'] as const;

const fields = z.record(z.string(), z.unknown());
/** The fields of a lane, as a lanes file has them, without its name. */
export type LaneFields = z.output<typeof fields>;

const content = z.object({
  name: z.string(),
  /** All but those that are sealed. */
  fields,
  /** The others, JSON; '' of a removed lane. */
  sealed: z.string(),
  /** The fingerprint of the key. */
  sealedWith: z.string(),
  createdAt: z.number(),
  createdBy: actor,
  /** Of a lane that is leaving: whether its removal may still be called off, because what it would cancel is being counted. */
  isClosing: z.boolean().optional(),
});
type Content = z.output<typeof content>;

/** How long after a change of a stored lane every process has read it, and has ended what it was doing, ms. A revision is a time. */
export const KNOWN_MS = 5_000;

/** A lane as it is stored. */
export interface StoredLane extends Content {
  readonly id: LaneId;
  readonly revision: number;
  /** See stored.lua. */
  readonly state: 'active' | 'leaving' | 'disabled' | 'removed';
  /** The configured lane that has its name or its credentials, if it is disabled. */
  readonly by: string;
}

/** The name or the credentials of a lane are in use, or somebody else has just changed it. */
export class LaneTakenError extends InputError {
  override readonly name = 'LaneTakenError';
  override readonly code = 'laneTaken';
}

const storeScript = loadScript(import.meta.url, './store-lane.lua', (reply) =>
  z
    .tuple([z.enum(['stored', 'name', 'credentials', 'leaving', 'changed']), z.string(), z.string()])
    .parse(reply),
);

const STATES = z.enum(['active', 'leaving', 'disabled', 'removed']);
const FORMAT = /^(\d+) (\w+) (\S+) (.*)$/s;

/** The default quota and batch size of a stored lane, which do not depend on the settings of a process. */
const schema = laneSchema('auto', 1);
/** The fields that no lane may take from an operator: the address decides who gets the credentials, and variables are secrets of the server. */
const REFUSED =
  'is taken from the configuration of the workers only, because it decides where credentials are sent: remove it';
const NO_VARIABLE = 'names a variable, which only a lanes file may do: give the value itself';

const DO_NOT_OPEN =
  'its credentials do not open with the SECRETS_KEY of this process: give it new ones with `volley lane set`, or set the former key as SECRETS_KEY_PREVIOUS';

/** Opens the lanes that are stored in Redis. It does not access Redis before the first call. */
export function storedLanes(redis: Redis, keys: Keys, config: Config | LocalConfig) {
  const { names, ids, credentials, stored, changes } = keys.registry;
  const seal = createSeal(config.secretsKey, config.previousSecretsKey);
  const contextOf = (name: string): string => `credentials of the lane ${name}`;

  const parsed = (id: LaneId, text: string | null | undefined): StoredLane | null => {
    const [, revision, state, by = '', json = ''] = FORMAT.exec(text ?? '') ?? [];
    if (revision === undefined) return null;
    return readRecord(`the stored lane ${id}`, () => ({
      ...content.parse(JSON.parse(json)),
      id,
      by,
      revision: Number(revision),
      state: STATES.parse(state),
    }));
  };
  /** All fields of a lane. Throws if it was sealed with another key. */
  const fieldsOf = ({ name, fields: open, sealed }: StoredLane): LaneFields => {
    try {
      return { ...open, ...fields.parse(JSON.parse(seal.open(sealed, contextOf(name)))) };
    } catch (error) {
      throw new InputError(DO_NOT_OPEN, { cause: error });
    }
  };
  /** Whether the credentials of a lane were sealed with a key that this process has. Without a key, it cannot tell. */
  const opens = ({ sealedWith }: StoredLane): boolean =>
    config.secretsKey === undefined || seal.fingerprints.includes(sealedWith);
  /** All fields of a lane that is changed. New credentials replace those that do not open any more. */
  const fieldsBefore = (lane: StoredLane, changes: LaneFields): LaneFields => {
    const isReplaced = SECRET_FIELDS.some((field) => changes[field] != null);
    return isReplaced && !opens(lane) ? lane.fields : fieldsOf(lane);
  };
  /** Reads and checks a lane. Throws one InputError for all problems. */
  const checked = (name: string, given: LaneFields): LaneSettings => {
    const problems: InputError[] = [];
    const report = (path: readonly (string | number)[], message: string): void => {
      const field = path.join('/');
      problems.push(new InputError(`${path.join('.')} ${message}`.trim(), field === '' ? {} : { field }));
    };
    for (const path of pathsOf(given)) {
      if (path[0] === 'baseUrl') report(path, REFUSED);
      if (path.at(-1)?.endsWith('Env')) report(path, NO_VARIABLE);
    }
    throwInputErrors(problems);
    const lane = readLane({ ...withoutNull(given), name }, schema, {
      environment: {},
      report,
      reportMissing: report,
    });
    if (lane !== undefined)
      for (const { field, message } of durationProblems(lane, config.requestTimeoutMs))
        report([field], message);
    throwInputErrors(problems);
    if (lane?.credentials === undefined) throw new InputError('the lane has no credentials');
    return { ...lane, credentials: lane.credentials };
  };
  const checkCost = ({ limits }: LaneRules): void => {
    const problem = costProblem(limits, config.prices?.currency);
    if (problem !== null)
      throw new InputError(`limits.costPerDay ${problem}`, { field: 'limits/costPerDay' });
  };
  const digestOf = async (rules: LaneRules, given: Credentials): Promise<string> => {
    const url = config.storedLanes[rules.profile];
    if (url === undefined)
      throw new InputError(
        'lanes cannot be stored by this process: set MESSAGING_BASE_URL, which is where their credentials go',
      );
    return credentialDigest(await registrySecret(redis, keys), url, given);
  };
  const write = async (
    mode: 'add' | 'set' | 'leave' | 'remove',
    { id, revision, name }: Pick<StoredLane, 'id' | 'revision' | 'name'>,
    written: Content,
    credential = '',
  ): Promise<{ readonly id: LaneId; readonly revision: number }> => {
    const [outcome, detail, at] = await storeScript.run(
      redis,
      { names, ids, credentials, stored, changes },
      { mode, id, revision, name, credential, record: JSON.stringify(written), reserve: reservedMs(config) },
    );
    switch (outcome) {
      case 'stored':
        return { id: detail, revision: Number(at) };
      case 'name':
        throw new LaneTakenError(`there is a lane ${name} already`, { field: 'name' });
      case 'credentials':
        throw new LaneTakenError(
          `lane ${detail} has these credentials, and so their quota, or had them before: give each lane its own`,
        );
      case 'leaving':
        throw new LaneTakenError(
          `lane ${detail} is still being removed: wait until its last reports have arrived`,
          { field: 'name' },
        );
      case 'changed':
        throw new LaneTakenError(`lane ${name} was changed at the same time: try again`);
      default:
        return outcome satisfies never;
    }
  };
  const sealed = (name: string, given: LaneFields): Pick<Content, 'fields' | 'sealed' | 'sealedWith'> => {
    if (config.secretsKey === undefined)
      throw new InputError(
        'SECRETS_KEY must be set, because the credentials of a stored lane are encrypted with it; generate it with `openssl rand -base64 32`, and give it to every process',
      );
    const isSecret = (field: string): boolean => SECRET_FIELDS.some((one) => one === field);
    const entries = Object.entries(given);
    const secrets = Object.fromEntries(entries.filter(([field]) => isSecret(field)));
    const open = Object.fromEntries(entries.filter(([field]) => !isSecret(field)));
    return {
      fields: open,
      sealed: seal.close(JSON.stringify(secrets), contextOf(name)),
      sealedWith: seal.fingerprint,
    };
  };

  return {
    /** The stored lanes that have changed since a revision, null for one that is gone; and the latest revision. */
    async since(revision: number): Promise<{
      readonly changed: ReadonlyMap<LaneId, StoredLane | null>;
      readonly latest: number;
    }> {
      const found = await redis.zrangebyscore(changes, `(${revision}`, '+inf', 'WITHSCORES');
      const changed = found.filter((_, at) => at % 2 === 0);
      const texts = changed.length === 0 ? [] : await redis.hmget(stored, ...changed);
      return {
        // One that cannot be read is held: no process serves it.
        changed: new Map(changed.map((id, at) => [id, readOrNull(() => parsed(id, texts[at]))])),
        latest: Number(found.at(-1) ?? revision),
      };
    },
    /** The ids of stored lanes that cannot be read. */
    async damaged(): Promise<LaneId[]> {
      const all = Object.entries(await redis.hgetall(stored));
      return all.flatMap(([id, text]) => (readOrNull(() => parsed(id, text)) === null ? [id] : []));
    },
    get: async (id: LaneId): Promise<StoredLane | null> => parsed(id, await redis.hget(stored, id)),
    fieldsOf,
    checked,

    /** What a process that serves the lane needs. Throws an InputError if this process cannot. */
    settingsOf(lane: StoredLane): LaneRules | LaneSettings {
      const { id, revision, state } = lane;
      const isServing = 'messagingBaseUrl' in config;
      const stored = { id, revision, isLeaving: state === 'leaving' };
      if (!isServing) {
        const rules = readLane({ ...lane.fields, name: lane.name }, schema, {
          report: () => {},
          reportMissing: () => {},
        });
        if (rules === undefined) throw new InputError('its settings cannot be read');
        const { credentials: _, ...open } = rules;
        return { ...open, stored: opens(lane) ? stored : { ...stored, problem: DO_NOT_OPEN } };
      }
      const settings = checked(lane.name, fieldsOf(lane));
      const url = config.storedLanes[settings.profile];
      if (
        settings.credentials.kind === 'account' &&
        settings.credentials.scope !== undefined &&
        !config.tokenUrl
      )
        throw new InputError('TOKEN_URL must be set, because its client gets its tokens there');
      return { ...settings, stored, ...(url === config.messagingBaseUrl ? {} : { baseUrl: url }) };
    },

    /** Stores a new lane. Rejects with a LaneTakenError, or an InputError for invalid fields. */
    async add(name: string, some: LaneFields, created: Pick<Content, 'createdAt' | 'createdBy'>) {
      const given = withoutNull(some);
      const settings = checked(name, given);
      checkCost(settings);
      const credential = await digestOf(settings, settings.credentials);
      const isNew = { id: '', revision: 0, name };
      return write('add', isNew, { ...created, name, ...sealed(name, given) }, credential);
    },

    /** Changes fields of a lane; null removes one. */
    async set(lane: StoredLane, changes: LaneFields) {
      const given = withoutNull({ ...fieldsBefore(lane, changes), ...changes });
      const settings = checked(lane.name, given);
      checkCost(settings);
      const credential = await digestOf(settings, settings.credentials);
      const { name, createdAt, createdBy } = lane;
      return write('set', lane, { name, createdAt, createdBy, ...sealed(name, given) }, credential);
    },

    /** Seals the credentials of a lane with the current key, after a change of `SECRETS_KEY`. */
    async sealAgain(lane: StoredLane): Promise<void> {
      if (lane.state !== 'active' || lane.sealedWith === seal.fingerprint) return;
      await write('set', lane, { ...content.parse(lane), ...sealed(lane.name, fieldsOf(lane)) });
    },

    /** Begins to remove a lane: no process starts anything on it. `isClosing`: whether {@link reopen} may follow. */
    async leave(lane: StoredLane, isClosing: boolean) {
      return write('leave', lane, { ...content.parse(lane), isClosing });
    },

    /** Calls off the removal of a lane. */
    async reopen(lane: StoredLane) {
      return write('set', lane, { ...content.parse(lane), isClosing: false });
    },

    /** Deletes the secrets of a lane, and frees its name. */
    async remove(lane: StoredLane) {
      const { name, createdAt, createdBy } = lane;
      return write('remove', lane, {
        name,
        fields: {},
        sealed: '',
        sealedWith: '',
        createdAt,
        createdBy,
      });
    },
  };
}

/** See {@link storedLanes}. */
export type StoredLanes = ReturnType<typeof storedLanes>;

/** Fields without those that get their default. */
const withoutNull = (given: LaneFields): LaneFields =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));

/** The paths of all fields, also of those in an account or a client. */
function pathsOf(given: LaneFields): string[][] {
  return Object.entries(given).flatMap(([field, value]) => [
    [field],
    ...(typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.keys(value).map((inner) => [field, inner])
      : []),
  ]);
}
