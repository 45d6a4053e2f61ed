import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { LaneRules } from '../../base/config/index.js';
import { type Redis, runsInOrder } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { COMPARED_MEMBERS } from '../../campaign/fields/field-sets.js';
import { conflictIn } from '../../campaign/limits/refusal.js';
import { NOT_SENT_STATES, RECIPIENT_STATES } from '../../campaign/states/recipient.js';
import type { Preview } from '../../campaign/views/preview-views.js';
import { wasDeleted } from '../../engine/recipients/delete-campaign.js';
import {
  contentKey,
  type Holder,
  readFormerHolders,
  readHolder,
  releaseReservation,
  reserveContent,
  reserveKey,
} from '../../engine/recipients/reservation.js';
import { asCreated, type CampaignMeta, readMeta } from '../../engine/store/campaign-meta.js';
import { readState, type StoredState } from '../../engine/store/campaigns.js';
import type { CampaignInput, ImportOutcome } from './campaign-input.js';
import { type ImportSession, settledImport } from './import-session.js';
import type { ListSummary } from './read-list.js';

const RETRY_MS = 100;

/** How long to wait for another import, and what to do when that begins. */
type Waiting = Pick<CampaignInput, 'signal' | 'onWait'>;

/** The import that now holds its idempotency key, or the committed campaign that already held it. */
type KeyOutcome =
  | { readonly kind: 'reserved'; readonly session: ImportSession }
  | { readonly kind: 'held'; readonly holder: Holder };

/**
 * Begins an import and reserves its idempotency key, if it has one. The import begins before the key is reserved: so a
 * holder without a state can never be committed, and its key may be released. If two processes use one key, one of them gets
 * it, and the other waits until that import is committed or discarded. A request whose campaign exists begins nothing, so that it is
 * answered when Redis has no room.
 */
export async function beginWithKey(
  redis: Redis,
  keys: Keys,
  digest: string | undefined,
  { signal, onWait }: Waiting,
  begin: () => Promise<ImportSession>,
): Promise<KeyOutcome> {
  if (digest === undefined) return { kind: 'reserved', session: await begin() };
  const key = keys.idempotency(digest);
  for (;;) {
    const holder = await committedHolder(redis, keys, key, { signal, onWait });
    if (holder !== null) return { kind: 'held', holder };
    const session = await begin();
    let isReserved = false;
    try {
      isReserved = await onceBegun(redis, session, () => reserveKey(redis, key, holderOf(session)));
    } finally {
      // Also if the reply was lost: an import that went on would hold the key as long as this process runs.
      if (!isReserved) await session.discard().catch(() => {});
    }
    if (isReserved) return { kind: 'reserved', session };
  }
}

const holderOf = ({ lane, id }: Pick<ImportSession, 'lane' | 'id'>): Holder => ({ lane, campaign: id });

/** The committed campaign that an idempotency key created, or null. Waits while it is being imported. */
export async function campaignOfKey(
  redis: Redis,
  keys: Keys,
  digest: string,
  signal?: AbortSignal,
): Promise<string | null> {
  return (await committedHolder(redis, keys, keys.idempotency(digest), { signal }))?.campaign ?? null;
}

/**
 * Reserves something once the import has begun. Commands to one server run in the order in which they are sent, so there the
 * reservation need not wait for the reply.
 */
async function onceBegun<Answer>(
  redis: Redis,
  { begun }: Pick<ImportSession, 'begun'>,
  reserve: () => Promise<Answer>,
): Promise<Answer> {
  if (!runsInOrder(redis)) await begun;
  const [answer] = await Promise.all([reserve(), begun]);
  return answer;
}

/**
 * The committed campaign that holds a key, or null if the key is free. Waits while a campaign that holds it is being
 * imported, and releases the key of one that was discarded.
 */
