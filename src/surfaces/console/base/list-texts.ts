import { counted } from './texts.js';

export const listTexts = {
  campaigns: {
    took: (span: string) => `took ${span}`,
    none: 'No campaign matches.',
  },
  replies: {
    about: 'What people have answered, newest first, and to which campaign.',
    save: 'Save as CSV',
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
    about: (country: string | null) =>
      `With its plus, such as +447946000140, or ${country === null ? 'as it is written in the country that you choose' : `as it is written in ${country}`}.`,
    country: 'Country, if it has no plus',
    sent: 'Messages to this number',
    replies: 'Replies from this number',
    noReplies: 'No replies from this number.',
    none: 'No message to this number is stored.',
    notSuppressed: 'This number is not suppressed.',
    onLane: (lane: string | null) => (lane === null ? 'On all accounts' : `On account ${lane}`),
    why: (source: string, actor: string, reason: string | null) =>
      `${reason === null ? '' : `${reason}, `}from ${source}, by ${actor}`,
    elsewhere: 'by an operator of all accounts',
    message: (outbox: string, id: string) => `${id} in outbox ${outbox}`,
  },
  outboxes: {
    none: 'There are no outboxes. A program creates them through the HTTP API.',
  },
  schedules: {
    none: 'Nothing is sent again and again. What you have scheduled for one time is under Campaigns. For developers: volley schedule add',
    failing: (problem: string) => `Failing: ${problem}`,
    waiting: 'due, waits for its turn',
    after: (duration: string) => `Once, ${duration} after the start of`,
  },
  webhooks: {
    about: 'Addresses of your programs, to which Volley posts what happens.',
    none: 'There are no webhooks. To add one: volley webhook add',
    events: {
      'recipients.settled': 'Results of recipients',
      'campaign.state': 'States of campaigns',
      'lane.stopped': 'Accounts that have stopped',
      'inbound.received': 'Replies',
    },
    only: { outboxes: 'Only of outboxes', tags: 'Only with one of the tags' },
    accepted: (count: number, at: boolean) => `${counted(count, 'event')}${at ? ', the last one at ' : ''}`,
    waiting: (count: number) => counted(count, 'event'),
    failing: 'Every request fails since',
    because: {
      operator: 'An operator has disabled it.',
      gone: 'Its address answered that it is gone (410).',
      failing: 'Every request has failed for five days.',
      keyRevoked: 'Its key was revoked.',
      keyExpired: 'Its key, or its session of the console, has expired.',
      keyInvalid: 'Its key does not work.',
    },
    failedAbout: (count: number) =>
      `${counted(count, 'event was', 'events were')} refused three times, while others were accepted. Repair what receives them, and send them again.`,
    noneFailed: 'No event has been refused for good.',
    what: (type: string, count: number) => (count === 0 ? type : `${type} (${counted(count, 'recipient')})`),
    times: (count: number) => counted(count, 'attempt'),
    replayAsk: (count: number) =>
      `${counted(count, 'refused event is', 'refused events are')} sent again, with the current state of the recipients.`,
  },
  suppressions: {
    about:
      'Each change of the lists of numbers to which nothing is sent, newest first. To see whether a number is on a list, find it.',
    none: 'No number has been suppressed.',
    add: 'Suppress numbers',
    numbersAbout: 'Separated by commas, in any spelling.',
    changes: { add: 'added', remove: 'removed' },
    allLanes: 'all accounts',
    undone: (count: number) => `undone (${counted(count, 'number')})`,
  },
  keys: {
    about: 'Create keys on the command line: volley keys create',
    none: 'There are no keys.',
    test: 'test key',
    own: 'this is you',
    cancelCampaigns: 'Also cancel its campaigns that have not ended',
  },
} as const;
