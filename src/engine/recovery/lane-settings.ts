import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { accountOf, type Config, type LaneSettings } from '../../base/config/index.js';
import { jsonOrUndefined } from '../../base/json.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { credentialId } from '../../service/auth/login-budget.js';
import type { WorkerProcess } from './heartbeats.js';

/*
 * Which workers use other settings for a lane. A worker reads its settings when it starts, so a corrected key changes nothing before it
 * restarts. Each worker stores a keyed hash of each setting of each lane: never a value. The key is a secret of the installation; a
 * password is derived slowly first, as for the login budget, because it may be weak.
 */

/** A setting of a lane: the variable of a single lane, if there is one; the field of a lanes file; and its value. */
interface Row {
  readonly variable?: string;
  readonly field: string;
  value(lane: LaneSettings, config: Config): unknown;
}

const SETTINGS: readonly Row[] = [
  {
    variable: 'API_KEY',
    field: 'apiKey',
    value: ({ credentials }) => (credentials.kind === 'apiKey' ? credentials.apiKey : undefined),
  },
  {
    variable: 'ACCOUNT_USERNAME',
    field: 'account.username',
    value: ({ credentials }) => accountOf(credentials)?.username,
  },
  {
    variable: 'ACCOUNT_PASSWORD',
    field: 'account.password',
    value({ credentials }) {
      const account = accountOf(credentials);
      return account && credentialId(account);
    },
  },
  {
    variable: 'ACCOUNT_TARGET_ID',
    field: 'account.targetAccountId',
    value: ({ credentials }) => accountOf(credentials)?.targetAccountId,
  },
  { field: 'client.product', value: ({ credentials }) => accountOf(credentials)?.scope },
  {
    variable: 'AUTHORIZATION_HEADER',
    field: 'authorization',
    value: ({ credentials }) => credentials.kind,
  },
  {
    variable: 'X_AUTHORIZATION_HEADER',
    field: 'xAuthorization',
    value: ({ credentials }) => credentials.xAuthorization ?? 'none',
  },
  {
    variable: 'MESSAGING_BASE_URL',
    field: 'baseUrl',
    value: ({ baseUrl }, { messagingBaseUrl }) => baseUrl ?? messagingBaseUrl,
  },
  {
    variable: 'ACCOUNT_BASE_URL',
    field: 'ACCOUNT_BASE_URL',
    value({ credentials }, { accountBaseUrl }) {
      const account = accountOf(credentials);
      return account !== undefined && account.scope === undefined ? accountBaseUrl : undefined;
    },
  },
  {
    field: 'TOKEN_URL',
    value: ({ credentials }, { tokenUrl }) =>
      accountOf(credentials)?.scope === undefined ? undefined : tokenUrl,
  },
  { field: 'profile', value: ({ profile }) => profile },
  { variable: 'HOURLY_QUOTA', field: 'hourlyQuota', value: ({ hourlyQuota }) => hourlyQuota },
  { field: 'pollShare', value: ({ pollShare }) => pollShare },
  { field: 'pacing', value: ({ pacing }) => pacing },
  {
    variable: 'MAX_RECIPIENTS_PER_REQUEST',
    field: 'maxRecipientsPerRequest',
    value: ({ maxRecipientsPerRequest }) => maxRecipientsPerRequest,
  },
  { field: 'unknownOutcome', value: ({ unknownOutcome }) => Object.values(unknownOutcome) },
  { field: 'clientCorrelator', value: ({ clientCorrelator }) => clientCorrelator },
  { variable: 'SEND_WINDOW', field: 'window', value: ({ sendWindow }) => sendWindow },
];

/** A lane without a lanes file. */
const SINGLE_LANE = 'default';
/** Long enough to tell values apart, too short to be of use for anything else. */
const HASH_LENGTH = 8;

/** For each lane, by name: the hash of each setting, by its field. */
const fingerprints = z.record(z.string(), z.record(z.string(), z.string()));
type Fingerprints = z.output<typeof fingerprints>;

/** A lane for which running workers use other settings. */
export interface LaneDifference {
  readonly lane: string;
  /** The names of the settings. */
  readonly settings: readonly string[];
  /** The workers that differ. */
  readonly workers: readonly Pick<WorkerProcess, 'id' | 'host' | 'pid'>[];
  /** From which worker; null: from the configuration that was compared with them. */
  readonly than: Pick<WorkerProcess, 'id' | 'host' | 'pid'> | null;
}

