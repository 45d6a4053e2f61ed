import type { CampaignStatus } from 'built/campaign/views/views.js';
import { useLocation } from 'preact-iso/router';
import { RECIPIENT_STATES, type RecipientState } from '../../../campaign/states/recipient.js';
import { STATUS_GROUPS } from '../../../campaign/states/reported-status.js';
import { HOME } from '../base/api.js';
import { stateText, texts } from '../base/texts.js';
import { countText } from '../base/times.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { Facts } from '../parts/Section.js';

const words = texts.campaign;
/** No message arrived, and its person has not asked for that. Of the last, that was decided without proof. */
const GET_IT: readonly RecipientState[] = [...STATUS_GROUPS.failed, 'cancelled', 'abandoned'];

/** Sends the same text to those who did not get it, as a campaign of its own. A repeat answers with that campaign. */
export function SendAgain({ status }: { readonly status: CampaignStatus }) {
  const { id, name, lane, sender, message, tags, window, zone, counts, endedAt } = status;
  const { route } = useLocation();
  const count = GET_IT.reduce((sum, state) => sum + counts[state], 0);
  if (endedAt === null || count === 0) return null;
  const listOf = (isIn: (state: RecipientState) => boolean): string =>
    RECIPIENT_STATES.filter((state) => counts[state] > 0 && isIn(state))
      .map((state) => `${countText(counts[state])} ${stateText(state).toLowerCase()}`)
      .join(', ');
  return (
    <CommandButton
      command="createCampaign"
      lane={lane}
      label={words.again(count)}
      question={
        <>
          <p>{words.againAbout(message)}</p>
          {counts.abandoned > 0 && <p class="warning">{words.againTwice(counts.abandoned)}</p>}
          <Facts
            facts={[
              [words.includes, listOf((state) => GET_IT.includes(state))],
              [words.leavesOut, listOf((state) => !GET_IT.includes(state))],
            ]}
          />
        </>
      }
      expect={{ count, label: texts.typeToConfirm(count) }}
      input={{
        name: words.againName(name),
        ...{ lane, sender, message, tags },
        ...(window && {
          window: { hours: window.hours, except: window.except, zone: window.zone ?? undefined },
          zone: zone ?? undefined,
        }),
        toResultsOf: { campaign: id, status: GET_IT },
        'Idempotency-Key': `again-${id}`,
      }}
      done={words.againDone(count)}
      onDone={(created) => route(`${HOME}/campaigns/${created.id}`)}
    />
  );
}
