import type { LaneId } from '../../base/redis/keys.js';
import { asyncOf, inBatches } from '../in-batches.js';
import { wantsType } from './endpoint.js';
import { type Reader, type Room, type SourceDeps, webhookSources } from './sources.js';
import type { Cursors, Step } from './store.js';

/*
 * What has happened on a lane since the last requests to an endpoint, by all sources of events (sources.ts).
 */

const LANES_AT_ONCE = 50;

/** Opens the reader. It does not access Redis before the first call. */
export function laneReader(deps: SourceDeps) {
  const sources = webhookSources(deps);

  return {
    /** Changes with everything that happens on a lane. */
    mark: async (lane: LaneId): Promise<string> =>
      JSON.stringify(await Promise.all(sources.map((source) => source.mark(lane)))),

    /** The lanes on which something has happened that an endpoint was not told. */
    async ahead(lanes: readonly LaneId[], cursors: Cursors): Promise<LaneId[]> {
      const found: LaneId[] = [];
      const look = async (lane: LaneId) => {
        const news = sources.map((source) => source.hasNews(lane, cursors.get(source.cursor(lane)) ?? ''));
        return { lane, isAhead: (await Promise.all(news)).includes(true) };
      };
      for await (const { lane, isAhead } of inBatches(asyncOf(lanes), LANES_AT_ONCE, look))
        if (isAhead) found.push(lane);
      return found;
    },

    /** Reads what an endpoint was not told of a lane, and how far. What it does not want is passed over. */
    async read(
      reader: Reader,
      lane: LaneId,
      cursors: Cursors,
      room: Room,
    ): Promise<{ steps: readonly Step[]; hasMore: boolean }> {
      const read = await Promise.all(
        sources.map(async (source) => {
          const cursor = source.cursor(lane);
          const from = cursors.get(cursor) ?? '';
          const isWanted = source.types.some((type) => wantsType(reader, type));
          const part = isWanted
            ? await source.read(reader, lane, from, room)
            : { to: await source.end(lane), deliveries: [], hasMore: false };
          return { cursor, from, ...part };
        }),
      );
      return {
        steps: read.filter(({ from, to, removed }) => from !== to || removed !== undefined),
        hasMore: read.some(({ hasMore }) => hasMore),
      };
    },

    /** The cursors of a new endpoint, which gets what happens from now on. */
    async ends(lanes: readonly LaneId[]): Promise<Map<string, string>> {
      const all = await Promise.all(
        lanes.flatMap((lane) =>
          sources.map(async (source) => [source.cursor(lane), await source.end(lane)] as const),
        ),
      );
      return new Map(all.filter(([, text]) => text !== ''));
    },
  };
}

/** See {@link laneReader}. */
export type LaneReader = ReturnType<typeof laneReader>;
