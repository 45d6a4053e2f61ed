import { LRUCache } from 'lru-cache';
import type { Redis } from '../base/redis/connection.js';
import type { Keys, LaneId } from '../base/redis/keys.js';
import { possibleFormsOf } from '../campaign/numbers/number-forms.js';
import type { LastMessage } from '../campaign/states/inbound.js';
import { NOT_SENT_STATES } from '../campaign/states/recipient.js';
import { orNull } from '../engine/recipients/damaged.js';
import { SLICE, unpackNumbers } from '../engine/recipients/slice-blob.js';
import { countSlices, readSlices } from '../engine/recipients/stored-slices.js';
import { type CampaignMeta, contentsOf, readMeta } from '../engine/store/campaign-meta.js';
import { listCampaigns } from '../engine/store/campaigns.js';
import { inBatches } from './in-batches.js';
import type { OutboxSearch } from './outbox-search.js';
import { recipientReader } from './recipient-reader.js';

/*
 * Finds what a person replies to. There is no index by number (report.ts says why), and nothing is added to the path of a send for it. A process
 * that receives a reply reads the numbers of the latest campaigns of its lane once a minute, and keeps 4 bytes of each: the replies to a
 * campaign arrive together. A search goes through these in memory, and reads the one recipient that it finds.
 */

/** Campaigns of all lanes that are listed, newest first; those of its sender that are searched; and how many recipients of them. */
const MAX_LISTED = 10_000;
const MAX_CAMPAIGNS = 1_000;
const MAX_RECIPIENTS = 4_000_000;
/** Recipients that are kept, over all lanes: 32 MB. */
const MAX_KEPT = 2 * MAX_RECIPIENTS;
const CAMPAIGNS_AT_ONCE = 8;
const SLICES_AT_ONCE = 64;
/** As long as other caches keep what a number that is forgotten leaves. */
const KEPT_MS = 60_000;
/** For how long the numbers of an import are kept. */
const GROWING_MS = 1_000;
/** Recipients with the same last 32 bits that are read of a campaign: few numbers share them, but a list may repeat one. */
const MAX_CANDIDATES = 10;

/** A campaign, and those of its numbers that are searched. */
interface Searched {
  readonly id: string;
  readonly tails: Uint32Array;
}

/** What {@link lastSentReader} needs. */
interface LastSentDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly outboxes: Pick<OutboxSearch, 'lastSent'>;
}

