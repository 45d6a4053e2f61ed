import type { Contract } from './contract/contract.js';
import type { FetchOptions, NoRecords } from './fetch.js';
import type { RecordsInput } from './contract/input.js';
import type { RecordsDownload } from './open-file.js';
import type { RecordsResolution } from './resolve.js';
import type { RequestOptions } from './send-request.js';
import type { RecordsOptions } from './store/slots.js';
import type { RecordsState } from './store/states.js';
import type { RecordsRequest } from './store/view.js';

/** Which requests to list. */
export interface RecordsFilter {
  /** By name. */
  readonly lanes?: readonly string[] | undefined;
  readonly state?: RecordsState | undefined;
  readonly limit?: number | undefined;
}

/** Options of a download. */
export interface DownloadOptions extends RecordsOptions {
  /** Those that only the download uses. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
}

/** Reads the requests that Redis has. The service is not asked, and no contract is needed. */
export interface RequestReader {
  /** Rejects with a `NotFoundError` if there is no such request. */
  show(id: string): Promise<RecordsRequest>;
  /** The requests of all credentials, newest first. */
  list(filter?: RecordsFilter): Promise<RecordsRequest[]>;
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
