import { countText } from './times.js';

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${countText(count)} ${count === 1 ? one : many}`;
export const recipientsText = (count: number): string => counted(count, 'recipient');

/** An event in a sentence: `Spring sale: campaign paused by key on-call`. */
export function eventText({ type, name, campaign, lane, actor }: Readonly<Record<string, unknown>>): string {
  return `${name ?? campaign ?? lane ?? 'Volley'}: ${wordsOf(String(type))}${actor ? ` by ${actor}` : ''}`;
}

export const texts = {
  all: 'All',
  close: 'Close',
  done: (title: string) => `${title}: done.`,
  continues: (span: string) => `Continues in ${span}.`,
  fileChanged: 'The file has changed or was removed since you chose it. Choose it again.',
  firstPage: 'First page',
  goToRow: 'Go to row',
  loading: 'Loading …',
  nextPage: 'Next',
  offline:
    'The server does not respond. As far as this page knows, nothing was changed. Retry when it is back.',
  notBefore: 'not before',
  about: 'about',
  nothing: 'Nothing here.',
  optional: '(optional)',
  previousPage: 'Previous',
  range: (first: number, last: number, of: number) =>
    `${countText(first)}–${countText(last)} of ${countText(of)}`,
  pagesOf: (caption: string) => `Pages of ${caption}`,
  wrongCount: (count: number) => `Type ${count}, the number above.`,
  disabled: {
    server: 'The server does not respond: wait until the page is live again.',
    redis: 'Redis is unavailable: wait until the page is live again.',
  },

  nav: { new: 'Send', skip: 'Skip to the content', main: 'Main' },

  header: {
    simulator: 'SIMULATOR',
    simulatorAbout: 'Nothing reaches a phone: the service is simulated.',
    signOut: 'Sign out',
    key: (name: string) => `Key: ${name}`,
    reveal: 'Show numbers',
    themes: { system: 'As the system', light: 'Light', dark: 'Dark' },
    redis: 'Redis unavailable',
    pause: 'Pause updates',
    resume: 'Resume updates',
    age: (age: string) => `${age} old`,
  },

  signIn: {
    title: 'Sign in',
    key: 'API key',
    about: 'Begins with vk_. Create one with: volley keys create --name NAME --scope read,send,operate',
    ended: 'Your session has ended, or its key was revoked. Sign in again.',
    link: 'This link was used already, or is older than ten minutes. To get another: volley console',
    linkAbout: 'On the machine of the server, volley console prints a link that signs you in.',
  },

  /** How the bar groups the states of recipients, where the name of a group does not say it. */
  kinds: { failed: 'rejected or impossible', left: 'not sent', network: 'on the network' },

  overview: {
    title: 'Overview',
    attention: 'Needs attention',
    allWell: 'Nothing needs your attention.',
    running: 'Campaigns in progress',
    noneRunning: 'No campaign is in progress.',
    allLanes: (count: number) => `All ${countText(count)} lanes`,
    events: 'Recent events',
    noEvents: 'No events since this page was opened.',
    gap: 'Some events are missing: they were no longer stored when the page was connected again.',
    why: 'Why',
    settle: 'Resolve',
  },

  campaign: {
    of: (count: number) => `of ${recipientsText(count)}`,
    settled: 'settled',
    perMinute: (rate: number) => `${countText(rate)} a minute`,
    states: 'Recipients by state',
    facts: 'About this campaign',
    costText: (accepted: string | null, total: string, unpriced: number) =>
      `${accepted === null ? '' : `${accepted} so far, `}${total} for all${unpriced > 0 ? `, without ${counted(unpriced, 'number')} that have no price` : ''}`,
    requestsText: (send: number, poll: number, throttled: number) =>
      `${countText(send)} sends, ${countText(poll)} for delivery reports, ${countText(throttled)} refused (429)`,
    leftOutText: (duplicates: number, invalid: number) =>
      `${countText(duplicates)} duplicate, ${countText(invalid)} invalid`,
    report: 'Report',
    line: (line: number) => `line ${countText(line)}`,
    missing:
      'There is no such campaign: it was deleted, its retention period is over, or your key may not see it.',
  },

  unknown: {
    about:
      'These requests were sent and not answered: their recipients may or may not have the message. Volley sends them again by itself only if the settings of the lane say so.',
    codes: {
      reported: 'Its worker will not send it again.',
      silent: 'Its worker did not report, and may be dead.',
      restored: 'Redis lost data: it may have been sent before.',
    },
    polled: 'A report matches it: Volley asks the service about it.',
    more: (count: number, shown: number) =>
      shown === 0 ? recipientsText(count) : `and ${countText(count)} more`,
    all: 'All of them',
    allOf: (name: string) => `all of ${name}`,
    resendExpect: (count: number) => `May arrive twice: type ${count}`,
  },

  lane: {
    about: 'A lane is an account of the service, with a quota of requests of its own.',
    learned: 'learned',
    resume: (name: string) => `Resume lane ${name}`,
    quotaText: (used: number, limit: number | null, span: string) =>
      limit === null
        ? `${countText(used)} used, limit unknown`
        : `${countText(used)} of ${countText(limit)} per ${span.replace(/^1 h$/, 'hour').replace(/^1 min$/, 'minute')}`,
    perMinute: (values: readonly number[]) =>
      `Sends in each of the last five minutes: ${values.map((value) => countText(value)).join(', ')}`,
    campaigns: (running: number, waiting: number, scheduled: number) =>
      `${countText(running)} running, ${countText(waiting)} waiting, ${countText(scheduled)} scheduled`,
    open: 'Requests may start.',
    missing: 'There is no such lane, or your key may not use it.',
    window: (window: string) => `Requests of the last ${window}, and when their quota returns`,
    facts: 'About this lane',
  },

  strip: {
    summary: (sends: number, polls: number, limit: number | null) =>
      `${countText(sends + polls)}${limit === null ? '' : ` of ${countText(limit)}`} requests count now: ${countText(sends)} sends and ${countText(polls)} for delivery reports.`,
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
      throttled: 'refused (429)',
    },
  },

  chart: {
    asTable: 'As a table',
    until: 'Until',
    most: (highest: string) => `at most ${highest}`,
    marks: '▲ refused (429)   ‖ paused',
  },

  shortcuts: {
    title: 'Shortcuts',
    field: 'The first field of the page',
    pause: 'Pause or resume updates',
    reveal: 'Show or mask numbers',
  },

  notFound: 'There is no such page.',
  notAllowed: ({ scope, allLanes }: { scope: string; allLanes?: true }) =>
    `Your key may not use this page. It needs the scope ${scope}${allLanes ? ' on all lanes' : ''}.`,
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

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** A field, a column, or a heading by its name: `createdFrom` → `Created from`. */
export const labelOf = (field: string): string => capital(wordsOf(field));

/** A state of a recipient, a campaign, or a lane, as people read it. */
export const stateText = (state: string): string => STATES[state] ?? labelOf(state);

/** The state of a campaign; one that runs may have to wait. */
export const campaignText = ({ state, waitingFor }: { state: string; waitingFor: string | null }): string =>
  stateText(state === 'running' && waitingFor !== null && waitingFor !== 'reports' ? 'waiting' : state);
