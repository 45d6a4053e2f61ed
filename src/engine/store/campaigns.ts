import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { luaList } from '../../base/redis/script.js';
import { CAMPAIGN_STATES, PRIORITY_WEIGHT } from '../../campaign/states/campaign.js';
import { RECIPIENT_STATES } from '../../campaign/states/recipient.js';
import { readableMembers, readRecord } from '../recipients/damaged.js';
import { outboxName } from '../recipients/outbox-messages.js';
import { SLICE } from '../recipients/slice-blob.js';
import { indexEntries, lanesOf, partsOf } from './lane-index.js';

/** The state of a campaign that begins, without its recipients. A member that has this value is not stored (campaign-text.lua). */
export const STATE_DEFAULTS = {
  cursor: 0,
  batch: SLICE,
  slice: SLICE,
  remainder: 'planned',
  lapseAt: 0,
  weight: PRIORITY_WEIGHT.normal,
  contradictions: 0,
  launchAt: 0,
  endedAt: 0,
  pauseReason: '',
  pausedAt: 0,
  idleMs: 0,
  activeMs: 0,
  changes: 0,
} as const;

const count = z.number();
/** Ranges to be sent again; see campaigns.lua. */
export const RELEASED = luaList(
  z.object({
    first: count,
    count,
    again: z.string().optional(),
    firstAt: count.optional(),
    accused: z.boolean().optional(),
  }),
);
/** Requests of a campaign, as far as there were any of a kind; see campaigns.lua. */
export const REQUESTS = z.partialRecord(
  z.enum(['send', 'poll', 'throttled', 'accepted', 'refused', 'remembered']),
  count,
);
const state = z.object({
  state: z.enum(CAMPAIGN_STATES),
  /** Recipients, including those suppressed at the import. */
  total: count,
  /** Recipients that were not suppressed at the import; their ordinals are 0 to `ordinals - 1`. */
  ordinals: count,
  /** Ordinals from here on have never been claimed. */
  cursor: count,
  /** Maximum recipients per request; 1 if each recipient has a text of its own. */
  batch: count,
  slice: count,
  /** Ranges below the cursor that are still to be sent. The scripts know more of them (campaigns.lua). */
  released: RELEASED,
  /** The state of an ordinal that was never accepted. */
  remainder: z.enum(['planned', 'cancelled', 'lapsed']),
  /** When unsent recipients lapse; 0: never. */
  lapseAt: count,
  weight: count,
  /** Recipients in each state; they add up to `total`. */
  counts: z.partialRecord(z.enum(RECIPIENT_STATES), count),
  requests: REQUESTS,
  contradictions: count,
  launchAt: count,
  endedAt: count,
  pauseReason: z.string(),
  /** When it was paused for this reason. */
  pausedAt: count,
  /**
   * For how long it could send: the time since `launchAt`, less that in which its lane could not send for another cause than its quota,
   * less `idleMs`; while it is paused, and when it sends nothing more, `activeMs`.
   */
  idleMs: count,
  activeMs: count,
  /** When unsent recipients became the `remainder`; undefined: they are planned. */
  remainderAt: count.optional(),
  /** Its number in the lane's log of results; undefined while it has none there. */
  number: count.optional(),
  /** Of an outbox: its name (outbox.lua). */
  outbox: z.string().optional(),
  /** The rule of its window; while that is closed, `opensAt` says when it opens. */
  window: z.string().optional(),
  opensAt: count.optional(),
  /** If each recipient has a window of its own zone, or a time of its own: the part that is claimed from, 0 for none; where it ends, and when it is open (zones.lua). */
  part: count.optional(),
  partEnd: count.optional(),
  partOpens: count.optional(),
  partCloses: count.optional(),
  /** How often the state was written. */
  changes: count,
});

/** Its members that TypeScript reads. The scripts have more, see campaigns.lua. */
export const STATE_MEMBERS: readonly string[] = Object.keys(state.shape);

/** The state of a campaign as the scripts store it. Times in ms; 0 means none. */
export type StoredState = z.output<typeof state>;

/** The id of a campaign's lane; null if there is no such campaign. */
export async function findLane(redis: Redis, keys: Keys, campaign: string): Promise<LaneId | null> {
  if (!/^[0-9a-z]+$/i.test(campaign)) return null;
  const [lane] = await lanesOf(redis, keys.campaigns, campaign);
  return lane ?? null;
}

/**
 * Lists all campaigns, newest first, or those older than `after`, which may be the beginning of an id. An entry may have no data: its import
 * has just begun, or it is being removed.
 */
export async function* listCampaigns(
  redis: Redis,
  keys: Keys,
  after?: string,
): AsyncGenerator<{ id: string; lane: LaneId }> {
  const before = after === undefined ? undefined : `${after} `;
  for await (const { name: id, lane } of indexEntries(redis, keys.campaigns, { before, isReversed: true }))
    yield { id, lane };
}

/** The ids of campaigns that begin with `prefix`, newest first. */
export async function idsWithPrefix(
  redis: Redis,
  keys: Keys,
  prefix: string,
  limit: number,
): Promise<string[]> {
  if (!/^[0-9a-z]*$/.test(prefix)) return [];
  const members = await redis.zrevrangebylex(keys.campaigns, `(${prefix}~`, `[${prefix}`, 'LIMIT', 0, limit);
  return members.map((member) => partsOf(member).name);
}

/** Reads the state of a campaign; null if there is no such campaign. */
export async function readState(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  campaign: string,
): Promise<StoredState | null> {
  const json = await redis.hget(keys.lane(lane, 'states'), campaign);
  return json === null ? null : parseState(json, campaign);
}

const claimed = z.object({ campaign: z.string() });

/** How many send requests of these campaigns are in flight. */
export async function inFlightOf(
  { redis, keys, id }: { readonly redis: Redis; readonly keys: Keys; readonly id: LaneId },
  campaigns: readonly string[],
): Promise<number> {
  const claims = await redis.hvals(keys.lane(id, 'claims'));
  return claims.filter((json) => {
    const campaign = claimed.safeParse(JSON.parse(json)).data?.campaign;
    return campaign !== undefined && campaigns.includes(campaign);
  }).length;
}

/** The members of a stored state, with those that have their default. Throws a SyntaxError if it is not JSON. */
export const stateMembers = (json: string): object => ({
  ...STATE_DEFAULTS,
  released: [],
  requests: {},
  ...JSON.parse(json),
});

const nameOf = (id: string | undefined): string =>
  id === undefined ? 'a campaign' : outboxName(id) === null ? `campaign ${id}` : id.replace(':', ' ');

/** Parses a state as the scripts store it. Throws a DamagedError if it cannot be read. */
export function parseState(json: string, campaign?: string): StoredState {
  return readRecord(nameOf(campaign), () => state.parse(stateMembers(json)));
}

/**
 * A state in place of one that cannot be read: its campaign is cancelled, and what became of its recipients is not known, except of those that
 * are in flight or have an unknown outcome.
 */
export function readableState(
  json: string,
  ordinals: number,
  open: Readonly<Record<'sending' | 'unknown', number>>,
): StoredState {
  const total = Math.max(ordinals, open.sending + open.unknown);
  return state.parse({
    ...STATE_DEFAULTS,
    requests: {},
    ...readableMembers(state.shape, json),
    state: 'cancelled',
    remainder: 'cancelled',
    total,
    ordinals: total,
    cursor: total,
    released: [],
    counts: { ...open, abandoned: total - open.sending - open.unknown },
  });
}
