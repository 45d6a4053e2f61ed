import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { InputError } from '../../campaign/errors/errors.js';
import { MAX_TEXT_LENGTH } from '../../campaign/fields/fields.js';
import { LimitError, type Limits } from '../../campaign/limits/check-limits.js';
import { costMeter, formatAmount, type PriceList, priceFinder } from '../../campaign/limits/price.js';
import { segmentsOf } from '../../campaign/text/segments.js';
import { compileTemplate, type Template } from '../../campaign/text/template.js';
import { CostCollector } from '../../engine/recipients/costs.js';
import { DamagedError } from '../../engine/recipients/damaged.js';
import { SLICE, unpackSlice } from '../../engine/recipients/slice-blob.js';
import { readSlices } from '../../engine/recipients/stored-slices.js';
import { type CampaignMeta, type EarlierContent, isClaimed } from '../../engine/store/campaign-meta.js';

/*
 * What another text means for the recipients of a campaign: their segments, and what the messages cost. The list is read slice by slice, outside of
 * scripts, so that the lane goes on. Recipients that were claimed count with the text that they were claimed with, unless that was released since.
 */

const SLICES_AT_ONCE = 32;
/** What a number that was forgotten is stored as. */
const FORGOTTEN = '+0';

/** What the messages of a campaign cost together, as it is stored, and which of the costs each has, as fields and values. */
export interface Measured {
  readonly cost: CampaignMeta['cost'];
  readonly micros: bigint;
  readonly chunks: readonly (string | Buffer)[];
}

/** What {@link measure} depends on. */
interface MeasureDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly prices: PriceList | undefined;
  readonly limits: Limits;
}

/** The template of a text for the values that a campaign stores. Throws an InputError that names the column that it lacks. */
export function templateFor(text: string, placeholders: readonly string[]): Template {
  const compiled = compileTemplate(text, placeholders);
  if (compiled.ok) return compiled.template;
  const kept =
    placeholders.length === 0
      ? 'of no column'
      : `only of ${placeholders.map((name) => `{{${name}}}`).join(', ')}`;
  const reason = compiled.reason
    .replace('the list has no such column', 'the campaign has no such value')
    .replace(/ The columns are .*/, '');
  throw new InputError(
    `${reason} The campaign keeps the values ${kept}, which its first text used: for others, cancel it and create another one`,
    { field: 'message' },
  );
}

/**
 * Reads the recipients of a campaign that is to have another text in place of `text`. `until`: who was claimed with that. Throws an error
 * for the first of the others who may not get it.
 */
export async function measure(
  { redis, keys, prices, limits }: MeasureDeps,
  meta: CampaignMeta,
  { ordinals, until, text }: Pick<EarlierContent, 'until' | 'text'> & { readonly ordinals: number },
): Promise<Measured> {
  const before = templateFor(text, meta.placeholders);
  const contents = [...(meta.earlier ?? []), { text: meta.text, until: Number.POSITIVE_INFINITY }].map(
    ({ text, until }) => ({ template: templateFor(text, meta.placeholders), until }),
  );
  const meter = prices && costMeter(prices);
  const priceOf = prices && priceFinder(prices);
  const costs = new CostCollector();
  let unpriced = 0;
  const add = (ordinal: number, number: string, values: readonly string[]): void => {
    const template = contents.find(({ until }) => isClaimed(until, ordinal))?.template;
    if (template === undefined || number === FORGOTTEN) {
      costs.add(0);
      return;
    }
    const { segments } = segmentsOf(template.render(values));
    const isNew = !isClaimed(until, ordinal);
    if (isNew) mustBeAllowed(ordinal, number, segments, template.length(values));
    if (isNew && limits.needsPrices) mustNotBeDearer(segments, segmentsOf(before.render(values)).segments);
    const micros = meter?.add(number, segments);
    if (micros === undefined && priceOf !== undefined) unpriced += 1;
    costs.add(micros ?? 0);
  };
  const mustBeAllowed = (ordinal: number, number: string, segments: number, length: number): void => {
    const who = `recipient ${ordinal + 1} of the list`;
    if (length > MAX_TEXT_LENGTH)
      throw new InputError(`${who} gets a text of ${length} characters; the maximum is ${MAX_TEXT_LENGTH}`, {
        field: 'message',
      });
    const refused = limits.refusal('segments', segments) ?? limits.refusal('number', number);
    if (refused !== null) throw new LimitError(`${who} ${refused.reason}`, { ...refused, field: 'message' });
  };
  // The day has counted what the message cost when the campaign was created.
  const mustNotBeDearer = (segments: number, before: number): void => {
    const [owner = 'lane'] = limits.daily.flatMap((each) => (each.costPerDay === null ? [] : [each.owner]));
    if (segments > before)
      throw new LimitError(
        `the message needs more segments than before, which the limit \`costPerDay\` of the ${owner} does not allow once a campaign is created`,
        { limit: 'costPerDay', owner, field: 'message' },
      );
  };
  for (let from = 0; from < Math.ceil(ordinals / SLICE); from += SLICES_AT_ONCE) {
    const count = Math.min(SLICES_AT_ONCE, Math.ceil(ordinals / SLICE) - from);
    const numbers = Array.from({ length: count }, (_, at) => from + at);
    const of = { lane: meta.lane, campaign: meta.id, series: 'slices' } as const;
    for (const [at, slice] of (await readSlices(redis, keys, of, numbers)).entries()) {
      if (slice === null) throw new DamagedError(`campaign ${meta.id} has no slice ${from + at}`);
      for (const [place, { number, values }] of unpackSlice(slice).entries())
        add((from + at) * SLICE + place, number, values);
    }
  }
  if (meter === undefined || prices === undefined) return { cost: undefined, micros: 0n, chunks: [] };
  const each = costs.costs();
  return {
    micros: meter.total(),
    cost: {
      currency: prices.currency,
      total: formatAmount(meter.total(), prices.currency),
      ...(unpriced === 0 ? {} : { unpriced }),
      ...(each === null ? {} : { costs: each }),
    },
    chunks: [...costs.chunks()].flat(),
  };
}
