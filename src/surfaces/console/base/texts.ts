import { countText } from './times.js';

/*
 * Every text of the console that does not come from the server, in one place. Texts about operations come from their rows.
 */

const plural = (count: number, one: string, many: string): string =>
  `${countText(count)} ${count === 1 ? one : many}`;

export const recipientsText = (count: number): string => plural(count, 'recipient', 'recipients');
export const requestsText = (count: number): string => plural(count, 'request', 'requests');

/** An event in a sentence: `Spring sale: campaign paused by key on-call`. */
export function eventText({ type, name, campaign, lane, actor }: Readonly<Record<string, unknown>>): string {
  const what = String(type)
    .replace('.', ' ')
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return `${name ?? campaign ?? lane ?? 'Volley'}: ${what}${actor ? ` by ${actor}` : ''}`;
}

export const texts = {
  all: 'All',
  close: 'Close',
  continues: (span: string) => `Continues in ${span}.`,
  filter: 'Filter',
  firstPage: 'First page',
  go: 'Go',
  loading: 'Loading …',
  nextPage: 'Next',
  nothing: 'Nothing here.',
  optional: '(optional)',
  previousPage: 'Previous',
  row: 'Row',
  pagesOf: (caption: string) => `Pages of ${caption}`,
  typeCount: (count: number) => `Type ${count} to confirm`,
  wrongCount: (count: number) => `Type ${count}, the number above.`,
  disabled: {
    server: 'The server does not respond: wait until the page is live again.',
    redis: 'Redis is unavailable: wait until the page is live again.',
  },

  nav: {
    overview: 'Overview',
    campaigns: 'Campaigns',
    new: 'Send',
    lanes: 'Lanes',
    find: 'Find',
    outboxes: 'Outboxes',
    schedules: 'Schedules',
    suppressions: 'Suppressions',
    keys: 'Keys',
    skip: 'Skip to the content',
    main: 'Main',
  },

  header: {
    simulator: 'SIMULATOR',
    simulatorAbout: 'Nothing reaches a phone: the service is simulated.',
    signOut: 'Sign out',
    key: (name: string) => `Key: ${name}`,
    reveal: 'Show numbers',
    theme: 'Theme',
    themes: { system: 'As the system', light: 'Light', dark: 'Dark' },
    stream: {
      live: 'live',
      connecting: 'connecting',
      reconnecting: 'reconnecting',
      paused: 'paused',
      hidden: 'hidden',
      signedOut: 'signed out',
      refused: 'refused',
      redis: 'Redis unavailable',
    },
    pause: 'Pause updates',
    resume: 'Resume updates',
    age: (age: string) => `${age} old`,
  },

  signIn: {
    title: 'Sign in',
    key: 'API key',
    about: 'Begins with vk_. Create one with: volley keys create --name NAME --scope read,send,operate',
    submit: 'Sign in',
    ended: 'Your session has ended, or its key was revoked. Sign in again.',
    link: 'This link was used already, or is older than ten minutes. To get another: volley console',
    linkAbout: 'On the machine of the server, volley console prints a link that signs you in.',
  },

  /** The states of recipients, and how the bar groups them. */
  states: {
    planned: 'Planned',
    sending: 'Sending',
    unknown: 'Unknown',
    deliveredToNetwork: 'On the network',
    deliveredToTerminal: 'Delivered',
    deliveryImpossible: 'Impossible',
    rejected: 'Rejected',
    lapsed: 'Lapsed',
    cancelled: 'Cancelled',
    suppressed: 'Suppressed',
    abandoned: 'Abandoned',
    unconfirmed: 'Unconfirmed',
    duplicate: 'Duplicate row',
    invalid: 'Invalid row',
  },
  kinds: {
    delivered: 'delivered',
    unconfirmed: 'unconfirmed',
    failed: 'rejected or impossible',
    left: 'not sent',
    unknown: 'unknown',
    network: 'on the network',
    sending: 'sending',
    planned: 'planned',
  },
  campaignStates: {
    importing: 'Importing',
    scheduled: 'Scheduled',
    running: 'Running',
    paused: 'Paused',
    cancelled: 'Cancelled',
    completed: 'Completed',
  },
  laneStates: {
    open: 'Open',
    waiting: 'Waiting',
    backingOff: 'Backing off',
    probing: 'Probing',
    recovering: 'Recovering',
    noToken: 'No token',
    stopped: 'Stopped',
    held: 'Held',
  },

  overview: {
    title: 'Overview',
    attention: 'Needs attention',
    allWell: 'Nothing needs your attention.',
    running: 'Running campaigns',
    noneRunning: 'No campaign is running.',
    lanes: 'Lanes',
    allLanes: (count: number) => `All ${countText(count)} lanes`,
    events: 'Recent events',
    noEvents: 'No events since this page was opened.',
    gap: 'Some events are missing: they were no longer stored when the page was connected again.',
    why: 'Why',
    settle: 'Settle',
  },

  campaign: {
    of: (count: number) => `of ${recipientsText(count)}`,
    settled: 'settled',
    perMinute: (rate: number) => `${countText(rate)} a minute`,
    completion: 'Complete',
    ended: 'Ended',
    starts: 'Starts',
    states: 'Recipients by state',
    rate: 'Sends per minute',
    rateSince: 'Sends per minute since you opened this page',
    facts: 'About this campaign',
    sender: 'Sender',
    lane: 'Lane',
    message: 'Text',
    created: 'Created',
    cost: 'Cost',
    costText: (accepted: string | null, total: string, unpriced: number) =>
      `${accepted === null ? '' : `${accepted} so far, `}${total} for all${unpriced > 0 ? `, without ${plural(unpriced, 'number', 'numbers')} that have no price` : ''}`,
    window: 'Window',
    requests: 'Requests',
    requestsText: (send: number, poll: number, throttled: number) =>
      `${countText(send)} sends, ${countText(poll)} polls, ${countText(throttled)} × 429`,
    leftOut: 'Rows left out',
    leftOutText: (duplicates: number, invalid: number) =>
      `${countText(duplicates)} duplicate, ${countText(invalid)} invalid`,
    report: 'Report',
    reportAbout: 'Download the report as CSV',
    recipients: 'Recipients',
    missing:
      'There is no such campaign: it was deleted, its retention period is over, or your key may not see it.',
    cancelQuestion: (planned: number, sending: number) =>
      `${recipientsText(planned)} will get no message.${sending > 0 ? ` ${recipientsText(sending)} in flight may still get it.` : ''} This cannot be undone.`,
    deleteQuestion: (name: string, count: number) =>
      `Everything about ${name} with ${recipientsText(count)} is removed. This cannot be undone.`,
    deleteExpect: (count: number) => `Type ${count}, the number of its recipients`,
    columns: {
      number: 'Number',
      state: 'State',
      reason: 'Reason',
      sent: 'Sent',
      updated: 'Updated',
      reference: 'Reference',
      row: 'Row',
      line: (line: number) => `line ${countText(line)}`,
    },
  },

  unknown: {
    title: 'Unknown outcomes',
    about:
      'These requests were sent and not answered: their recipients may or may not have the message. Volley never sends them again by itself unless the lane says so.',
    columns: {
      request: 'Request',
      recipients: 'Recipients',
      sent: 'Sent',
      evidence: 'What is known',
      settle: 'Settle as',
    },
    accepted: 'Accepted',
    abandon: 'Abandon',
    resend: 'Resend',
    all: 'All of them',
    acceptedQuestion: (count: number) => `${recipientsText(count)} count as sent, without a delivery report.`,
    abandonQuestion: (count: number) => `${recipientsText(count)} are given up: no message, and no report.`,
    resendQuestion: (count: number) =>
      `The message is sent to ${recipientsText(count)} again. If the first request was accepted after all, they get it twice.`,
    resendExpect: (count: number) => `May be sent twice: type ${count}`,
    outcome: (requests: number, recipients: number, tooEarly: number) =>
      `${requestsText(requests)} with ${recipientsText(recipients)} settled.${tooEarly > 0 ? ` ${requestsText(tooEarly)} are too early: a worker may still be sending them.` : ''}`,
  },

  outcomes: {
    paused: (inFlight: number) => `Paused; ${countText(inFlight)} still in flight.`,
    resumed: (state: string) => `Resumed: ${state}.`,
    cancelled: (cancelled: number, inFlight: number) =>
      `Cancelled: ${recipientsText(cancelled)} get no message; ${countText(inFlight)} still in flight.`,
    deleted: 'Deleted.',
    held: (lane: string) => `Lane ${lane} is held: no request of it starts.`,
    laneResumed: (lane: string, state: string) => `Lane ${lane} is resumed: ${state}.`,
  },

  lane: {
    inFlight: 'In flight',
    quota: 'Quota',
    learned: 'learned',
    quotaText: (used: number, limit: number | null) =>
      limit === null ? `${countText(used)} used, limit unknown` : `${countText(used)} of ${countText(limit)}`,
    next: (at: string) => `more at ${at}`,
    perMinute: (values: readonly number[]) =>
      `Sends in each of the last five minutes: ${values.map((value) => countText(value)).join(', ')}`,
    running: 'Campaigns',
    runningText: (running: number, waiting: number, scheduled: number) =>
      `${countText(running)} running, ${countText(waiting)} waiting, ${countText(scheduled)} scheduled`,
    reports: 'Awaiting reports',
    unknown: 'Unknown outcomes',
    throttled: '429 so far',
    max: 'Recipients per request',
    holdQuestion: 'No request of this lane starts until someone resumes it. Requests in flight are finished.',
    open: 'Requests may start.',
    missing: 'There is no such lane, or your key may not use it.',
    window: (window: string) => `The last ${window}, and the next`,
    facts: 'About this lane',
    name: 'Lane',
    state: 'State',
    waits: 'Why it waits',
  },

  strip: {
    summary: (sends: number, polls: number, limit: number | null) =>
      `${countText(sends + polls)}${limit === null ? '' : ` of ${countText(limit)}`} requests count now: ${countText(sends)} sends and ${countText(polls)} polls.`,
    label: (used: string, from: string, to: string) =>
      `The requests since ${from}, of which ${used} count now, and when they return, until ${to}. The table below has the same.`,
    now: 'now',
    limit: (limit: number) => `limit ${countText(limit)}`,
    frees: (count: number, at: string) => `The marked bucket frees ${countText(count)} at ${at}.`,
    pointed: (from: string, sends: number, polls: number, returns: string) =>
      `${from}: ${countText(sends)} sends, ${countText(polls)} polls; they return at ${returns}.`,
    pointedToCome: (from: string, count: number) => `${from}: ${countText(count)} permits return.`,
    table: 'The window in twelve parts',
    from: 'From',
    returnFrom: 'Return from',
    legend: {
      sends: 'sends',
      polls: 'polls',
      permits: 'permits to come',
      counted: 'counts against the quota',
      limit: 'limit',
      reserve: 'held for polls',
      throttled: '429',
    },
  },

  chart: {
    asTable: 'As a table',
    until: 'Until',
    most: (highest: string) => `at most ${highest}`,
    marks: '▲ 429   ‖ paused',
    label: (caption: string, highest: string, last: string) => `${caption}: at most ${highest}, last ${last}`,
  },

  shortcuts: {
    title: 'Shortcuts',
    list: [
      ['g o', 'Overview'],
      ['g c', 'Campaigns'],
      ['g l', 'Lanes'],
      ['g f', 'Find'],
      ['n', 'New campaign'],
      ['/', 'The first field of the page'],
      ['p', 'Pause or resume updates'],
      ['r', 'Show or mask numbers'],
      ['?', 'This list'],
    ],
  },

  notFound: 'There is no such page.',
} as const;
