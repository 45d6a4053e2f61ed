import { counted } from './texts.js';
import { countText } from './times.js';

export const stripTexts = {
  summary: (sends: number, polls: number, limit: number | null) =>
    `${limit === null ? counted(sends + polls, 'request') : `${countText(sends + polls)} of ${counted(limit, 'request')}`} count now: ${countText(sends)} with messages and ${countText(polls)} for delivery reports.`,
  now: 'now',
  frees: (count: number, at: string) => `The marked bar frees ${countText(count)} at ${at}.`,
  table: 'The window in twelve parts',
  from: 'From',
  returnFrom: 'Return from',
  legend: {
    sends: 'sends',
    polls: 'for reports',
    permits: 'quota that returns',
    counted: 'counts against the quota',
    limit: 'limit',
    reserve: 'kept for reports',
    guard: 'guard: requests without an answer count this much longer',
    throttled: 'refused as too many',
  },
} as const;
