import { systemMachine } from '../base/clock.js';
import {
  type Config,
  ConfigError,
  cleartextProblems,
  type LocalConfig,
  serviceConnection,
} from '../base/config/index.js';
import type { Events } from '../base/events/events.js';
import { lazyMethods } from '../base/lazily.js';
import type { Redis } from '../base/redis/connection.js';
import type { Keys } from '../base/redis/keys.js';
import { InputError } from '../campaign/errors/errors.js';
import type { Contract, ContractClient } from './contract/contract.js';
import type { OpenRecords, RecordsService } from './records.js';
import type { RecordsAccount, RecordsLanes } from './store/lanes.js';
import type { RequestReader } from './store/requests.js';

interface RecordsOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly events: Events;
  readonly config: Config | LocalConfig;
  readonly lanes: RecordsLanes;
  /** The tokens of an OAuth 2 client, which gets them at `tokenUrl`. */
  accountOf(client: RecordsClientCredentials): RecordsAccount;
}

/** An OAuth 2 client with its secret. */
export interface RecordsClientCredentials extends ContractClient {
  readonly id: string;
  readonly secret: string;
}

/** The client of a contract at a simulator. */
export const SIMULATED_CLIENT = { id: 'simulator-records', secret: 'simulator' };
const SIMULATED_TOKEN_PATH = '/oauth2/token';

/** Reads the contract and loads the code on first use, because most processes never use call records. */
export function openRecords(options: RecordsOptions): OpenRecords {
  const { redis, keys, events, config, lanes, accountOf } = options;
  const { contractFile, inFlight, simulatorOrigin } = config.records;
  const direct = { proxy: undefined, ca: undefined, timeoutMs: config.requestTimeoutMs };
  const route = (url: string) => ('messagingBaseUrl' in config ? serviceConnection(config, url) : direct);
  const openStore = async () =>
    (await import('./store/store.js')).recordsStore(redis, keys, config.retentionMs);
  const reader = async (): Promise<RequestReader> =>
    (await import('./store/requests.js')).requestReader(await openStore(), lanes);

  async function contract(): Promise<Contract | null> {
    if (contractFile === undefined) return null;
    return (await import('./contract/read-contract.js')).readContract(contractFile);
  }

  async function open(): Promise<RecordsService> {
    const configured = await contract();
    if (configured === null) {
      throw new InputError(
        'call records need a contract: set RECORDS_CONTRACT (docs/call-records.md describes it)',
      );
    }
    const [{ createRecords }, { createRecordsClient }] = await Promise.all([
      import('./records.js'),
      import('./contract/client.js'),
    ]);
    const machine = systemMachine;
    return createRecords({
      account: configured.client ? accountOf(clientCredentials(config, configured.client)) : undefined,
      store: await openStore(),
      contract: configured,
      client: createRecordsClient(configured, { origin: simulatorOrigin, machine, route }),
      ...{ lanes, events, machine, inFlight },
    });
  }

  let opening: Promise<RecordsService> | undefined;
  const service = (): Promise<RecordsService> => {
    // An operator may correct the contract and try again.
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };

  return {
    contract,
    ...lazyMethods(service, ['check', 'request', 'status', 'download', 'fetch', 'resolve']),
    ...lazyMethods(reader, ['show', 'list']),
    async close() {
      (await opening?.catch(() => undefined))?.close();
    },
  };
}

/** Throws a ConfigError if the client has no secret, or would send it over the network in clear. */
function clientCredentials(
  { records, allowInsecure: allowed }: Config | LocalConfig,
  { tokenUrl, scope }: ContractClient,
): RecordsClientCredentials {
  const { contractFile, simulatorOrigin, client } = records;
  const { id, secret } = client;
  // A simulator knows no real secrets, and no real service gets its requests.
  if (simulatorOrigin !== undefined)
    return { ...SIMULATED_CLIENT, scope, tokenUrl: `${simulatorOrigin}${SIMULATED_TOKEN_PATH}` };
  if (id === undefined || secret === undefined) {
    const problem = 'RECORDS_CLIENT_ID and RECORDS_CLIENT_SECRET must be set: the contract has a client';
    throw new ConfigError([problem]);
  }
  const services = { [`${contractFile}: client.tokenUrl`]: tokenUrl };
  const problems = cleartextProblems({
    ...{ allowed, services, hasAccounts: false },
    ...{ redisUrl: undefined, secretsKey: undefined },
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return { id, secret, tokenUrl, scope };
}
