import type { CampaignStatus } from 'built/campaign/views/views.js';
import { CAMPAIGN_STATE } from '../../../campaign/states/campaign.js';
import { cancelWarning } from '../../../operations/words.js';
import { texts } from '../base/texts.js';
import { CommandButton } from './CommandDialog.js';

/** Pauses a campaign, resumes it, and stops it for good: wherever it is seen. */
export function StopButtons({ status }: { readonly status: CampaignStatus }) {
  const { id, lane, state, counts, name } = status;
  const accepted: readonly string[] = CAMPAIGN_STATE[state].commands;
  const common = { input: { id }, lane, about: name };
  return (
    <span class="row">
      {accepted.includes('pause') && state !== 'paused' && (
        <CommandButton {...common} command="pauseCampaign" />
      )}
      {state === 'paused' && <CommandButton {...common} command="resumeCampaign" tone="primary" />}
      {accepted.includes('cancel') && state !== 'cancelled' && (
        <CommandButton
          {...common}
          command="cancelCampaign"
          title={counts.planned > 0 ? texts.campaign.stop(counts.planned) : undefined}
          question={cancelWarning(counts)}
          keep={texts.campaign.keep}
        />
      )}
    </span>
  );
}
