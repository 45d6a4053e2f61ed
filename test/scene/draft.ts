import type { CampaignMeta } from '../../src/engine/store/campaign-meta.js';

/** What an import begins a campaign with: a text without placeholders, for one column of numbers. */
export function draft(id: string, change: Partial<CampaignMeta> = {}): CampaignMeta {
  return {
    id,
    name: id,
    lane: 'main',
    sender: 'ACME',
    text: 'Hello',
    columns: ['to'],
    numberColumn: 'to',
    placeholders: [],
    priority: 'normal',
    created: 1,
    duplicates: 0,
    invalid: 0,
    suppressed: 0,
    preview: null,
    ...change,
  };
}
