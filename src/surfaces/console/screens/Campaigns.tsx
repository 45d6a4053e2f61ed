import { CAMPAIGN_STATES } from '../../../campaign/campaign.js';
import { listTexts } from '../base/list-texts.js';
import type { CampaignStatus } from '../base/live-types.js';
import { pagesOf } from '../base/pages.js';
import { mayRun } from '../base/session.js';
import { texts as pageTexts } from '../base/texts.js';
import { countText, spanText } from '../base/times.js';
import { Bar } from '../parts/Bar.js';
import { PagedTable } from '../parts/Table.js';
import { Time } from '../parts/Time.js';
import { Title } from '../parts/Title.js';

const loadCampaigns = pagesOf('listCampaigns', ({ campaigns }) => campaigns);

const texts = listTexts.campaigns;
const STATES = CAMPAIGN_STATES.map((value) => ({ value, label: pageTexts.campaignStates[value] }));

/** All campaigns, newest first, with filters in the address. */
export function Campaigns() {
  return (
    <>
      <Title text={texts.title} />
      <PagedTable
        caption={texts.title}
        isCaptionHidden
        empty={texts.none}
        filters={[
          { name: 'state', label: texts.state, options: STATES },
          { name: 'name', label: texts.name },
          { name: 'lane', label: texts.lane },
          { name: 'tag', label: texts.tag },
        ]}
        actions={
          mayRun('uploadCampaign') && (
            <a class="button primary" href="/console/new">
              {texts.new}
            </a>
          )
        }
        load={loadCampaigns}
        rowKey={({ id }) => id}
        columns={[
          {
            title: texts.name,
            isName: true,
            cell: ({ id, name }) => <a href={`/console/campaigns/${id}`}>{name}</a>,
          },
          { title: texts.state, cell: ({ state }) => pageTexts.campaignStates[state] },
          { title: texts.progress, cell: ({ counts }) => <Bar counts={counts} isSmall /> },
          { title: texts.recipients, isNumber: true, cell: ({ counts }) => countText(counts.total) },
          { title: texts.pace, cell: paceOf },
          { title: texts.lane, cell: ({ lane }) => lane },
          { title: texts.created, cell: ({ createdAt, zone }) => <Time at={createdAt} zone={zone} /> },
          { title: texts.by, cell: ({ createdBy }) => createdBy?.name ?? '' },
        ]}
      />
    </>
  );
}

/** How fast it is sent, or how long it took. */
function paceOf({ rate, endedAt, sendAt, createdAt }: CampaignStatus): string {
  if (endedAt !== null) return texts.took(spanText(Date.parse(endedAt) - Date.parse(sendAt ?? createdAt)));
  return rate === null ? '' : texts.perMinute(rate);
}
