import { z } from 'zod';
import { type LaneStore, laneScript } from '../lane/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../lane/script-events.js';
import { luaList } from '../redis/script.js';

const claim = z.object({
  number: z.number(),
  campaign: z.string(),
  first: z.number(),
  count: z.number().default(1),
});
/** `isSuppressed`: the batch was to be sent again, but all its recipients are suppressed by now. */
const unknown = claim.extend({ isSuppressed: z.boolean().default(false) });
const ids = luaList(z.string());
const findings = z.object({
  overdueSends: luaList(claim),
  overduePolls: luaList(claim),
  resolvable: luaList(unknown),
  deadImports: ids,
  expired: ids,
});

/** What the sweep has to settle, resolve, discard, or remove. */
type SweepFindings = z.output<typeof findings> & { readonly events: readonly ScriptEvent[] };

const sweepScript = laneScript(import.meta.url, './sweep-lane.lua', (reply): SweepFindings => {
  const [found, events] = z.tuple([z.string(), z.string()]).parse(reply);
  return { ...findings.parse(JSON.parse(found)), events: scriptEvents(events) };
});

/**
 * Launches the campaigns of a lane that are due, lapses those that are too late, and lists what the sweep has to do.
 * `retentionMs`: how long an ended campaign is kept.
 * `alive`: the processes with a heartbeat; the lane forgets all others. `now` is for tests and simulations.
 */
export const sweepLaneState = (
  store: LaneStore,
  retentionMs: number,
  alive: readonly string[] = [],
  now?: number,
): Promise<SweepFindings> =>
  sweepScript(store, { retention: retentionMs, alive: JSON.stringify(alive), time: now });
