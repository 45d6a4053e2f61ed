import { InputError } from '../campaign/errors.js';
import type { FoundRecipient } from '../campaign/views.js';
import type { LocalConfig } from '../config/index.js';
import { listCampaigns, readMeta } from '../lane/campaigns.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { inBatches } from './in-batches.js';
import { recipientReader } from './recipient-reader.js';
import { reportRow, suppressedRow } from './report.js';

/** Where and how to search for a number. */
interface FindOptions {
  /** Country of a number in national format; default `DEFAULT_COUNTRY`. */
  readonly country?: string | undefined;
  /** Only campaigns of these lanes; default all. */
  readonly lanes?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Finds recipients by number. */
export interface RecipientFinder {
  /**
   * The recipient with this number in every campaign that has it, newest campaign first. Throws an InputError if the
   * number is invalid, and the signal's reason when it fires.
   */
  find(number: string, options?: FindOptions): AsyncIterable<FoundRecipient>;
}

/** What {@link findRecipients} needs. */
interface FindDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly config: Pick<LocalConfig, 'defaultCountry'>;
}

/** Campaigns that are searched at the same time. */
const SEARCHED_AT_ONCE = 50;

/**
 * Finds recipients as {@link RecipientFinder.find} does. There is no index by number, because it would take more memory
 * than everything else that is stored of a recipient. The search reads the numbers of all campaigns: 6 MB and about 0.2 s
 * per million recipients.
 */
export async function* findRecipients(
  { redis, keys, config }: FindDeps,
  text: string,
  { country, lanes, signal }: FindOptions = {},
): AsyncGenerator<FoundRecipient> {
  const { numberReader } = await import('../campaign/number.js');
  const parsed = numberReader(country ?? config.defaultCountry)(text);
  if (!parsed.ok) throw new InputError(parsed.reason, { field: 'number' });
  const { number } = parsed;
  const campaigns = async function* (): AsyncGenerator<{ id: string; lane: string }> {
    for await (const campaign of listCampaigns(redis, keys)) {
      signal?.throwIfAborted();
      if (lanes === undefined || lanes.includes(campaign.lane)) yield campaign;
    }
  };
  const findIn = async ({ id, lane }: { id: string; lane: string }): Promise<FoundRecipient | null> => {
    const reader = recipientReader(redis, keys, lane, id);
    const ordinal = await reader.ordinalOf(number);
    const record = ordinal === null ? null : await reader.record(ordinal);
    if (record === null && !(await reader.isSuppressed(number))) return null;
    // Read last, because most campaigns do not have the number.
    const meta = await readMeta(redis, keys, lane, id);
    if (meta === null) return null;
    const row = record === null ? suppressedRow(number) : reportRow(meta, record);
    return { ...row, campaign: id, name: meta.name };
  };
  for await (const found of inBatches(campaigns(), SEARCHED_AT_ONCE, findIn)) {
    if (found !== null) yield found;
  }
}
