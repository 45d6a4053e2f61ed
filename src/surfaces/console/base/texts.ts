import { countText } from './times.js';

/*
 * Every text of the console that does not come from the server, in one place. Texts about operations come from their rows.
 */

const plural = (count: number, one: string, many: string): string =>
  `${countText(count)} ${count === 1 ? one : many}`;

export const recipientsText = (count: number): string => plural(count, 'recipient', 'recipients');
export const requestsText = (count: number): string => plural(count, 'request', 'requests');

export const texts = {
  all: 'All',
  close: 'Close',
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
    age: (age: string) => `The data is ${age} old.`,
    shortcuts: 'Shortcuts',
  },

  signIn: {
    title: 'Sign in',
    key: 'API key',
    about: 'Begins with vk_. Create one with: volley keys create NAME --scopes read,send,operate',
    submit: 'Sign in',
    ended: 'Your session has ended, or its key was revoked. Sign in again.',
    link: 'This link was used already, or is older than ten minutes. To get another: volley console',
    linkAbout: 'On the machine of the server, volley console prints a link that signs you in.',
  },

  overview: {
    title: 'Overview',
    attention: 'Needs attention',
    allWell: 'Nothing needs your attention.',
    running: 'Running campaigns',
    noneRunning: 'No campaign is running.',
    lanes: 'Lanes',
    events: 'Recent events',
    noEvents: 'No events since this page was opened.',
    gap: 'Some events are missing: they were no longer stored when the page was connected again.',
  },

  notFound: 'There is no such page.',
} as const;
