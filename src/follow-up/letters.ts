import { STATUS_LETTER } from '../campaign/recipient.js';
import type { PollOutcome } from '../gateway/outcome.js';
import type { FollowedRequest } from './requests.js';

/** The delivery infos of a poll. */
export type DeliveryInfos = Extract<PollOutcome, { kind: 'infos' }>;

/** One letter per recipient; `-` if the response does not list the recipient. */
export function lettersOf({ recipients }: FollowedRequest, { statuses }: DeliveryInfos): string {
  const letters = recipients.map((number) => {
    const status = statuses.get(number);
    return status === undefined ? '-' : STATUS_LETTER[status];
  });
  return letters.join('');
}
