import type { AccountCredentials } from '../../base/account.js';
import { accountOf, type Config, type LocalConfig } from '../../base/config/index.js';
import { InputError } from '../../campaign/errors/errors.js';
import { listed } from '../../campaign/errors/listed.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import type { TokenCache } from '../../service/auth/token-cache.js';
import { accountId } from '../../service/auth/token-record.js';

/** The tokens of an account or of a client. */
export interface RecordsAccount {
  /** A digest that names the account. */
  readonly id: string;
  readonly tokens: Pick<TokenCache, 'get' | 'newerThan'>;
}

/** The credentials of a lane. */
export interface RecordsAccess {
  readonly apiKey: string | undefined;
  readonly account: RecordsAccount | undefined;
}

/** A lane as call records use it. */
export interface RecordsLane {
  readonly id: string;
  readonly name: string;
  /** Its credentials. Throws an InputError if they are not known here. */
  access(): RecordsAccess;
}

/** An account with its tokens. */
export function recordsAccount(
  account: AccountCredentials,
  tokens: RecordsAccount['tokens'],
): RecordsAccount {
  return { id: accountId(account), tokens };
}

/** The lanes of a process as call records use them. `cacheOf`: the token cache of a lane with an account. */
export function recordsLanes(
  config: Config | LocalConfig,
  finder: Pick<LaneFinder, 'named' | 'nameOf' | 'idOf'>,
  cacheOf: (lane: string) => TokenCache | null,
) {
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
    const account = accountOf(credentials);
    const cache = cacheOf(name);
    return {
      apiKey: credentials.kind === 'apiKey' ? credentials.apiKey : undefined,
      account: account && cache ? recordsAccount(account, cache) : undefined,
    };
  };
  const lane = (id: string, name: string): RecordsLane => ({ id, name, access: () => accessTo(name) });

  return {
    /** By name; default: the only lane of the configuration. Rejects with a NotFoundError. */
    async named(name: string | undefined): Promise<RecordsLane> {
      const names = config.lanes.filter(({ stored }) => stored === undefined).map((each) => each.name);
      const [only, ...others] = names;
      if (name === undefined && (only === undefined || others.length > 0)) {
        throw new InputError(`there are several lanes; choose one: ${listed(names)}`, { field: 'lane' });
      }
      const named = await finder.named(name ?? only ?? '');
      return lane(named.id, named.name);
    },
    withId: async (id: string): Promise<RecordsLane> => lane(id, await finder.nameOf(id)),
    /** The id of a lane, configured or not. */
    idOf: (name: string): Promise<string> => finder.idOf(name),
  };
}

/** Finds lanes. Their credentials are read when they are needed. See {@link recordsLanes}. */
export type RecordsLanes = ReturnType<typeof recordsLanes>;
