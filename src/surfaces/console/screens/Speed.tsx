import type { CampaignStatus } from '../base/live-types.js';

export function Speed(_: { readonly status: CampaignStatus }) {
  return null;
}
