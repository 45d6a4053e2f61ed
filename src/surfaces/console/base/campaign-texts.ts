import { recipientsText } from './texts.js';
import { countText } from './times.js';

export const campaignTexts = {
  result: {
    title: (hasEnded: boolean) => (hasEnded ? 'Result' : 'Result so far'),
    replies: (count: number) => (count === 1 ? 'reply' : 'replies'),
    moreReplies: 'or more',
    why: 'Why not delivered',
    reasons: {
      deliveryImpossible: 'The service reports that delivery is impossible',
      rejected: 'The service gives no reason',
      lapsed: 'It could not be sent in time',
    },
    ofFirst: (read: number, count: number) => `of the first ${countText(read)} of ${countText(count)}`,
    states: { planned: 'not sent yet', sending: 'being sent', deliveredToNetwork: 'on the network' },
    again: 'Send again to those who did not get it',
    againAbout: (count: number, message: string) =>
      `${recipientsText(count)} to whom this could not be delivered or sent get it as a campaign of its own: “${message}”`,
    againExpect: (count: number) => `Type ${countText(count)} to confirm`,
    againName: (name: string) => `${name}, again`,
  },

  unknown: {
    about:
      'These requests were sent and not answered: their recipients may or may not have the message. Volley sends them again by itself only if the settings of the account say so.',
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
} as const;