/** Stores and compares the settings of the lanes of workers. */
export function laneSettings(redis: Redis, keys: Keys) {
  const key = keys.workerSettings;
  const secretOf = (): Promise<string | null> => redis.get(keys.registry.secret);
  return {
    /** Stores what this worker uses, and forgets workers that do not run. The lanes must be registered. */
    async publish(
      worker: string,
      config: Config,
      alive: readonly Pick<WorkerProcess, 'id'>[],
    ): Promise<void> {
      const secret = await secretOf();
      if (secret === null) return;
      const stored = await redis.hkeys(key);
      const gone = stored.filter((id) => id !== worker && !alive.some((each) => each.id === id));
      if (gone.length > 0) await redis.hdel(key, ...gone);
      await redis.hset(key, worker, JSON.stringify(await fingerprintsOf(config, secret)));
    },

    /** The names of the lanes that these workers have in their configurations. */
    async lanesOf(alive: readonly Pick<WorkerProcess, 'id'>[]): Promise<string[]> {
      const texts = alive.length === 0 ? [] : await redis.hmget(key, ...alive.map(({ id }) => id));
      return [...new Set(texts.flatMap((text) => Object.keys(parsed(text ?? undefined) ?? {})))];
    },

    /** Forgets a worker that stops. */
    async withdraw(worker: string): Promise<void> {
      await redis.hdel(key, worker);
    },

    /**
     * The lanes for which some of these workers use other settings than a configuration, or, without one, than the worker that started
     * last. A worker that does not serve a lane does not differ.
     */
    async differences(alive: readonly WorkerProcess[], than: Config | undefined): Promise<LaneDifference[]> {
      const [secret, stored] = await Promise.all([secretOf(), redis.hgetall(key)]);
      const newestFirst = alive
        .toSorted((one, other) => other.since.localeCompare(one.since))
        .flatMap(({ id, host, pid }) => {
          const used = parsed(stored[id]);
          return used === undefined ? [] : [{ worker: { id, host, pid }, used }];
        });
      const [newest] = newestFirst;
      if (secret === null || newest === undefined) return [];
      const expected = than === undefined ? newest.used : await fingerprintsOf(than, secret);
      const isSingle = Object.keys(expected).join() === SINGLE_LANE;
      return Object.entries(expected).flatMap(([lane, wanted]) => {
        const differing = newestFirst
          .map(({ worker, used }) => ({ worker, fields: differingFields(wanted, used[lane]) }))
          .filter(({ fields }) => fields.length > 0);
        if (differing.length === 0) return [];
        const fields = new Set(differing.flatMap((each) => each.fields));
        return {
          lane,
          settings: [...fields].map((field) => nameOf(field, isSingle)),
          workers: differing.map(({ worker }) => worker),
          than: than === undefined ? newest.worker : null,
        };
      });
    },
  };
}

/** The name under which people set a setting. */
function nameOf(field: string, isSingle: boolean): string {
  return (isSingle ? SETTINGS.find((each) => each.field === field)?.variable : undefined) ?? field;
}

/** The settings that both know and that differ. A worker of another version may know others. */
function differingFields(
  wanted: Readonly<Record<string, string>>,
  used: Readonly<Record<string, string>> | undefined,
): string[] {
  if (used === undefined) return [];
  return Object.keys(wanted).filter((field) => used[field] !== undefined && used[field] !== wanted[field]);
}

async function fingerprintsOf(config: Config, secret: string): Promise<Fingerprints> {
  const entries = config.lanes.map(async (lane) => {
    const hashes = await Promise.all(
      SETTINGS.map(async ({ field, value }) => {
        const text = JSON.stringify([lane.name, field, (await value(lane, config)) ?? null]);
        const hash = createHmac('sha256', secret).update(`settings of workers ${text}`).digest('base64url');
        return [field, hash.slice(0, HASH_LENGTH)] as const;
      }),
    );
    return [lane.name, Object.fromEntries(hashes)] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

function parsed(json = ''): Fingerprints | undefined {
  return fingerprints.safeParse(jsonOrUndefined(json)).data;
}
