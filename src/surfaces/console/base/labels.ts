/*
 * What columns, facts, fields, and states are called, once for all screens.
 */

export const labels = {
  audience: 'Audience',
  by: 'By',
  campaign: 'Campaign',
  campaigns: 'Campaigns',
  change: 'Change',
  commands: 'Commands',
  completion: 'Complete',
  cost: 'Cost',
  created: 'Created',
  ended: 'Ended',
  evidence: 'What is known',
  expires: 'Expires',
  inFlight: 'In flight',
  lane: 'Lane',
  lanes: 'Lanes',
  lastCampaign: 'Last campaign',
  leftOut: 'Rows left out',
  list: 'List',
  maxRecipients: 'Recipients per request',
  message: 'Text',
  name: 'Name',
  next: 'Next',
  number: 'Number',
  pace: 'Pace',
  process: 'Process',
  progress: 'Progress',
  quota: 'Quota',
  rate: 'Sends per minute',
  reason: 'Reason',
  recipients: 'Recipients',
  reference: 'Reference',
  reports: 'Awaiting reports',
  request: 'Request',
  requests: 'Requests',
  roles: 'Roles',
  row: 'Row',
  safe: 'Safe to resend',
  scopes: 'May',
  sender: 'Sender',
  sent: 'Sent',
  settle: 'Settle as',
  since: 'Since',
  source: 'From',
  starts: 'Starts',
  state: 'State',
  tag: 'Tag',
  throttled: '429 so far',
  unknown: 'Unknown outcomes',
  updated: 'Updated',
  used: 'Last used',
  waiting: 'Waiting',
  waits: 'Why it waits',
  when: 'When',
  window: 'Window',
} as const;

/** States that are not called by their name. */
const STATES: Readonly<Record<string, string>> = {
  deliveredToNetwork: 'On the network',
  deliveredToTerminal: 'Delivered',
  deliveryImpossible: 'Impossible',
  duplicate: 'Duplicate row',
  invalid: 'Invalid row',
};

/** `backingOff` → `backing off`. */
export const wordsOf = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replaceAll(/[-.]/g, ' ');

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** A field of an operation: `createdFrom` → `Created from`. */
export const labelOf = (field: string): string => capital(wordsOf(field));

/** A state of a recipient, a campaign, or a lane, as people read it. */
export const stateText = (state: string): string => STATES[state] ?? labelOf(state);

/** States as the choices of a filter. */
export const stateOptions = (states: readonly string[]) =>
  states.map((value) => ({ value, label: stateText(value) }));
