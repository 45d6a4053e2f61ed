import { counted } from './texts.js';

export const listTexts = {
  campaigns: {
    title: 'Campaigns',
    new: 'New campaign',
    took: (span: string) => `took ${span}`,
    none: 'No campaign matches.',
  },
  replies: {
    title: 'Replies',
    about: 'What people have answered, newest first, and to which campaign.',
    none: 'There are no replies yet.',
    noneMatch: 'No reply matches.',
    gone: 'A campaign that is no longer stored',
    message: (outbox: string) => `A message of outbox ${outbox}`,
    stopped: 'Stopped: receives no more messages',
    notStopped: 'Asks to stop, but the sender is no phone number',
    started: 'Wants messages again',
    onTheWay: (count: number) =>
      `${counted(count, 'message was', 'messages were')} on the way, and may still arrive`,
  },
  find: {
    title: 'Find a number',
    about: 'In any spelling. It does not become part of the address of this page.',
    country: 'Country, if it has no plus',
    countryAbout: 'Without one, that of this installation counts.',
    submit: 'Find',
    sent: 'Everything sent to it',
    replies: 'What it has answered',
    noReplies: 'No reply of this number is kept.',
    none: 'No campaign or outbox that is kept has this number.',
    suppressed: 'This number is suppressed: nothing is sent to it.',
    notSuppressed: 'This number is not suppressed.',
    onLane: (lane: string | null) => (lane === null ? 'On all accounts' : `On account ${lane}`),
    why: (source: string, actor: string, reason: string | null) =>
      `${reason === null ? '' : `${reason}, `}from ${source}, by ${actor}`,
    elsewhere: 'by an operator of all accounts',
    message: (outbox: string, id: string) => `${id} in outbox ${outbox}`,
  },
  outboxes: {
    title: 'Outboxes',
    none: 'There are no outboxes. A program creates them through the HTTP API.',
  },
  schedules: {
    title: 'Schedules',
    none: 'There are no schedules. To add one: volley schedule add',
    failing: (problem: string) => `Failing: ${problem}`,
    waiting: 'due, waits for its turn',
  },
  suppressions: {
    title: 'Suppressions',
    about: 'Each change of the lists of numbers to which nothing is sent, newest first.',
    none: 'No number has been suppressed.',
    add: 'Suppress numbers',
    numbersAbout: 'Separated by commas, in any spelling.',
    changes: { add: 'added', remove: 'removed' },
    allLanes: 'all accounts',
    undone: (count: number) => `undone (${counted(count, 'number')})`,
  },
  keys: {
    title: 'Keys',
    about: 'Create keys on the command line: volley keys create',
    none: 'There are no keys.',
    allLanes: 'all',
    test: 'test key',
    cancelCampaigns: 'Also cancel its campaigns that have not ended',
  },
} as const;