/** Opens the search for the last message that was sent to the subscriber of a number, E.164 with its plus, from a sender. Null: none of late. */
export function lastSentReader({ redis, keys, outboxes }: LastSentDeps) {
  const readTails = async (lane: LaneId, campaign: string) => {
    const of = { lane, campaign, series: 'slices' } as const;
    const total = Math.min(await countSlices(redis, keys, of), Math.ceil(MAX_RECIPIENTS / SLICE));
    const tails = new Uint32Array(total * SLICE);
    let count = 0;
    for (let first = 0; first < total; first += SLICES_AT_ONCE) {
      const length = Math.min(SLICES_AT_ONCE, total - first);
      const indices = Array.from({ length }, (_, at) => first + at);
      for (const [at, slice] of (await readSlices(redis, keys, of, indices)).entries()) {
        const numbers = slice === null ? [] : unpackNumbers(slice);
        tails.set(numbers, (first + at) * SLICE);
        count = (first + at) * SLICE + numbers.length;
      }
    }
    return tails.slice(0, count);
  };
  const cache = new LRUCache<string, Uint32Array, { lane: LaneId; campaign: string; sender: string }>({
    maxSize: MAX_KEPT,
    sizeCalculation: ({ length }) => length + 1,
    ttl: KEPT_MS,
    ttlAutopurge: true,
    async fetchMethod(_key, _stale, { options, context: { lane, campaign, sender } }) {
      // Before the numbers: others may be added to them until it ends.
      const isImporting = (await redis.zscore(keys.lane(lane, 'importing'), campaign)) !== null;
      const meta = await orNull(readMeta(redis, keys, lane, campaign));
      // A person who replies to the confirmation of a stop word means what came before it; and a large campaign causes thousands of them.
      if (meta !== null && (meta.bypasses !== undefined || senderIn(meta, sender) === undefined)) {
        // No number is kept.
        if (meta.bypasses !== undefined) options.ttl = 0;
        return new Uint32Array();
      }
      const tails = await orNull(readTails(lane, campaign));
      if (meta === null || tails === null || isImporting) options.ttl = GROWING_MS;
      return tails ?? new Uint32Array();
    },
  });
  const placeOf = (lane: LaneId, campaign: string, sender: string): string => `${lane} ${campaign} ${sender}`;
  /** The campaigns that may have what is searched. */
  async function* campaignsOf(lane: LaneId, sender: string): AsyncGenerator<string> {
    let left = MAX_LISTED;
    for await (const { id, lane: of } of listCampaigns(redis, keys)) {
      if (of === lane && cache.peek(placeOf(lane, id, sender))?.length !== 0) yield id;
      left -= 1;
      if (left === 0) return;
    }
  }
  /** The last message of a campaign to the number, and when it was sent. */
  const sentIn = async (lane: LaneId, { id, tails }: Searched, number: string) => {
    const reader = recipientReader(redis, keys, lane, id);
    const tail = Number(number) >>> 0;
    let at = tails.lastIndexOf(tail);
    for (let read = 0; at !== -1 && read < MAX_CANDIDATES; read += 1) {
      const record = await reader.record(at);
      const sentAt = record?.request?.sentAt ?? record?.claimedAt ?? null;
      if (record?.number === number && sentAt !== null && !NOT_SENT_STATES.includes(record.state))
        return { id, sentAt, number, reference: record.reference };
      at = at === 0 ? -1 : tails.lastIndexOf(tail, at - 1);
    }
    return null;
  };

  return async (lane: LaneId, number: string, to: string): Promise<LastMessage | null> => {
    if (!number.startsWith('+')) return null;
    const [sender, forms] = [plainSender(to), possibleFormsOf(number)];
    const searchedOf = async (id: string): Promise<Searched> => {
      const context = { lane, campaign: id, sender };
      const tails = await cache.fetch(placeOf(lane, id, sender), { context });
      return { id, tails: tails ?? new Uint32Array() };
    };
    // A campaign may be sent after one that was created later.
    let latest: Awaited<ReturnType<typeof sentIn>> = null;
    let [campaigns, searched] = [0, 0];
    for await (const campaign of inBatches(campaignsOf(lane, sender), CAMPAIGNS_AT_ONCE, searchedOf)) {
      for (const form of forms) {
        const found = await orNull(sentIn(lane, campaign, form));
        if (found !== null && found.sentAt > (latest?.sentAt ?? 0)) latest = found;
      }
      if (campaign.tails.length > 0) campaigns += 1;
      searched += campaign.tails.length;
      if (campaigns === MAX_CAMPAIGNS || searched >= MAX_RECIPIENTS) break;
    }
    const inOutbox = await outboxes.lastSent(lane, forms, (one) => plainSender(one) === sender);
    if (inOutbox !== null && inOutbox.sentAt > (latest?.sentAt ?? 0)) {
      const { number: spelled, sender: from, outbox, message, reference } = inOutbox;
      return {
        number: spelled,
        sender: from,
        message: { campaign: null, reference: reference || null, outbox, message },
      };
    }
    const meta = latest && (await orNull(readMeta(redis, keys, lane, latest.id)));
    if (latest === null || meta === null) return null;
    return {
      number: latest.number,
      sender: senderIn(meta, sender) ?? meta.sender,
      message: { campaign: latest.id, reference: latest.reference || null, outbox: null, message: null },
    };
  };
}

/** A sender of a campaign as it spells it; undefined if it has never had it. */
const senderIn = (meta: CampaignMeta, sender: string): string | undefined =>
  contentsOf(meta).find((each) => plainSender(each.sender) === sender)?.sender;

/** A sender as it is compared: the service may spell a number with its plus or without it. */
const plainSender = (sender: string): string => sender.replace(/^(?:tel:)?\+?/i, '').toLowerCase();
