import { compileTemplate, type Template } from '../../campaign/text/template.js';
import type { Charger } from '../claim/charge.js';
import type { Charge } from '../claim/settlement.js';
import { DamagedError } from '../recipients/damaged.js';
import { outboxId, outboxName, readBatchMessage, readEdition } from '../recipients/outbox-messages.js';
import { createReadCache, type StoredRecipient, sliceReader } from '../recipients/slices.js';
import type { LaneStore } from '../scripts/lane-script.js';
import { type CampaignMeta, contentAt, readMeta } from '../store/campaign-meta.js';

/** The text of a batch, which is that of its revision, and its compiled template. */
export interface BatchText {
  readonly meta: Pick<CampaignMeta, 'id' | 'sender' | 'senderName' | 'bypasses'>;
  readonly template: Template;
}

/** A batch of a campaign, or a message of an outbox. `edition`: the revision of its content; undefined is 0. */
export interface NamedBatch {
  readonly campaign: string;
  readonly first: number;
  readonly message?: string | undefined;
  readonly edition?: number | undefined;
}

const CACHED_CAMPAIGNS = 200;

/** Reads the texts and recipients of a lane's campaigns, and its messages. Caches texts and lists, because a lane reads them in order. */
export function campaignContent({ redis, keys, id: lane }: Pick<LaneStore, 'redis' | 'keys' | 'id'>) {
  const slices = sliceReader(redis, keys, lane);
  const cached = createReadCache<BatchText>(CACHED_CAMPAIGNS);
  const text = (id: string, edition = 0): Promise<BatchText> =>
    cached(`${id} ${edition}`, async () => {
      const stored = await readMeta(redis, keys, lane, id);
      const meta = stored && contentAt(stored, edition);
      if (meta === null) throw new DamagedError(`campaign ${id} has a state but no text`);
      const compiled = compileTemplate(meta.text, meta.placeholders);
      if (!compiled.ok) throw new DamagedError(`campaign ${id}: ${compiled.reason}`);
      return { meta, template: compiled.template };
    });
  const editionText = (name: string, revision: number | undefined): Promise<BatchText> =>
    cached(`${outboxId(name)} ${revision}`, async () => {
      const settings = await readEdition(redis, keys, lane, name, revision);
      if (settings === null) throw new DamagedError(`outbox ${name} has no settings of revision ${revision}`);
      const compiled = compileTemplate(settings.message, settings.columns);
      if (!compiled.ok) throw new DamagedError(`outbox ${name}: ${compiled.reason}`);
      return { meta: settings, template: compiled.template };
    });
  return {
    /** Rejects with a {@link DamagedError} if the stored text is missing or cannot be compiled. */
    text({ campaign, edition }: NamedBatch): Promise<BatchText> {
      const outbox = outboxName(campaign);
      return outbox === null ? text(campaign, edition) : editionText(outbox, edition);
    },
    /** Rejects with a {@link DamagedError} if a slice is missing or cannot be read. */
    async recipients(batch: NamedBatch, count: number): Promise<readonly StoredRecipient[]> {
      const { campaign, first, message } = batch;
      if (outboxName(campaign) === null) return slices.recipients(campaign, first, count);
      const stored = await readBatchMessage(redis, keys, lane, batch);
      if (stored === null) throw new DamagedError(`${campaign} has no message ${message} any more`);
      return [{ number: stored.to, values: stored.values, reference: stored.reference }];
    },
  };
}

/** See {@link campaignContent}. */
export type CampaignContent = ReturnType<typeof campaignContent>;

/** The value that `read` resolves with, or its {@link DamagedError}: one damaged campaign does not stop the others. */
export async function orDamaged<Value>(read: () => Promise<Value>): Promise<Value | DamagedError> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof DamagedError) return error;
    throw error;
  }
}

/** What a batch is charged for; undefined if it cannot be read. */
export async function chargeOfBatch(
  lane: Pick<LaneStore, 'redis' | 'keys' | 'id'>,
  batch: NamedBatch & { readonly count: number },
  chargeOf: Charger,
): Promise<Charge | undefined> {
  const content = campaignContent(lane);
  const charge = await orDamaged(async () => {
    const [{ template }, recipients] = await Promise.all([
      content.text(batch),
      content.recipients(batch, batch.count),
    ]);
    return chargeOf(template.render(recipients[0]?.values ?? []), recipients);
  });
  return charge instanceof DamagedError ? undefined : charge;
}
