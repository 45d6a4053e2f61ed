/*
 * Why a campaign or a lane starts no requests, for programs. Each code belongs to one state; `reason` says the same in words, with details.
 */
export const BLOCKS = {
  paused: {
    state: 'paused',
    means: 'an operator has paused the campaign, or Volley has, because the service refuses it',
  },
  scheduled: { state: 'scheduled', means: 'the campaign starts later' },
  notConfigured: { state: 'waiting', means: 'its lane is not configured' },
  noCredentials: { state: 'waiting', means: 'no running worker has the credentials of its lane' },
  windowClosed: { state: 'waiting', means: 'its window is closed' },
  laneWindowClosed: { state: 'waiting', means: 'the window of its lane is closed' },
  quotaUsed: { state: 'waiting', means: 'the quota of its lane is used up' },
  sendingFails: { state: 'failing', means: 'sending on the lane fails again and again' },
  pollingFails: { state: 'failing', means: 'asking for delivery statuses on the lane fails again and again' },
  stopped: {
    state: 'stopped',
    means: 'the service gave a response that retrying cannot fix, such as 401 or 403',
  },
  held: { state: 'held', means: 'an operator holds the lane' },
  olderData: { state: 'held', means: 'Redis has older data than before, so a backup may have been restored' },
  dataLoss: { state: 'recovering', means: 'Redis may have lost its last writes' },
  unboundedLoss: { state: 'backingOff', means: 'nothing bounds how much Redis may lose' },
  throttled: { state: 'backingOff', means: 'the service returned 429' },
  unreachable: { state: 'backingOff', means: 'the service is unreachable or does not respond' },
  noToken: { state: 'noToken', means: 'the account service has given no access token' },
} as const satisfies Readonly<Record<string, { readonly state: string; readonly means: string }>>;

/** See {@link BLOCKS}. */
export type BlockCode = keyof typeof BLOCKS;
export const BLOCK_CODES = Object.keys(BLOCKS) as BlockCode[];

/** The reason of a lane that Volley holds because of {@link BLOCKS}.olderData. engine/claim/rollback.lua stores the same text. */
export const OLDER_DATA =
  'Redis has older data than before; run `volley doctor --restored` before you resume the lane';
