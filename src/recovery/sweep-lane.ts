import { z } from 'zod';
import { type LaneStore, laneScript } from '../lane/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../lane/script-events.js';
import { luaList } from '../redis/lua-list.js';

const claim = z.object({
  number: z.number(),
  campaign: z.string(),
  first: z.number(),
  count: z.number().default(1),
});
/** `isSuppressed`: the batch would have been sent again, and its recipients are suppressed by now. */
const unknown = claim.extend({ isSuppressed: z.boolean().default(false) });
const ids = luaList(z.string());
const tended = z.object({
  overdueSends: luaList(claim),
  overduePolls: luaList(claim),
  resolvable: luaList(unknown),
  deadImports: ids,
  expired: ids,
});

/** What the sweep must see to. */
export type SweepFindings = z.output<typeof tended> & { readonly events: readonly ScriptEvent[] };

const tendScript = laneScript(import.meta.url, '../recovery/sweep-lane.lua', (reply): SweepFindings => {
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
): Promise<SweepFindings> =>
  tendScript(store, { retention: retentionMs, alive: JSON.stringify(alive), time: now });
