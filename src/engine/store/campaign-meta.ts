import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { luaJson } from '../../base/redis/script.js';
import { storedFields } from '../../campaign/fields/field-schemas.js';
import type { StoredFields } from '../../campaign/fields/field-sets.js';
import { FIELDS } from '../../campaign/fields/fields.js';
import { type Actor, actor } from '../../campaign/states/actor.js';
import { CAMPAIGN_ID, timeOfCampaignId, usualCampaignName } from '../../campaign/states/campaign.js';
import type { Preview } from '../../campaign/views/preview-views.js';
import { metaKey } from '../recipients/campaign-keys.js';
import { readableMembers, readRecord } from '../recipients/damaged.js';

/** What a campaign costs, by the prices at its creation. */
const storedCost = z.object({
  currency: z.string(),
  /** An exact amount. */
  total: z.string(),
  /** Recipients whose number has no price. */
  unpriced: z.number().optional(),
  /** The different costs of a message, in micros: `campaign:ID:costs` refers to them if there are several. Undefined: too many. */
  costs: z.array(z.number()).optional(),
});
type StoredCost = z.output<typeof storedCost>;

/** What the requests of a campaign were sent with until it was changed. */
const storedContent = z.object({
  /** The last revision with it. */
  last: z.number(),
  /** Which recipients had been claimed when it was replaced; see {@link isClaimed}. */
  until: z.union([z.number(), z.array(z.tuple([z.number(), z.number()]))]),
  text: z.string(),
  sender: z.string(),
  senderName: z.string().optional(),
});
/** See {@link storedContent}. */
export type EarlierContent = z.output<typeof storedContent>;

/** Whether a recipient had been claimed: those before an ordinal, or of a list with parts, before one in each, given with its end. */
export function isClaimed(until: EarlierContent['until'], ordinal: number): boolean {
  const cursor = typeof until === 'number' ? until : (until.find(([, end]) => ordinal < end)?.[0] ?? 0);
  return ordinal < cursor;
}

/** The part of a campaign that only an operator changes after its commit. During the import it is incomplete. */
export interface CampaignMeta extends StoredFields {
  readonly id: string;
  /** The lane's id, which is its first name. */
  readonly lane: LaneId;
  readonly columns: readonly string[];
  readonly numberColumn: string;
  /** Columns that the text uses, in its order. Only their values are stored. */
  readonly placeholders: readonly string[];
  /** The rule of its window (window.ts); undefined if it has none. */
  readonly window?: string | undefined;
  /** Times in ms since the epoch. */
  readonly created: number;
  /** Undefined if that part of it was damaged. */
  readonly createdBy?: Actor | undefined;
  /** The suppression operation that it may send in spite of: the one that it confirms (engine/inbound). Undefined: none. */
  readonly bypasses?: string | undefined;
  /** Digest of the idempotency key and its scope. */
  readonly idempotency?: string | undefined;
  /** Digest of recipients, text, and sender, with which a repeated request is compared. Without an idempotency key there is none. */
  readonly fingerprint?: string | undefined;
  readonly duplicates: number;
  readonly invalid: number;
  readonly suppressed: number;
  /** What the campaign costs; undefined if no prices were configured. */
  readonly cost?: StoredCost | undefined;
  /** The answer to a repeated request; null before the commit, and without an idempotency key. Does not count invalid rows. */
  readonly preview: Preview | null;
  /** How often it was changed; undefined: never. A claim names the revision with whose content it is sent. */
  readonly revision?: number | undefined;
  /** The contents that requests have, or may have, besides the current one: the oldest first. */
  readonly earlier?: readonly EarlierContent[] | undefined;
  /** The members in which repeated requests must agree, as they were before the first change; null: it had none. */
  readonly original?: Readonly<Record<string, unknown>> | undefined;
}

const count = z.number();
const meta = z.object({
  ...storedFields,
  id: z.string(),
  columns: z.array(z.string()),
  numberColumn: z.string(),
  placeholders: z.array(z.string()),
  created: count,
  createdBy: actor.optional(),
  bypasses: z.string().optional(),
  idempotency: z.string().optional(),
  fingerprint: z.string().optional(),
  duplicates: count,
  invalid: count,
  suppressed: count,
  cost: storedCost.optional(),
  // Volley writes it and only displays it, so checking every field at each read is not worth the time.
  preview: z.custom<Preview | null>((value) => typeof value === 'object'),
  revision: count.optional(),
  earlier: z.array(storedContent).optional(),
  original: z.record(z.string(), z.unknown()).optional(),
});

/** What most campaigns have. It is not stored. */
const USUAL = {
  columns: ['to'],
  numberColumn: 'to',
  placeholders: [],
  priority: FIELDS.priority.usual,
  duplicates: 0,
  invalid: 0,
  suppressed: 0,
  preview: null,
};

/** The contents of a campaign: the current one, and those that requests had before. */
export const contentsOf = (meta: CampaignMeta): readonly Pick<EarlierContent, 'text' | 'sender'>[] => [
  meta,
  ...(meta.earlier ?? []),
];

/** What a request of a revision is sent with. */
export const contentAt = ({ earlier = [], ...meta }: CampaignMeta, revision: number): CampaignMeta => ({
  ...meta,
  ...(({ text, sender, senderName }) => ({ text, sender, senderName }))(
    earlier.find(({ last }) => revision <= last) ?? meta,
  ),
});

/** The campaign as it was created, for comparison with a repeated request. */
export const asCreated = (meta: CampaignMeta): CampaignMeta => ({
  ...meta,
  ...Object.fromEntries(
    Object.entries(meta.original ?? {}).map(([name, value]) => [name, value ?? undefined]),
  ),
});

/** That part, as it is stored: without what most campaigns have, and what its key says. */
export function storedMeta({ id: _, lane: __, ...members }: CampaignMeta): string {
  const usual: Readonly<Record<string, unknown>> = USUAL;
  const isOwn = ([name, value]: readonly [string, unknown]): boolean =>
    !isDeepStrictEqual(value, usual[name]);
  return luaJson(JSON.stringify(Object.fromEntries(Object.entries(members).filter(isOwn))));
}

/** What can be read of a damaged part, and the least that a campaign has for the rest: its text and sender may be empty. */
export function readableMeta(id: string, lane: LaneId, json: string): CampaignMeta {
  const created = CAMPAIGN_ID.test(id) ? timeOfCampaignId(id) : 0;
  return meta.parse({
    ...USUAL,
    created,
    name: usualCampaignName(created),
    text: '',
    sender: '',
    ...readableMembers(meta.shape, json),
    id,
    lane,
  });
}

/** Reads that part of a campaign; null if there is no such campaign. Rejects with a DamagedError if it cannot be read. */
export async function readMeta(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  campaign: string,
): Promise<CampaignMeta | null> {
  const json = await redis.get(metaKey(keys, lane, campaign));
  if (json === null) return null;
  return readRecord(`campaign ${campaign}`, () =>
    meta.parse({ ...USUAL, ...JSON.parse(json), id: campaign, lane }),
  );
}
