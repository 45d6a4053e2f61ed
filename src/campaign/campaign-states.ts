/** `cancelled` is kept while reports for messages that were already sent still arrive. */
export const CAMPAIGN_STATES = [
  'importing',
  'scheduled',
  'running',
  'paused',
  'cancelled',
  'completed',
] as const;
/** See {@link CAMPAIGN_STATES}. */
export type CampaignState = (typeof CAMPAIGN_STATES)[number];
