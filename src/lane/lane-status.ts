import { z } from 'zod';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { luaList } from '../redis/lua-list.js';
import { loadScript } from '../redis/script.js';
import { type ScriptEvent, scriptEvents } from './script-events.js';

const view = z.object({
  now: z.number(),
  sends: z.number(),
  polls: z.number(),
  inFlightSends: z.number(),
  inFlightPolls: z.number(),
  limit: z.number().transform((limit) => (limit === 0 ? null : limit)),
  learned: z.number().transform((learned) => (learned === 0 ? null : learned)),
  nextPermitAt: z.number(),
  permitsToCome: luaList(z.object({ at: z.number(), permits: z.number() })),
  stopped: z.string(),
  held: z.string(),
  paused: z.string(),
  pausedUntil: z.number(),
  graceUntil: z.number(),
  throttled: z.number(),
  epoch: z.number(),
  maxRecipients: z.number(),
  running: z.number(),
  scheduled: z.number(),
  awaiting: z.number(),
  unknown: z.number(),
  sendAt: z.number(),
  pollAt: z.number(),
  sendBlocked: z.string(),
  pollBlocked: z.string(),
  latency: z.number(),
  forgotten: z.number(),
  pollDueAt: z.number(),
});

/**
 * How a lane stands. Times in ms; `sendAt`, `pollAt`: when a turn can do something, -1 for not before it is woken.
 * `pollDueAt`: 0 for none.
 */
export type LaneView = z.output<typeof view>;

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

const lookScript = loadScript(import.meta.url, './lane-status.lua', (reply) =>
  view.parse(JSON.parse(z.string().parse(reply))),
);
const tendScript = loadScript(import.meta.url, '../recovery/sweep-lane.lua', (reply): Tended => {
  const [found, events] = z.tuple([z.string(), z.string()]).parse(reply);
  return { ...tended.parse(JSON.parse(found)), events: scriptEvents(events) };
});

/** Looks after one lane. `rules` is the JSON of its ScriptRules. */
export function laneViews(redis: Redis, keys: Keys, lane: string, rules: string) {
  const named = (...names: string[]): string[] => names.map((name) => keys.lane(lane, name));
  return {
    look: (now?: number): Promise<LaneView> =>
      lookScript.run(
        redis,
        named('lane', 'window', 'claims', 'polls', 'running', 'scheduled', 'unpolled', 'polled', 'unknown'),
        [rules, now ?? ''],
      ),
    /**
     * Launches and lapses what is due, and names what is overdue. `retentionMs`: how long an ended campaign is kept.
     * `alive`: the processes that give signs of life; the crew keeps no others.
     */
    tend: (retentionMs: number, now?: number, alive: readonly string[] = []): Promise<Tended> =>
      tendScript.run(
        redis,
        named(
          'lane',
          'claims',
          'polls',
          'running',
          'scheduled',
          'states',
          'unknown',
          'ended',
          'lapsing',
          'importing',
        ),
        [rules, retentionMs, JSON.stringify(alive), now ?? ''],
      ),
  };
}
