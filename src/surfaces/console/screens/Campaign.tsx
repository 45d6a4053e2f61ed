import { useRoute } from 'preact-iso/router';
import { liveCampaigns, useLive } from '../base/live.js';
import { texts } from '../base/texts.js';

export function Campaign() {
  const { params } = useRoute();
  const id = params['id'] ?? '';
  useLive([], [id]);
  const campaign = liveCampaigns.value.get(id);
  return <h1>{campaign?.status.name ?? texts.loading}</h1>;
}
