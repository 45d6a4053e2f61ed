import { InputError } from '../campaign/errors.js';
import { systemMachine } from '../clock.js';
import { type Config, type LocalConfig, serviceConnection } from '../config/index.js';
import type { Events } from '../events/events.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import type { Contract } from './contract.js';
import type { RecordsService } from './records.js';
import type { RecordsLanes, RequestReader } from './requests.js';

/** Requests call records and downloads them. */
export interface Records extends Omit<RecordsService, 'close'>, RequestReader {
  /** Reads and checks the contract. Rejects with a ConfigError that names every invalid member; null if none is set. */
  contract(): Promise<Contract | null>;
}

interface RecordsOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly events: Events;
  readonly config: Config | LocalConfig;
  readonly lanes: RecordsLanes;
}

/** Reads the contract and loads the code on first use, because most processes never use call records. */
export function openRecords({
  redis,
  keys,
  events,
  config,
  lanes,
}: RecordsOptions): Records & { close(): Promise<void> } {
  const { contractFile, inFlight, simulatorOrigin } = config.records;
  let opening: Promise<RecordsService> | undefined;
  const direct = { proxy: undefined, ca: undefined, timeoutMs: config.requestTimeoutMs };
  const route = (url: string) => ('messagingBaseUrl' in config ? serviceConnection(config, url) : direct);

  async function contract(): Promise<Contract | null> {
    if (contractFile === undefined) return null;
    const { readContract } = await import('./contract.js');
    return readContract(contractFile);
  }

  async function open(): Promise<RecordsService> {
    const found = await contract();
    if (found === null) {
      throw new InputError(
        'call records need a contract: set RECORDS_CONTRACT (docs/call-records.md describes it)',
      );
    }
    const [{ createRecords }, { createRecordsClient }, { recordsStore }] = await Promise.all([
      import('./records.js'),
      import('./client.js'),
      import('./store.js'),
    ]);
    return createRecords({
      store: recordsStore(redis, keys, config.retentionMs),
      contract: found,
      client: createRecordsClient(found, { origin: simulatorOrigin, machine: systemMachine, route }),
      lanes,
      events,
      machine: systemMachine,
      inFlight,
    });
  }

  const service = (): Promise<RecordsService> => {
    // An operator may correct the contract and try again.
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };

  const reader = async (): Promise<RequestReader> => {
    const [{ requestReader }, { recordsStore }] = await Promise.all([
      import('./requests.js'),
      import('./store.js'),
    ]);
    return requestReader(recordsStore(redis, keys, config.retentionMs), lanes);
  };

  return {
    contract,
    request: async (input, options) => (await service()).request(input, options),
    status: async (id, options) => (await service()).status(id, options),
    download: async (id, options) => (await service()).download(id, options),
    fetch: async (wanted, options) => (await service()).fetch(wanted, options),
    resolve: async (id, resolution, options) => (await service()).resolve(id, resolution, options),
    show: async (id) => (await reader()).show(id),
    list: async (filter) => (await reader()).list(filter),
    async close() {
      (await opening?.catch(() => undefined))?.close();
    },
  };
}
