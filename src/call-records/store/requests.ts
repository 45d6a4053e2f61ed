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
export function requestReader(store: RecordsStore, lanes: RecordsLanes) {
  const view = async (stored: StoredRequest): Promise<RecordsRequest> =>
    viewOf(stored, (await lanes.withId(stored.lane)).name);
  return {
    /** Rejects with a NotFoundError if there is no such request. */
    show: async (id: string): Promise<RecordsRequest> => view(await store.read(id)),

    /** The requests of all credentials, newest first. */
    async list({ lanes: only, state, limit }: RecordsFilter = {}): Promise<RecordsRequest[]> {
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

/** See {@link requestReader}. */
export type RequestReader = ReturnType<typeof requestReader>;
