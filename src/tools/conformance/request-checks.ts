import { senderSegment } from '../../service/client/address.js';
import { readDeliveryInfoList } from '../../service/client/read-response.js';
import type { Rows } from './check.js';
import { poll } from './session.js';

/** A request that exists. */
export interface KnownRequest {
  readonly sender: string;
  readonly id: string;
  /** Its recipients, and the data that it carried, if they are known. */
  readonly to?: readonly string[];
  readonly callbackData?: string | undefined;
  /** Whether the service shows its delivery infos. */
  isShown: boolean;
}

/** Senders of other messages. */
const OTHER_SENDERS = ['OtherSender', 'Another'] as const;

/** Checks of the delivery infos of a request that exists. */
export const REQUEST_CHECKS: Rows<KnownRequest> = [
  {
    name: 'GET the delivery infos of a request',
    operation: 'getDeliveryInfos',
    documented:
      '`GET /outbound/{senderAddress}/requests/{requestId}/deliveryInfos`: 200 with a DeliveryInfoList',
    expected: '200 with one entry per recipient and its delivery status',
    sends: ({ sender, id }) => poll(senderSegment(sender), id),
    also({ body }, { to = [], callbackData }, { history }) {
      const infos = readDeliveryInfoList(body ?? '')?.deliveryInfo ?? [];
      if (infos.length === 0) return 'there is no entry';
      const entriesOf = (number: string) => infos.filter((info) => info?.address === `tel:${number}`).length;
      if (to.some((number) => entriesOf(number) === 0)) return 'there is no entry for the recipient';
      if (to.some((number) => entriesOf(number) > 1)) return 'there are several entries for a recipient';
      const back = history.note(body ?? '');
      if (back !== null) return back;
      const isRepeated =
        callbackData === undefined || infos.every((info) => info?.callbackData === callbackData);
      return isRepeated ? null : 'callbackData is not that of the request';
    },
    learn({ status }, request) {
      request.isShown = status === 200;
    },
  },
  {
    name: 'GET the delivery infos of a request with another sender',
    operation: 'getDeliveryInfos',
    documented: '`senderAddress` is the one of the send',
    expected: '404: the sender in the path is the one of the message',
    sends: ({ sender, id, isShown }) => {
      const other = sender === OTHER_SENDERS[0] ? OTHER_SENDERS[1] : OTHER_SENDERS[0];
      return isShown ? poll(other, id) : undefined;
    },
  },
  {
    sends: ({ sender, id, isShown }) => {
      const plain = plainSegment(sender);
      return isShown && plain !== senderSegment(sender) ? poll(plain, id) : undefined;
    },
    learn({ status }, _request, { ways }) {
      if (status === 429) return;
      const isAccepted = status === 200;
      ways.note(
        'spelling',
        isAccepted
          ? 'percent-encoded, or with : + and punctuation as they are'
          : `only percent-encoded (otherwise ${status})`,
      );
    },
  },
];

/** The sender with the characters as they are that a path may contain. */
function plainSegment(sender: string): string {
  return encodeURIComponent(sender).replace(/%(3A|2B|24|26|2C|3B|3D|40)/g, (code) =>
    decodeURIComponent(code),
  );
}
