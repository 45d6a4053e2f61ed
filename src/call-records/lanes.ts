import { accountOf, type Config, type LocalConfig } from '../base/config/index.js';
import { InputError } from '../campaign/errors.js';
import { listed } from '../campaign/listed.js';
import type { LaneFinder } from '../engine/lane/lane-finder.js';
import type { TokenCache } from '../service/auth/token-cache.js';
import { accountId } from '../service/auth/token-record.js';
import type { RecordsAccess, RecordsAccount, RecordsLane, RecordsLanes } from './requests.js';

/** The lanes of a process as call records use them. `cacheOf`: the token cache of a lane with an account. */
export function recordsLanes(
  config: Config | LocalConfig,
  finder: Pick<LaneFinder, 'named' | 'nameOf' | 'idOf'>,
  cacheOf: (lane: string) => TokenCache | null,
): RecordsLanes {
  const accessTo = (name: string): RecordsAccess => {
    if (!('messagingBaseUrl' in config)) {
      throw new InputError(
        'call records need the addresses and credentials of the service in the settings of this process',
      );
    }
    const lane = config.lanes.find((each) => each.name === name);
    if (lane === undefined)
      throw new InputError(`the lane ${name} is not configured here`, { field: 'lane' });
    const { credentials } = lane;
    const apiKey = credentials.kind === 'apiKey' ? credentials.apiKey : undefined;
    const account = accountOf(credentials);
    const cache = cacheOf(name);
    if (account === undefined || cache === null) return { apiKey, account: undefined };
    return { apiKey, account: recordsAccount(accountId(account), cache) };
  };
  const lane = (id: string, name: string): RecordsLane => ({ id, name, access: () => accessTo(name) });

  return {
    async named(name) {
      const names = config.lanes.map((each) => each.name);
      const [only, ...others] = names;
      if (name === undefined && (only === undefined || others.length > 0)) {
        throw new InputError(`there are several lanes; choose one: ${listed(names)}`, { field: 'lane' });
      }
      const found = await finder.named(name ?? only ?? '');
      return lane(found.id, found.name);
    },
    withId: async (id) => lane(id, await finder.nameOf(id)),
    idOf: (name) => finder.idOf(name),
  };
}

/** The tokens of the client of a contract. */
export function clientAccount(
  {
    id: username,
    secret: password,
    scope,
  }: { readonly id: string; readonly secret: string; readonly scope: string },
  cache: Pick<TokenCache, 'get' | 'newerThan'>,
): RecordsAccount {
  return recordsAccount(accountId({ username, password, scope }), cache);
}

function recordsAccount(id: string, cache: Pick<TokenCache, 'get' | 'newerThan'>): RecordsAccount {
  return {
    id,
    get: () => cache.get(),
    // The call may be refused rather than the token, which is good for sending: nothing counts against the account.
    newerThan: (generation) => cache.newerThan(generation),
  };
}
