import { readFile } from 'node:fs/promises';
import type { AccountCredentials } from '../../../base/account.js';
import {
  accountOf,
  type Config,
  type Credentials,
  type Environment,
  isLoopback,
  loadConfig,
  type SimulatorAddress,
} from '../../../base/config/index.js';
import { PROFILES } from '../../../base/profiles/index.js';
import type { SimulatorOptions } from '../../../tools/simulator/index.js';

/**
 * The configuration with the simulator instead of the service: the user's lanes and quotas, with invented credentials. `quota`: the requests per
 * hour of each lane instead.
 */
export function simulatedConfig(
  env: Environment,
  address: SimulatorAddress,
  redisUrl: string,
  quota?: number | undefined,
): Config {
  const { callback, ...config } = loadConfig(env, { simulator: address });
  /** The invented user name of each real one. */
  const users = new Map<string, string>();
  return {
    ...config,
    // Real notifications arrive at a public address.
    callback: callback !== undefined && isLoopback(callback.url) ? callback : undefined,
    redisUrl,
    // Keeps simulated campaigns apart from real ones, so that neither can be sent by the other's workers.
    redisPrefix: `${config.redisPrefix}-simulator`,
    lanes: config.lanes.map((lane) => ({
      ...lane,
      hourlyQuota: quota ?? lane.hourlyQuota,
      credentials: invented(lane.name, lane.credentials, accountOf(lane.credentials), users),
    })),
  };
}

/**
 * Credentials of the same kind for the simulator. Lanes of one account share an invented one, and act for the same child
 * organisations as the real ones.
 */
function invented(
  lane: string,
  { kind, ...given }: Credentials,
  real: AccountCredentials | undefined,
  users: Map<string, string>,
): Credentials {
  if (real !== undefined && !users.has(real.username)) users.set(real.username, `simulator-${lane}`);
  const account = {
    username: users.get(real?.username ?? '') ?? `simulator-${lane}`,
    password: 'simulator',
    ...(real?.scope === undefined ? {} : { scope: real.scope }),
    ...(real?.targetAccountId === undefined ? {} : { targetAccountId: real.targetAccountId }),
  };
  if (kind === 'account') return { kind, ...account, xAuthorization: given.xAuthorization ?? 'none' };
  const apiKey = `simulator-${lane}`;
  return given.xAuthorization === 'accessToken'
    ? { kind, apiKey, account, xAuthorization: 'accessToken' }
    : { kind, apiKey };
}

/** Simulator options for call records, if there is a contract. Rejects with a ConfigError if it is invalid. */
export async function simulatorRecords({ records, lanes }: Config): Promise<SimulatorOptions> {
  const { contractFile } = records;
  if (contractFile === undefined) return {};
  const { readContract } = await import('../../../call-records/contract/read-contract.js');
  const { client } = await readContract(contractFile);
  const contract = JSON.parse((await readFile(contractFile, 'utf8')).replace(/^\uFEFF/, ''));
  const { SIMULATED_CLIENT } = await import('../../../call-records/open-records.js');
  const clients = client ? [...clientsOf(lanes), { ...SIMULATED_CLIENT, scope: client.scope }] : undefined;
  return { records: { contract }, ...(clients && { clients }) };
}

/** Simulator options for the lanes of such a configuration; a lane with quota `auto` has no quota there. */
export function simulatorLanes({ lanes, quotaWindowMs }: Config): SimulatorOptions {
  const quotaOf = (quota: number | 'auto') => ({
    quota: quota === 'auto' ? null : quota,
    windowMs: quotaWindowMs,
  });
  return {
    keys: lanes.map(({ credentials, hourlyQuota }) =>
      credentials.kind === 'apiKey'
        ? { key: credentials.apiKey, ...quotaOf(hourlyQuota) }
        : { account: credentials.targetAccountId ?? credentials.username, ...quotaOf(hourlyQuota) },
    ),
    accounts: accountsOf(lanes),
    clients: clientsOf(lanes),
  };
}

/** Each account once, as a reseller of the accounts that its lanes act for. */
function accountsOf(lanes: Config['lanes']) {
  const accounts = new Map<string, { username: string; password: string; targets: Set<string> }>();
  for (const { credentials } of lanes) {
    const account = accountOf(credentials);
    if (account === undefined || account.scope !== undefined) continue;
    const { username, password, targetAccountId } = account;
    const known = accounts.get(username) ?? { username, password, targets: new Set() };
    if (targetAccountId !== undefined) known.targets.add(targetAccountId);
    accounts.set(username, known);
  }
  return Array.from(accounts.values(), ({ targets, ...account }) => ({
    ...account,
    ...(targets.size === 0 ? {} : { reseller: true, targetAccountIds: [...targets] }),
  }));
}

/** The OAuth 2 clients, each with the products of its scopes. */
function clientsOf(lanes: Config['lanes']) {
  return lanes.flatMap(({ profile, credentials }) => {
    const { username: id, password: secret, scope } = accountOf(credentials) ?? {};
    const scheme = PROFILES[profile].credentials;
    if (id === undefined || secret === undefined || scope === undefined || scheme.kind !== 'client')
      return [];
    return [{ id, secret, products: scope.split(' ').filter((each) => each !== scheme.scope) }];
  });
}
