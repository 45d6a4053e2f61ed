import type { ErrorItem } from '../../campaign/errors/error-codes.js';
import { type ListKind, rowError } from '../../campaign/errors/error-item.js';
import { InputError } from '../../campaign/errors/errors.js';
import { parseAmount } from '../../campaign/limits/price.js';
import { refusalOfList } from '../../campaign/limits/refusal.js';
import type { Preview, Refusal } from '../../campaign/views/preview-views.js';
import type { CampaignInput, CheckedCampaign, ImportOutcome } from './campaign-input.js';
import { listKind } from './open-list.js';
import type { Duplicates } from './rows/check-rows.js';

/** Why a campaign is refused because of its list. */
export type RefusedCode = Exclude<Refusal['code'], 'repeated'>;

/** Why a list is refused, whatever the lane has sent before; null if it is not. */
export function refusedList(
  { rows, invalid, differentTexts: different }: Pick<Preview, 'rows' | 'invalid' | 'differentTexts'>,
  { skipInvalid }: Pick<CheckedCampaign, 'skipInvalid'>,
  duplicates: Duplicates,
): 'noRows' | 'invalidRows' | 'differentTexts' | null {
  if (rows === 0) return 'noRows';
  // If all rows are invalid, `skipInvalid` would leave no recipients: their reasons help more than an empty campaign.
  if (invalid > 0 && (skipInvalid !== true || invalid === rows)) return 'invalidRows';
  return different > 0 && duplicates === 'refuse' ? 'differentTexts' : null;
}

/** The same, or because of its cost. */
export function refusedCampaign(
  preview: Preview,
  campaign: Pick<CheckedCampaign, 'skipInvalid' | 'budget' | 'limits'>,
  duplicates: Duplicates,
): RefusedCode | null {
  const { budget, limits } = campaign;
  const refused = refusedList(preview, campaign, duplicates);
  if (refused !== null || preview.cost === null) return refused;
  if (preview.cost.unpriced > 0 && (budget !== undefined || limits.needsPrices)) return 'noPrice';
  return budget !== undefined && (parseAmount(preview.cost.total) ?? 0n) > budget ? 'overBudget' : null;
}

/** What a refusal without a list says. */
export const REFUSED = { outcome: 'refused', errors: [], campaign: null, preview: null } as const;

/** The outcome of a campaign that is refused. Throws an InputError for a list without rows. */
export function refusedOutcome(
  code: RefusedCode,
  preview: Preview,
  campaign: Pick<CampaignInput, 'recipients'>,
): ImportOutcome {
  const message = refusalOfList(code, preview);
  if (code === 'noRows')
    throw new InputError(`${message}: add at least one recipient`, { field: 'recipients', itemCode: code });
  const errors = refusedParts(code, preview, listKind(campaign));
  return { outcome: 'refused', code, message, errors, campaign: null, preview };
}

/** The first rows for which a list is refused, or its limit of the cost. */
function refusedParts(
  code: Exclude<RefusedCode, 'noRows'>,
  { errors, repeats, cost, toColumn: column }: Preview,
  list: ListKind,
): readonly ErrorItem[] {
  switch (code) {
    case 'invalidRows':
      return errors;
    case 'differentTexts':
      return repeats.flatMap(({ text, line, firstLine, to }) =>
        text === 'different'
          ? rowError(
              { code, line, column, list },
              `has the number of row ${firstLine} (${to}), but a different text`,
            )
          : [],
      );
    case 'noPrice':
      return (cost?.unpricedRows ?? []).map(({ line, to }) =>
        rowError({ code, line, column, list }, `${to} has no price`),
      );
    case 'overBudget': {
      const message = `The campaign costs ${cost?.total} ${cost?.currency}.`;
      return [{ code, pointer: '/maxCost', message, line: null, column: null }];
    }
    default:
      return code satisfies never;
  }
}
