import { setTimeout as delay } from 'node:timers/promises';
import type { Preview } from '../campaign/views.js';
import { type CampaignMeta, readMeta } from '../lane/campaigns.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import type { CampaignInput, EnqueueOutcome } from './campaign-input.js';
import { type ImportSession, settledImport } from './import-session.js';
import {
  contentKey,
  freeKey,
  type Holder,
  holdContent,
  holderOf,
  reservationOf,
  reserveKey,
} from './reservations.js';

const ASK_AGAIN_MS = 100;
/** What makes two orders for the same content two orders. */
const SAME = ['lane', 'at', 'validForMs', 'priority'] as const;

/** An import of one's own, the key held by it; or the committed campaign that holds the key. */
export type Taken =
  | { readonly kind: 'own'; readonly session: ImportSession }
  | { readonly kind: 'held'; readonly holder: Holder };

/**
 * Begins an import that holds its idempotency key, if it has one. The import is begun before the key is taken: then a
 * holder without a state can never come to life, and its key may be freed. Of two processes with one key, one gets it
 * and the other waits for what becomes of that.
 */
export async function takeKey(
  redis: Redis,
  keys: Keys,
  digest: string | undefined,
  signal: AbortSignal | undefined,
  begin: () => Promise<ImportSession>,
): Promise<Taken> {
  if (digest === undefined) return { kind: 'own', session: await begin() };
  const key = keys.idempotency(digest);
  for (;;) {
    const holder = await committedHolder(redis, keys, key, signal);
    if (holder !== null) return { kind: 'held', holder };
    const session = await begin();
    let isOurs = false;
    try {
      isOurs = await reserveKey(redis, key, { lane: session.lane, campaign: session.id });
    } finally {
      // Also where the answer was lost: an import that lived on would hold the key as long as this process lives.
      if (!isOurs) await session.discard().catch(() => {});
    }
    if (isOurs) return { kind: 'own', session };
  }
}

/** The committed campaign that holds a key, waiting for one that is being imported; null, and the key is free, if none. */
async function committedHolder(
  redis: Redis,
  keys: Keys,
  key: string,
  signal: AbortSignal | undefined,
): Promise<Holder | null> {
  for (;;) {
    signal?.throwIfAborted();
    const holder = await holderOf(redis, key);
    if (holder === null) return null;
    const stands = await settledImport(redis, keys, holder.lane, holder.campaign);
    switch (stands) {
      case 'committed':
        return holder;
      case 'importing':
        await delay(ASK_AGAIN_MS, undefined, signal === undefined ? {} : { signal });
        break;
      case 'gone':
        await freeKey(redis, key, reservationOf(holder));
        break;
      default:
        return stands satisfies never;
    }
  }
}

/**
 * What a key answers that has made a campaign: the same is that campaign, another an error. The same is who gets what
 * and from whom, on which lane, and when; a name is for people, and may be that of a file.
 */
export async function sameContent(
  redis: Redis,
  keys: Keys,
  { lane, campaign }: Holder,
  asked: CampaignMeta,
  content: string,
  preview: Preview,
): Promise<EnqueueOutcome> {
  const meta = await readMeta(redis, keys, lane, campaign);
  const isSame =
    meta !== null &&
    meta.fingerprint === content &&
    SAME.every((member) => (meta[member] ?? null) === (asked[member] ?? null));
  if (!isSame) return { kind: 'conflict', id: campaign };
  const { recipients } = meta.preview ?? preview;
  const { duplicates, invalid, suppressed } = meta;
  const whole = meta.preview ?? preview;
  return { kind: 'existing', id: campaign, recipients, duplicates, invalid, suppressed, preview: whole };
}

/**
 * Holds a content for 24 hours. The id of the campaign that holds it already, or null: it is ours, which it is in any
 * case with `again`.
 */
export async function takeContent(
  redis: Redis,
  keys: Keys,
  content: string,
  own: Holder,
  { again = false, signal, repeatsWithin }: Pick<CampaignInput, 'again' | 'signal' | 'repeatsWithin'>,
): Promise<string | null> {
  const key = contentKey(keys, content, repeatsWithin === 'lane' ? own.lane : undefined);
  for (;;) {
    if (await holdContent(redis, key, own, again)) return null;
    const holder = await committedHolder(redis, keys, key, signal);
    if (holder !== null) return holder.campaign;
  }
}
