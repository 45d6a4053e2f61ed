import { z } from 'zod';
import { type Actor, actor } from '../campaign/actor.js';
import { CAMPAIGN_STATES } from '../campaign/campaign.js';
import { RECIPIENT_STATES } from '../campaign/recipient.js';
import type { Preview } from '../campaign/views.js';
import { metaKey } from '../recipients/campaign-keys.js';
import type { Redis } from '../redis/connection.js';
import type { Keys, LaneId } from '../redis/keys.js';
import { luaList } from '../redis/script.js';

/** The part of a campaign that never changes after its commit. During the import it is incomplete. */
export interface CampaignMeta {
  readonly id: string;
  readonly name: string;
  /** The lane's id, which is its first name. */
  readonly lane: LaneId;
  /** As it is sent to the service. */
  readonly sender: string;
  readonly senderName?: string | undefined;
  readonly text: string;
  readonly columns: readonly string[];
  readonly numberColumn: string;
  /** Columns that the text uses, in its order. Only their values are stored. */
  readonly placeholders: readonly string[];
  readonly priority: 'high' | 'normal';
  readonly validForMs?: number | undefined;
  /** Times in ms since the epoch. */
  readonly created: number;
  /** Undefined for a campaign of an older version. */
  readonly createdBy?: Actor | undefined;
  readonly at?: number | undefined;
  /** Digest of the idempotency key. */
  readonly idempotency?: string | undefined;
  /** Digest of recipients, text, and sender; undefined before the commit. */
  readonly fingerprint?: string | undefined;
  readonly duplicates: number;
  readonly invalid: number;
  readonly suppressed: number;
  /** Null before the commit. Does not count invalid rows. */
  readonly preview: Preview | null;
}

const count = z.number();
const meta = z.object({
  id: z.string(),
  name: z.string(),
  lane: z.string(),
  sender: z.string(),
  senderName: z.string().optional(),
  text: z.string(),
  columns: z.array(z.string()),
  numberColumn: z.string(),
  placeholders: z.array(z.string()),
  priority: z.enum(['high', 'normal']),
  validForMs: count.optional(),
  created: count,
  createdBy: actor.optional(),
  at: count.optional(),
  idempotency: z.string().optional(),
  fingerprint: z.string().optional(),
  duplicates: count,
  invalid: count,
  suppressed: count,
  // Volley writes it and only displays it, so checking every field at each read is not worth the time.
  preview: z.custom<Preview | null>((value) => typeof value === 'object'),
});

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
  /** Ranges below the cursor that are still to be sent: first, count, parent, maybeAccepted, firstAt (campaign.lua). */
  released: luaList(z.array(z.union([count, z.string()]))),
  /** The state of an ordinal that was never accepted. */
  remainder: z.enum(['planned', 'cancelled', 'lapsed']),
  /** When unsent recipients lapse; 0: never. */
  lapseAt: count,
  weight: count,
  /** Recipients in each state; they add up to `total`. */
  counts: z.partialRecord(z.enum(RECIPIENT_STATES), count),
  sends: count,
  polls: count,
  throttled: count,
  contradictions: count,
  refusals: count,
  accepted: count,
  createdAt: count,
  launchAt: count,
  endedAt: count,
  pauseReason: z.string(),
  /** Digest of the idempotency key, if there was one. */
  idempotency: z.string().optional(),
});

/** The state of a campaign as the scripts store it. Times in ms; 0 means none. */
export type StoredState = z.output<typeof state>;

/** The member of the campaign index that names a campaign's lane. */
export function indexMember(lane: LaneId, campaign: string): string {
  return `${campaign} ${lane}`;
}

/** The id of a campaign's lane; null if there is no such campaign. */
export async function findLane(redis: Redis, keys: Keys, campaign: string): Promise<LaneId | null> {
  if (!/^[0-9a-z]+$/i.test(campaign)) return null;
  const [member] = await redis.zrangebylex(keys.campaigns, `[${campaign} `, `(${campaign}!`);
  return member === undefined ? null : member.slice(campaign.length + 1);
}

const PAGE_SIZE = 200;

/**
 * Lists all campaigns, newest first, or those older than `after`. An entry may have no data: its import has just begun, or it
 * is being removed.
 */
export async function* listCampaigns(
  redis: Redis,
  keys: Keys,
  after?: string,
): AsyncGenerator<{ id: string; lane: LaneId }> {
  for (let before = after === undefined ? '+' : `(${after} `; ; ) {
    const members = await redis.zrevrangebylex(keys.campaigns, before, '-', 'LIMIT', 0, PAGE_SIZE);
    for (const member of members) {
      const space = member.indexOf(' ');
      yield { id: member.slice(0, space), lane: member.slice(space + 1) };
    }
    const last = members.at(-1);
    if (last === undefined || members.length < PAGE_SIZE) return;
    before = `(${last}`;
  }
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
  return members.map((member) => member.slice(0, member.indexOf(' ')));
}

/** Reads the part of a campaign that never changes; null if there is no such campaign. */
export async function readMeta(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  campaign: string,
): Promise<CampaignMeta | null> {
  const json = await redis.get(metaKey(keys, lane, campaign));
  return json === null ? null : meta.parse(JSON.parse(json));
}

/** Reads the state of a campaign; null if there is no such campaign. */
export async function readState(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  campaign: string,
): Promise<StoredState | null> {
  const json = await redis.hget(keys.lane(lane, 'states'), campaign);
  return json === null ? null : parseState(json);
}

/** Parses a state as the scripts store it. */
export function parseState(json: string): StoredState {
  return state.parse(JSON.parse(json));
}
