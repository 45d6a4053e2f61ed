import type { CampaignCost } from 'built/campaign/views/measures.js';
import type { LaneStatus } from 'built/campaign/views/views.js';
import { PLAIN_STATES } from '../../../campaign/states/state-labels.js';
import { countText, moneyText } from './times.js';

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${countText(count)} ${count === 1 ? one : many}`;
/** After `per` and `the last`. */
const unitText = (span: string): string => span.replace(/^1 h$/, 'hour').replace(/^1 min$/, 'minute');
export const recipientsText = (count: number): string => counted(count, 'recipient');

/** An event in a sentence: `Spring sale: campaign paused by key on-call`. */
export function eventText({ type, name, campaign, lane, actor }: Readonly<Record<string, unknown>>): string {
  return `${name ?? campaign ?? lane ?? 'Volley'}: ${stateText(String(type)).toLowerCase()}${actor ? ` by ${actor}` : ''}`;
}

export const texts = {
  done: (title: string) => `${title}: done.`,
  since: 'since',
  at: 'at',
  inSpan: (span: string) => `(in ${span})`,
  seeAbove: 'Waits for what needs attention above.',
  fileChanged: 'The file has changed or was removed since you chose it. Choose it again.',
  loading: 'Loading …',
  offline:
    'The server does not respond. As far as this page knows, nothing was changed. Retry when it is back.',
  notBefore: 'not before',
  about: 'about',
  nothing: 'Nothing here.',
  optional: '(optional)',
  range: (first: number, last: number, of: number) =>
    `${countText(first)}–${countText(last)} of ${countText(of)}`,
  pagesOf: (caption: string) => `Pages of ${caption}`,
  suppressed: 'This number is suppressed: nothing is sent to it.',
  typeToConfirm: (count: number) => `Type ${countText(count)} to confirm`,
  wrongCount: (count: number) => `Type ${count}, the number above.`,
  disabled: 'The page has lost contact with the server: wait until it is live again.',

  skip: 'Skip to the content',

  header: {
    simulator: 'SIMULATOR',
    simulatorAbout: 'Nothing reaches a phone: the service is simulated.',
    key: (name: string) => `Key: ${name}`,
    reveal: 'Show numbers',
    mask: 'Hide numbers',
    themes: { system: 'As the system', light: 'Light', dark: 'Dark' },
    lost: 'Lost contact with the server',
    pause: 'Pause updates',
    resume: 'Resume updates',
    age: (age: string) => `figures are ${age} old`,
  },

  signIn: {
    key: 'API key',
    about: 'Begins with vk_. Ask the person who runs Volley for a key, or for a link that signs you in.',
    ended: 'Your session has ended, or its key was revoked. Sign in again.',
    link: 'This link was used already, or is older than ten minutes. To get another: volley console',
    forDevelopers: 'On the machine of the server, these print a link or a key:',
    commands: ['volley console', 'volley keys create --name NAME'],
  },

  recipients: PLAIN_STATES,

  /** How the bar groups the states of recipients, where a group has several. */
  kinds: { failed: 'not delivered', left: 'not sent' },
  /** What the service wrote itself about a message. */
  serviceSays: (text: string) => `The service says: ${text}`,

  /** What a person may decide where it is not known whether a message arrived. */
  settle: {
    accepted: 'They got it',
    abandon: 'They did not get it',
    resend: 'Send it again',
    expect: (count: number) => `Some may get it twice. To confirm, type ${count}`,
  },

  overview: {
    allWell: 'Nothing needs your attention.',
    noneRunning: 'Nothing is being sent.',
    noneScheduled: 'Nothing is scheduled.',
    eachTime: 'read when it starts',
    noneEnded: 'No campaign has ended today.',
    lastBy: '; last results by ',
    allLanes: (count: number) => `All ${counted(count, 'account')}`,
    noEvents: 'No events since this page was opened.',
    gap: 'Some events are missing: they were no longer stored when the page was connected again.',
  },

  campaign: {
    of: (count: number) => `of ${recipientsText(count)}`,
    stop: (count: number) => `Stop sending to the remaining ${countText(count)} for good?`,
    keep: 'Do not stop',
    done: 'done',
    perMinute: (rate: number) => `${countText(rate)} a minute`,
    costText: ({ accepted, total, currency }: CampaignCost, unpriced: number) =>
      `${accepted === null ? '' : `${moneyText(accepted, currency)} so far, `}${moneyText(total, currency)} for all${unpriced > 0 ? `, except ${counted(unpriced, 'number')} without a price` : ''}`,
    requestsText: (send: number, poll: number, throttled: number) =>
      `${counted(send, 'request')} with messages, ${countText(poll)} for delivery reports, ${countText(throttled)} refused as too many`,
    leftOutText: (duplicates: number, invalid: number) =>
      `${counted(duplicates, 'duplicate')}, ${counted(invalid, 'invalid row')}`,
    result: (hasEnded: boolean) => (hasEnded ? 'Result' : 'Result so far'),
    replies: (count: number) => (count === 1 ? 'reply' : 'replies'),
    moreReplies: 'or more',
    ofFirst: (read: number, count: number) => `of the first ${countText(read)} of ${countText(count)}`,
    again: (count: number) => `Send again to ${countText(count)} who did not get it`,
    againTwice: (count: number) =>
      `${counted(count, 'person was', 'people were')} counted as not sent without proof, and may get it twice.`,
    againAbout: (message: string) => `This creates another campaign with the same text: “${message}”`,
    includes: 'It goes to',
    leavesOut: 'It does not go to',
    againName: (name: string) => `${name.slice(0, 180)}, again`,
    againDone: (count: number) => `It is sent again to ${counted(count, 'person', 'people')}.`,
    report: 'Report for Excel',
    line: (line: number) => `line ${countText(line)}`,
    missing:
      'There is no such campaign: it was deleted, its retention period is over, or your key may not see it.',
  },

  unknown: {
    about:
      'The service gave no clear answer when these messages were sent, so they may have arrived or not. Unless the settings of the account say otherwise, nothing happens until someone decides.',
    codes: {
      reported:
        'The connection broke, or no clear answer came, when it was sent. So it is not known whether it arrived.',
      silent: 'The process that sent it may have crashed.',
      restored: 'It may have been sent before Redis lost data.',
    },
    resendFrom: 'It can be sent again ',
    polled: 'A report may belong to it: Volley asks the service.',
    more: (count: number, shown: number) =>
      shown === 0 ? recipientsText(count) : `and ${countText(count)} more`,
    allOf: (name: string) => `all of ${name}`,
  },

  lane: {
    about: 'Each account of the service has a limit of its own.',
    learned: 'learned',
    resume: (name: string) => `Resume ${name}`,
    quotaText: (used: number, limit: number | null, span: string) =>
      limit === null
        ? `${countText(used)} used, limit not known yet`
        : `${countText(used)} of ${countText(limit)} per ${unitText(span)}`,
    perMinute: (values: readonly number[]) =>
      `Sends in each of the last five minutes: ${values.map((value) => countText(value)).join(', ')}`,
    campaigns: ({ running, waiting, scheduled }: LaneStatus['campaigns']) =>
      `${countText(running)} running, ${countText(waiting)} waiting, ${countText(scheduled)} scheduled`,
    open: 'Requests may start.',
    missing: 'There is no such account, or your key may not use it.',
    window: (span: string) => `Requests of the last ${unitText(span)}, and when their quota returns`,
  },

  /** The window of a lane, drawn. */
  strip: {
    summary: (sends: number, polls: number, limit: number | null) =>
      `${limit === null ? counted(sends + polls, 'request') : `${countText(sends + polls)} of ${counted(limit, 'request')}`} count now: ${countText(sends)} with messages and ${countText(polls)} for delivery reports.`,
    frees: (count: number, at: string) => `The marked bar frees ${countText(count)} at ${at}.`,
    table: 'The window in twelve parts',
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
  },

  chart: {
    most: (highest: string) => `At most ${highest}`,
    marks: '▲ refused as too many   ‖ paused',
  },

  shortcuts: {
    field: 'The first field of the page',
    pause: 'Pause or resume updates',
    reveal: 'Show or hide numbers',
  },

  notFound: 'There is no such page.',
  notAllowed: ({ scope, allLanes }: { scope: string; allLanes?: true }) =>
    `Your key may not use this page. It needs the scope ${scope}${allLanes ? ' on all accounts' : ''}.`,
} as const;

/** States that are not called by their name. */
const STATES: Readonly<Record<string, string>> = {
  'campaign.cancelled': 'Campaign stopped',
  failed: 'Not delivered (failed)',
  backingOff: 'Slowed down',
  'lane.backingOff': 'Slowed down',
  'request.unknown': 'Not known whether it arrived',
  probing: 'Testing',
};

/** Fields that are not called by their name. */
const LABELS: Readonly<Record<string, string>> = {
  new: 'Send',
  unclear: 'Not known',
  status: 'State',
  lane: 'Account',
  lanes: 'Accounts',
  quota: 'Limit',
  unknownOutcomes: 'Not known whether they got it',
  resolveAs: 'What to do',
};

/** `backingOff` → `backing off`. */
export const wordsOf = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replaceAll(/[-.]/g, ' ');

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** A field, a column, or a heading by its name: `createdFrom` → `Created from`. */
export const labelOf = (field: string): string => LABELS[field] ?? capital(wordsOf(field));

/** A state of a recipient, a campaign, or a lane, as people read it. */
export const stateText = (state: string): string =>
  (texts.recipients as Readonly<Record<string, readonly [string, string]>>)[state]?.[0] ??
  STATES[state] ??
  capital(wordsOf(state.replace(/^lane\./, '')));

/** The state of a campaign; one that runs may have to wait. */
export const campaignText = ({ state, waitingFor }: { state: string; waitingFor: string | null }): string =>
  stateText(state === 'running' && waitingFor !== null && waitingFor !== 'reports' ? 'waiting' : state);
