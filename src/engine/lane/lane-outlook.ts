import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { luaList } from '../../base/redis/script.js';
import { type LaneOutlook, laneFacts, type OutlookCampaign } from '../../campaign/estimate/lane-outlook.js';
import { ALWAYS, inZone } from '../../campaign/estimate/window.js';
import { requestsLeft } from '../../campaign/limits/request-count.js';
import { readOrNull } from '../recipients/damaged.js';
import { type LaneStore, laneScript } from '../scripts/lane-script.js';
import { RELEASED, stateMembers } from '../store/campaigns.js';
import { type Cause, closedList, firstClosed } from './closed.js';

/** What an estimate needs of a campaign's state. */
const stored = z.object({
  ordinals: z.number(),
  cursor: z.number(),
  batch: z.number(),
  slice: z.number(),
  released: RELEASED,
  remainder: z.string(),
  lapseAt: z.number(),
  weight: z.number(),
  notBefore: z.number().default(0),
  window: z.string().optional(),
  part: z.number().optional(),
  counts: z.object({ planned: z.number().optional() }).optional(),
});

type StoredCampaign = z.output<typeof stored>;

/**
 * Campaigns by the text of their states. Of hundreds that wait, few change between two calls, and parsing all of them would take longer
 * than reading them.
 */
const parsed = new LRUCache<string, StoredCampaign>({ max: 2_000 });

/** Null for one that cannot be read, which the lane passes over. */
function parseStored(text: string): StoredCampaign | null {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const state = readOrNull(() => stored.parse(stateMembers(text)));
  if (state === null) return null;
  parsed.set(text, state);
  return state;
}

/** Why a lane starts no requests for a time that nothing bounds. */
const OBSTACLES = {
  stopped: 'sending is stopped until you resume it',
  held: 'sending is held until you resume it',
  unbounded: 'nothing bounds how much Redis may lose',
  noToken: 'the account service gives no access token',
  unreachable: 'the service does not respond',
} as const satisfies Partial<Record<Cause, string>>;
const UNBOUNDED_CAUSES = Object.keys(OBSTACLES) as (keyof typeof OBSTACLES)[];

const numbers = luaList(z.number());
const facts = laneFacts.extend({
  returning: numbers,
  due: numbers,
  closed: closedList,
  /** By the ids of outboxes: how many of their messages are due, each of which is a request. */
  outboxes: z.record(z.string(), z.number()),
});
const states = z.array(z.string().nullable());
const reply = z.tuple([z.string(), z.array(z.string()), states, z.array(z.string()), states]);
const outlookScript = laneScript(import.meta.url, './lane-outlook.lua', (raw) => reply.parse(raw));

/** Reads what an estimate of the lane's campaigns needs. `now` is for tests and simulations. */
export async function readLaneOutlook(store: LaneStore, now?: number): Promise<LaneOutlook> {
  const [json, running, runningStates, scheduled, scheduledStates] = await outlookScript(store, {
    time: now,
  });
  const most = store.rules.maxRecipients;
  const { closed, outboxes, ...outlook } = facts.parse(JSON.parse(json));
  const first = firstClosed({ closed }, UNBOUNDED_CAUSES);
  return {
    ...outlook,
    obstacle: first === undefined ? null : OBSTACLES[first.cause],
    campaigns: openCampaigns(running, runningStates, most, outboxes),
    scheduled: openCampaigns(scheduled, scheduledStates, most),
  };
}

/** The campaigns that still send, given their ids and scores in turn, and their states. */
function openCampaigns(
  members: readonly string[],
  texts: readonly (string | null)[],
  most: number,
  outboxes: Readonly<Record<string, number>> = {},
): OutlookCampaign[] {
  const open: OutlookCampaign[] = [];
  for (const [at, text] of texts.entries()) {
    const state = text === null ? null : parseStored(text);
    if (state?.remainder !== 'planned') continue;
    const { lapseAt, weight, notBefore, part } = state;
    // When which of its parts are open is known only together with their hours and times.
    const window = part === undefined ? state.window : inZone(state.window ?? ALWAYS);
    const [id = '', score] = members.slice(2 * at, 2 * at + 2);
    const requests = outboxes[id] ?? requestsLeft({ ...state, batch: Math.min(most, state.batch) });
    open.push({ id, score: Number(score), requests, lapseAt, weight, notBefore, window });
  }
  return open;
}
