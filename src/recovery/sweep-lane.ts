import { z } from 'zod';
import { type LaneStore, laneScript } from '../lane/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../lane/script-events.js';
import { luaList } from '../redis/lua-list.js';

const claim = z.object({ n: z.number(), c: z.string(), f: z.number(), k: z.number().default(1) });
const batchOf = ({ n, c, f, k }: z.output<typeof claim>) => ({ number: n, campaign: c, first: f, count: k });
const claims = luaList(claim).transform((list) => list.map(batchOf));
/** `isSuppressed`: it would have gone again, and its recipients are suppressed by now. */
const unknowns = luaList(claim.extend({ x: z.boolean().default(false) })).transform((list) =>
  list.map((batch) => ({ ...batchOf(batch), isSuppressed: batch.x })),
);
const ids = luaList(z.string());
const tended = z.object({
  overdueSends: claims,
  overduePolls: claims,
  resolvable: unknowns,
  deadImports: ids,
  expired: ids,
});

/** What the sweep must see to. */
export type Tended = z.output<typeof tended> & { readonly events: readonly ScriptEvent[] };

const tendScript = laneScript(import.meta.url, '../recovery/sweep-lane.lua', (reply): Tended => {
  const [found, events] = z.tuple([z.string(), z.string()]).parse(reply);
  return { ...tended.parse(JSON.parse(found)), events: scriptEvents(events) };
});

/**
 * Launches and lapses what is due on a lane, and names what is overdue. `retentionMs`: how long an ended campaign is kept.
 * `alive`: the processes with a heartbeat; the lane forgets all others. `now` is for tests and simulations.
 */
export const sweepLaneState = (
  store: LaneStore,
  retentionMs: number,
  alive: readonly string[] = [],
  now?: number,
): Promise<Tended> => tendScript(store, { retention: retentionMs, alive: JSON.stringify(alive), time: now });
