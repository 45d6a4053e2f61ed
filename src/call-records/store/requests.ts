import type { RecordsLanes } from './lanes.js';
import type { RecordsState } from './states.js';
import { type RecordsStore, type StoredRequest, viewOf } from './store.js';
import type { RecordsRequest } from './view.js';

/** Which requests to list. */
export interface RecordsFilter {
  /** By name. */
  readonly lanes?: readonly string[] | undefined;
  readonly state?: RecordsState | undefined;
  readonly limit?: number | undefined;
}

/** Reads the requests that Redis has. The service is not asked, and no contract is needed. */
export interface RequestReader {
  /** Rejects with a `NotFoundError` if there is no such request. */
  show(id: string): Promise<RecordsRequest>;
  /** The requests of all credentials, newest first. */
  list(filter?: RecordsFilter): Promise<RecordsRequest[]>;
}

/** See {@link RequestReader}. */
export function requestReader(store: RecordsStore, lanes: RecordsLanes): RequestReader {
  const view = async (stored: StoredRequest): Promise<RecordsRequest> =>
    viewOf(stored, (await lanes.withId(stored.lane)).name);
  return {
    show: async (id) => view(await store.read(id)),

    async list({ lanes: only, state, limit } = {}) {
      const matching: StoredRequest[] = [];
      const ids = only && (await Promise.all(only.map(lanes.idOf)));
      const isWanted = (stored: StoredRequest): boolean =>
        (ids === undefined || ids.includes(stored.lane)) && (state === undefined || stored.state === state);
      for (const credential of await store.credentials()) {
        let count = 0;
        for await (const stored of store.list(credential)) {
          if (!isWanted(stored)) continue;
          matching.push(stored);
          count += 1;
          if (count === limit) break;
        }
      }
      matching.sort((a, b) => b.createdAt - a.createdAt);
      return Promise.all(matching.slice(0, limit).map(view));
    },
  };
}