async function committedHolder(
  redis: Redis,
  keys: Keys,
  key: string,
  { signal, onWait }: Waiting,
): Promise<Holder | null> {
  let isWaiting = false;
  for (;;) {
    signal?.throwIfAborted();
    const holder = await readHolder(redis, key);
    if (holder === null) return null;
    const state = await settledImport(redis, keys, holder.lane, holder.campaign);
    switch (state) {
      case 'committed':
        return holder;
      case 'importing':
        if (!isWaiting) onWait?.(holder.campaign);
        isWaiting = true;
        await delay(RETRY_MS, undefined, signal === undefined ? {} : { signal });
        break;
      case 'gone':
        await releaseReservation(redis, key, holder);
        break;
      default:
        return state satisfies never;
    }
  }
}

/**
 * Compares a request with the campaign that holds its idempotency key: `existing` if both have the same recipients, message,
 * sender, lane, and times, else `conflict`. `list`: the list of the request, which replaces what is not stored of the campaign's own; null
 * for the results of another campaign, which are read once.
 */
export async function compareWithHolder(
  redis: Redis,
  keys: Keys,
  { lane, campaign }: Holder,
  requested: CampaignMeta,
  { name }: Pick<LaneRules, 'name'>,
  list: Pick<ListSummary, 'fingerprint' | 'preview'> | null,
): Promise<ImportOutcome> {
  const stored = await readMeta(redis, keys, lane, campaign);
  const meta = stored && asCreated(stored);
  const differences = meta === null ? [] : differencesOf(meta, requested, list);
  const shown = meta?.preview ?? list?.preview;
  if (meta === null || differences.length > 0 || shown === undefined) {
    const message =
      stored === null
        ? `the idempotency key belongs to campaign ${campaign}, which was deleted and may have been sent`
        : conflictIn(differences.length > 0 ? differences : ['list']);
    return { outcome: 'refused', code: 'conflict', message, errors: [], campaign, preview: null };
  }
  const { duplicates, invalid, suppressed } = meta;
  const preview = completed(
    shown,
    list?.preview ?? { ...NOT_STORED, message: meta.text, lane: name, cost: null },
  );
  const { recipientCount, differentTexts } = preview;
  const counts = { recipientCount, duplicates, differentTexts, invalid, suppressed };
  return { outcome: 'existing', id: campaign, ...counts, preview };
}

/** What a stored preview lacks: what names recipients, the text and the lane, which are known, and what may be long. */
const NOT_STORED = {
  message: '',
  lane: '',
  countries: [],
  errors: [],
  problems: [],
  repeats: [],
  samples: [],
  longest: null,
  sentBefore: null,
  digest: null,
} as const satisfies Partial<Preview>;

type NotStored = Pick<Preview, keyof typeof NOT_STORED | 'cost'>;

/** A preview that is stored with its campaign, for the answer to a repeated request. */
export const storedPreview = (preview: Preview): Preview => completed(preview, { ...NOT_STORED, cost: null });

/** A stored preview with what it lacks. */
function completed(stored: Preview, from: NotStored): Preview {
  const names = Object.keys(NOT_STORED) as (keyof typeof NOT_STORED)[];
  const members = Object.fromEntries(names.map((name) => [name, from[name]]));
  const { cost } = stored;
  return { ...stored, ...members, cost: cost && { ...cost, unpricedRows: from.cost?.unpricedRows ?? [] } };
}

/** In what a request differs from the campaign that holds its key. The digest of a list covers the text and the sender, too. */
function differencesOf(
  meta: CampaignMeta,
  requested: CampaignMeta,
  list: Pick<ListSummary, 'fingerprint' | 'preview'> | null,
): string[] {
  const differing = COMPARED_MEMBERS.filter(
    ({ member }) => !isDeepStrictEqual(meta[member], requested[member]),
  );
  const isListKnown = !differing.some(({ member }) => member === 'text' || member === 'sender');
  // A campaign whose number was forgotten has no digest any more: then only the lengths of the lists can differ.
  const isOtherList =
    list !== null &&
    (meta.fingerprint === undefined
      ? meta.preview?.rows !== list.preview.rows
      : meta.fingerprint !== list.fingerprint);
  return [...(isListKnown && isOtherList ? ['list'] : []), ...differing.map(({ compared }) => compared)];
}

