import { recipientsText } from './texts.js';
import { countText } from './times.js';

export const campaignTexts = {
  result: {
    title: (hasEnded: boolean) => (hasEnded ? 'Result' : 'Result so far'),
    replies: (count: number) => (count === 1 ? 'reply' : 'replies'),
    moreReplies: 'or more',
    why: 'Why not delivered',
    ofFirst: (read: number, count: number) => `of the first ${countText(read)} of ${countText(count)}`,
    again: (count: number) => `Send again to ${countText(count)} who did not get it`,
    againAbout: (message: string) => `This creates another campaign with the same text: “${message}”`,
    includes: 'It goes to',
    leavesOut: 'It does not go to',
    againExpect: (count: number) => `Type ${countText(count)} to confirm`,
    againName: (name: string) => `${name}, again`,
  },

  unknown: {
    about:
      'The service gave no clear answer when these messages were sent, so they may have arrived or not. Volley sends them again by itself only if the settings of the account say so.',
    codes: {
      reported: 'The service gave no clear answer.',
      silent: 'The process that sent it may have crashed.',
      restored: 'It may have been sent before Redis lost data.',
    },
    polled: 'A report may belong to it: Volley asks the service.',
    more: (count: number, shown: number) =>
      shown === 0 ? recipientsText(count) : `and ${countText(count)} more`,
    all: 'All of them',
    allOf: (name: string) => `all of ${name}`,
  },
} as const;
