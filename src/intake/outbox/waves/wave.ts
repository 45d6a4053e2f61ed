import { storedFieldsOf } from '../../../campaign/fields/field-sets.js';
import { CAMPAIGN_ID } from '../../../campaign/states/campaign.js';
import type { RecipientState } from '../../../campaign/states/recipient.js';
import type { StoredRecipient } from '../../../engine/recipients/slices.js';
import { countSlices, readSlices, recipientsOf } from '../../../engine/recipients/stored-slices.js';
import { type LaneStore, laneScript } from '../../../engine/scripts/lane-script.js';
import type { CampaignMeta } from '../../../engine/store/campaign-meta.js';
import { readState } from '../../../engine/store/campaigns.js';
import { outboxKeys } from '../definition/outbox-keys.js';
import type { OutboxSettings } from '../definition/settings.js';

/*
 * A wave is a campaign, and each message is one of its recipients. Beside the values of the text, a recipient has two hidden ones, which
 * plan.lua adds: its id and its time.
 */
const HIDDEN = ['@id', '@sendAt'] as const;
const NAME_START = 'outbox ';

/** The part of a wave that never changes. */
export function waveMeta(
  settings: OutboxSettings,
  name: string,
  lane: string,
  id: string,
  now: number,
): CampaignMeta {
  return {
    ...storedFieldsOf({ ...settings, name: `${NAME_START}${name}`, lane }),
    id,
    columns: ['to', ...settings.columns],
    numberColumn: 'to',
    placeholders: [...settings.columns, ...HIDDEN],
    created: CAMPAIGN_ID.test(id) ? Number.parseInt(id.slice(0, -5), 36) : now,
    createdBy: settings.createdBy,
    duplicates: 0,
    invalid: 0,
    suppressed: 0,
    preview: null,
  };
}

/** The outbox of a wave; null for any other campaign. */
export function outboxOf({ name, placeholders }: CampaignMeta): string | null {
  return placeholders.includes(HIDDEN[0]) ? name.slice(NAME_START.length) : null;
}

/** The names of the values of the messages in a wave. */
export const valueNames = ({ placeholders }: Pick<CampaignMeta, 'placeholders'>): readonly string[] =>
  placeholders.slice(0, -HIDDEN.length);

/** How many of the last values of its recipients are hidden: none, unless it is a wave. */
export const hiddenValues = ({ placeholders }: Pick<CampaignMeta, 'placeholders'>): number =>
  placeholders.includes(HIDDEN[0]) ? HIDDEN.length : 0;

/** A recipient of a wave as the message that it was. */
export interface WaveMessage {
  readonly id: string;
  readonly number: string;
  readonly values: readonly string[];
  readonly reference: string;
  /** In seconds since the epoch. */
  readonly due: number;
}

/** Reads a recipient, whose last values are the hidden ones. */
export function asMessage({ number, values, reference = '' }: StoredRecipient): WaveMessage {
  const [id = '', due = '0'] = values.slice(-HIDDEN.length);
  return { id, number, values: values.slice(0, -HIDDEN.length), reference, due: Number(due) };
}

/** The messages of one slice of a wave. */
export async function sliceOf(
  lane: Pick<LaneStore, 'redis' | 'keys' | 'id'>,
  wave: string,
  slice: number,
): Promise<WaveMessage[]> {
  const { redis, keys, id } = lane;
  const [found = null] = await readSlices(redis, keys, { lane: id, campaign: wave, series: 'slices' }, [
    slice,
  ]);
  return found === null ? [] : recipientsOf(found).map(asMessage);
}

const forgetScript = laneScript(import.meta.url, './forget-wave.lua', () => undefined);

/**
 * Removes the pointers to a wave that is about to be removed, and adds its counts to those of its outbox. Does nothing for another
 * campaign, or one that has not ended. Repeating it is harmless.
 */
export async function forgetWave(lane: LaneStore, wave: string): Promise<void> {
  const { redis, keys, id } = lane;
  const state = await readState(redis, keys, id, wave);
  if (state === null || state.outbox === undefined || state.endedAt === 0) return;
  const boxKeys = outboxKeys(keys, id, state.outbox);
  const run = (ids: readonly string[], counts: Partial<Record<RecipientState, number>>, isLast: 0 | 1) =>
    forgetScript(lane, { wave, counts: JSON.stringify(counts), isLast }, [], {
      ownKeys: boxKeys.fixed,
      entryArgs: ids,
    });
  const slices = await countSlices(redis, keys, { lane: id, campaign: wave, series: 'slices' });
  for (let slice = 0; slice < slices; slice += 1) {
    // An id occurs twice if its first message has ended in the wave.
    const ids = new Set((await sliceOf(lane, wave, slice)).map((message) => message.id));
    await run([...ids], {}, 0);
  }
  await run([], state.counts, 1);
}
