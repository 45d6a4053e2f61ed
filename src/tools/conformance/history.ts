import { numberOf } from '../../service/client/address.js';
import { readDeliveryInfoList, readOutboundRequest } from '../../service/client/read-response.js';

/** What the responses of a test have reported of its recipients, in their order. */
export interface StatusHistory {
  /** Notes the body of a response to a send or a poll. Returns which status went back, without a full stop; null if none did. */
  note(body: string): string | null;
  /** The latest status of a number; undefined if none was reported. */
  latest(number: string): string | undefined;
}

/** How far a status is. One that is not listed here says nothing. */
const RANK: Readonly<Record<string, number>> = {
  MessageAccepted: 0,
  DeliveredToNetwork: 1,
  PartiallyDelivered: 2,
  DeliveryUncertain: 2,
  DeliveredToTerminal: 3,
  DeliveryImpossible: 3,
  InvalidSrcAddress: 3,
  InvalidDestAddress: 3,
};
const FINAL = 3;

/** Opens it. */
export function openStatusHistory(): StatusHistory {
  const latest = new Map<string, string>();
  return {
    latest: (number) => latest.get(number),
    note(body) {
      let problem: string | null = null;
      const list = readOutboundRequest(body)?.deliveryInfoList ?? readDeliveryInfoList(body);
      for (const info of list?.deliveryInfo ?? []) {
        const number = numberOf(info?.address ?? '');
        const status = info?.deliveryStatus;
        const rank = RANK[status ?? ''];
        if (number === null || status === undefined || rank === undefined) continue;
        const before = latest.get(number);
        const rankBefore = before === undefined ? -1 : (RANK[before] ?? -1);
        if (rank < rankBefore || (rankBefore === FINAL && status !== before))
          problem ??= `the status of a recipient went from ${before} to ${status}`;
        else latest.set(number, status);
      }
      return problem;
    },
  };
}
