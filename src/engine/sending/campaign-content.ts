import { compileTemplate, type Template } from '../../campaign/text/template.js';
import { DamagedError } from '../recipients/damaged.js';
import { createReadCache, sliceReader } from '../recipients/slices.js';
import type { LaneStore } from '../scripts/lane-script.js';
import { type CampaignMeta, readMeta } from '../store/campaign-meta.js';

/** A campaign's text, which never changes, and its compiled template. */
interface CampaignText {
  readonly meta: CampaignMeta;
  readonly template: Template;
}

const CACHED_CAMPAIGNS = 200;

/** Reads the texts and recipients of a lane's campaigns. Caches both, because a lane reads them in order. */
export function campaignContent({ redis, keys, id: lane }: Pick<LaneStore, 'redis' | 'keys' | 'id'>) {
  const slices = sliceReader(redis, keys, lane);
  const cached = createReadCache<CampaignText>(CACHED_CAMPAIGNS);
  const text = (id: string): Promise<CampaignText> =>
    cached(id, async () => {
      const meta = await readMeta(redis, keys, lane, id);
      if (meta === null) throw new DamagedError(`campaign ${id} has a state but no text`);
      const compiled = compileTemplate(meta.text, meta.placeholders);
      if (!compiled.ok) throw new DamagedError(`campaign ${id}: ${compiled.reason}`);
      return { meta, template: compiled.template };
    });
  return {
    /** Rejects with a {@link DamagedError} if the stored text is missing or cannot be compiled. */
    text,
    /** Rejects with a {@link DamagedError} if a slice is missing or cannot be read. */
    recipients: slices.recipients,
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
