import type { Machine } from '../base/clock.js';
import { InputError } from '../campaign/errors/errors.js';
import { statusAsker } from './ask-status.js';
import type { Contract } from './contract/contract.js';
import { templatesOf } from './contract/contradictions.js';
import { checkInput, checkParameters, type RecordsInput } from './contract/input.js';
import { contractCredentials } from './credentials.js';
import { type FetchOptions, fetcher, type NoRecords, noRecords, reasonFor } from './fetch.js';
import { fileOpener, type RecordsDownload } from './open-file.js';
import { type RecordsResolution, resolveRequest } from './resolve.js';
import { type RecordsContext, type RequestOptions, requestSender } from './send-request.js';
import type { RecordsAccount, RecordsLanes } from './store/lanes.js';
import { type RequestReader, requestReader } from './store/requests.js';
import { type RecordsOptions, slotTaker } from './store/slots.js';
import { hasFile } from './store/states.js';
import type { StoredRequest } from './store/store.js';
import type { RecordsRequest } from './store/view.js';

/** Options of a download. */
export interface DownloadOptions extends RecordsOptions {
  /** Those that only the download uses. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
}

/** Requests call records and downloads them, as the contract says. */
export interface Records extends RequestReader {
  /** Reads and checks the contract. Rejects with a `ConfigError` that names every invalid member; null if none is set. */
  contract(): Promise<Contract | null>;
  /**
   * Requests records, at most once: if the process dies before the response, the outcome is unknown until an operator resolves it.
   * A request with the same key that has not ended without a file is returned instead. Rejects with an `InputError` before anything is sent.
   */
  request(input: RecordsInput, options?: RequestOptions): Promise<RecordsRequest>;
  /** Asks the service how far an open request is, at most once per interval of the contract. */
  status(id: string, options?: RecordsOptions): Promise<RecordsRequest>;
  /** Opens the download of a file that is ready. */
  download(id: string, options?: DownloadOptions): Promise<RecordsDownload | NoRecords>;
  /** Requests records or takes up a request, waits until its file is ready, and opens the download. */
  fetch(
    wanted: RecordsInput | { readonly id: string },
    options?: FetchOptions,
  ): Promise<RecordsDownload | NoRecords>;
  /** Settles a request with an unknown outcome, or abandons one that is planned. */
  resolve(id: string, resolution: RecordsResolution, options?: RecordsOptions): Promise<RecordsRequest>;
}

/** Call records, and what only this installation may do with them. */
export interface OpenRecords extends Records {
  /** Checks what would be requested or downloaded. Rejects with an `InputError` if it is invalid. Stores nothing. */
  check(wanted: RecordsInput | { readonly id: string }, options?: DownloadOptions): Promise<void>;
  close(): Promise<void> | void;
}

/** What needs a contract. */
export type RecordsService = Omit<OpenRecords, 'contract' | keyof RequestReader>;

/** What {@link createRecords} works with. */
interface RecordsDeps extends Omit<RecordsContext, 'credentials'> {
  readonly lanes: RecordsLanes;
  /** The client of the contract; undefined: it has none. */
  readonly account: RecordsAccount | undefined;
}

/** See {@link Records}. */
export function createRecords({ lanes, account, ...deps }: RecordsDeps): RecordsService {
  const { store, contract, client, machine, inFlight } = deps;
  const context: RecordsContext = { ...deps, credentials: contractCredentials(contract, account) };
  const takeSlot = slotTaker(store, machine, inFlight);
  const send = requestSender(context);
  const asker = statusAsker(context, takeSlot);
  const open = fileOpener(context, takeSlot, asker);
  const fetched = fetcher(context, { send, asker, open });
  const downloadParameters = parametersOfDownload(contract);
  const { show } = requestReader(store, lanes);
  const read = async (id: string) => {
    const stored = await store.read(id);
    return { stored, lane: await lanes.withId(stored.lane) };
  };

  async function requested(input: RecordsInput, options: RequestOptions): Promise<StoredRequest> {
    const lane = await lanes.named(input.lane);
    const content = checkInput(input, contract, machine.clock());
    // A key belongs to its lane: several lanes may share an account.
    const key = `${content.key}:${lane.id}`;
    const details = { ...content, lane: lane.id };
    return send(lane, { id: newRecordsId(machine), key, content, details }, options);
  }

  return {
    async check(wanted, { parameters = {} } = {}) {
      downloadParameters(parameters);
      if ('id' in wanted) return;
      await lanes.named(wanted.lane);
      checkInput(wanted, contract, machine.clock());
    },

    request: async (input, options = {}) => show((await requested(input, options)).id),

    async status(id, options = {}) {
      const { stored, lane } = await read(id);
      const isOpen = stored.state === 'pending' || stored.state === 'ready';
      if (isOpen && stored.waitMs === 0) await asker.ask(stored, lane, options);
      return show(id);
    },

    async download(id, options = {}) {
      const { stored, lane } = await read(id);
      const parameters = downloadParameters(options.parameters ?? {});
      const opened = hasFile(stored.state) ? await open(stored, lane, parameters, options) : null;
      if (opened?.kind === 'file') return opened;
      const mayRepeat = opened !== null || ['planned', 'requesting', 'pending'].includes(stored.state);
      return noRecords(await show(id), opened?.reason ?? reasonFor(stored), mayRepeat);
    },

    async fetch(wanted, options = {}) {
      const parameters = downloadParameters(options.parameters ?? {});
      const stored = 'id' in wanted ? await store.read(wanted.id) : await requested(wanted, options);
      return fetched(stored, await lanes.withId(stored.lane), parameters, options);
    },

    async resolve(id, resolution, options = {}) {
      const { stored, lane } = await read(id);
      await resolveRequest({ store, send }, stored, lane, resolution, options);
      return show(id);
    },

    close: () => client.close(),
  };
}

/** Checks parameters that only the download uses, such as its format. */
function parametersOfDownload(contract: Contract) {
  const templates = [...templatesOf(contract, 'request'), ...templatesOf(contract, 'status')];
  const elsewhere = templates.flatMap(({ names }) => names);
  return (given: Readonly<Record<string, string>>): Record<string, string> => {
    const parameters = checkParameters(given, contract, true);
    const wrong = Object.keys(parameters).find((name) => elsewhere.includes(name));
    if (wrong === undefined) return parameters;
    const reason = `the parameter ${wrong} belongs to the request and cannot be changed for its download`;
    throw new InputError(reason, { field: `parameters/${wrong}` });
  };
}

/** An id that begins with the time, so that ids sort in the order of their creation. */
function newRecordsId({ clock, random }: Machine): string {
  const time = clock().toString(36).padStart(8, '0');
  return `${time}${Math.floor(random() * 36 ** 5)
    .toString(36)
    .padStart(5, '0')}`;
}
