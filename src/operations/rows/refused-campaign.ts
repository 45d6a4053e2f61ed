import { asSentence } from '../../campaign/errors/errors.js';
import { remedyOf } from '../../campaign/limits/refusal.js';
import type { CampaignRefusal } from '../../intake/import/campaign-input.js';
import { Refused } from '../outcomes.js';

/**
 * Why no campaign was created, what to do, and what programs may want to know: the same on every surface. `isSeen`: whether the caller may see the
 * campaign that exists already.
 */
export function refusedCampaign(outcome: CampaignRefusal, isSeen = true): Refused<CampaignRefusal> {
  const { code, message, errors } = outcome;
  if (code === 'declined') return new Refused('failed', 'The campaign was not created.', outcome);
  const text = `${asSentence(message)} Nothing was sent. ${remedyOf(code, outcome.preview)}.`;
  return new Refused(code, text, outcome, { errors, ...membersOf(outcome, isSeen) });
}

function membersOf(outcome: Exclude<CampaignRefusal, { code: 'declined' }>, isSeen: boolean): object {
  switch (outcome.code) {
    case 'invalidRows': {
      const { invalid, rows } = outcome.preview;
      return { invalid, rows };
    }
    case 'differentTexts': {
      const { differentTexts, repeats } = outcome.preview;
      return { differentTexts, repeats: repeats.filter(({ text }) => text === 'different') };
    }
    case 'noPrice':
      return { unpriced: outcome.preview.cost?.unpriced };
    case 'overBudget': {
      const { total, maxCost, currency } = outcome.preview.cost ?? {};
      return { total, maxCost, currency };
    }
    case 'repeated':
    case 'conflict':
      return isSeen ? { campaign: outcome.campaign } : {};
    default:
      return outcome satisfies never;
  }
}