/**
 * Reserves a content for 24 hours for an import that begins. Returns the id of the campaign that already holds it, or null if there is
 * none. A campaign that was cancelled and sent nothing holds no content. With `again`, the content is always reserved. An idempotency key says that
 * this campaign is meant: then the content is reserved if it is free, but an earlier campaign with it is no obstacle.
 */
export async function reserveNewContent(
  redis: Redis,
  keys: Keys,
  content: string,
  session: Pick<ImportSession, 'id' | 'lane' | 'begun'>,
  {
    again = false,
    idempotencyKey,
    isFirst = false,
    signal,
    onWait,
  }: Pick<CampaignInput, 'again' | 'idempotencyKey' | 'isFirst' | 'signal' | 'onWait'>,
): Promise<string | null> {
  const reserving = holderOf(session);
  const key = contentKey(keys, content, session.lane);
  for (;;) {
    const isReserved = await onceBegun(redis, session, () => reserveContent(redis, key, reserving, again));
    if (isReserved || (idempotencyKey !== undefined && !isFirst)) return null;
    const holder = await committedHolder(redis, keys, key, { signal, onWait });
    if (holder === null) continue;
    if (await holdsContent(redis, keys, holder)) return holder.campaign;
    await releaseReservation(redis, key, holder);
  }
}

/**
 * Reserves a text, with its sender, for an import that leaves out who gets it already: two of these, read at the same time, would both send
 * to those whom both lists have. Waits while another one holds it. Returns what releases it.
 */
export async function reserveText(
  redis: Redis,
  keys: Keys,
  digest: string,
  session: Pick<ImportSession, 'id' | 'lane' | 'begun'>,
  waiting: Waiting,
): Promise<() => Promise<void>> {
  const reserving = holderOf(session);
  const key = keys.idempotency(`text:${digest}`);
  while (!(await onceBegun(redis, session, () => reserveContent(redis, key, reserving, false)))) {
    const holder = await committedHolder(redis, keys, key, waiting);
    if (holder !== null) await releaseReservation(redis, key, holder);
  }
  return () => releaseReservation(redis, key, reserving);
}

/** The campaign for which {@link reserveNewContent} would refuse this content, or null. Reserves nothing and waits for nothing. */
export async function findRepeated(
  redis: Redis,
  keys: Keys,
  content: string,
  lane: LaneId,
  { again, idempotencyKey }: Pick<CampaignInput, 'again' | 'idempotencyKey'>,
): Promise<string | null> {
  if (again === true || idempotencyKey !== undefined) return null;
  const key = contentKey(keys, content, lane);
  const holder = await readHolder(redis, key);
  if (holder === null) return null;
  for (const each of [holder, ...(await readFormerHolders(redis, key))])
    if (await holdsContent(redis, keys, each)) return each.campaign;
  return null;
}

/** Whether a campaign holds the content that it has reserved: not while it is imported, and not if it was cancelled and sent nothing. */
async function holdsContent(redis: Redis, keys: Keys, { lane, campaign }: Holder): Promise<boolean> {
  const state = await readState(redis, keys, lane, campaign);
  if (state === null) return wasDeleted(redis, keys, lane, campaign);
  return state.state !== 'importing' && !sentNothing(state);
}

/** Whether a campaign was cancelled, and no request of it was or may have been accepted. */
const sentNothing = ({ state, counts }: StoredState): boolean =>
  state === 'cancelled' &&
  RECIPIENT_STATES.every((one) => NOT_SENT_STATES.includes(one) || (counts[one] ?? 0) === 0);
