import type { DeliveryReport } from '../gateway/notification.js';
import type { Located } from '../recipients/request-index.js';
import { STATUS_LETTER } from '../sending/settlements.js';

/** What a burst of notifications says of one request. */
export interface Gathered {
  /** Empty where no notification named one. */
  readonly requestId: string;
  readonly correlator: string | null;
  readonly sender: string | null;
  /** By number, E.164 with its plus: N, T or I. */
  readonly letters: Map<string, string>;
}

const isFinal = (letter: string): boolean => letter !== 'N';

/**
 * Puts reports together by their request, in the order in which they came. A final status beats what is not final. Two
 * final ones of a recipient that differ are kept apart, the later one in a second entry of that request, because whoever
 * settles them must see the contradiction. Pure.
 */
export function gather(reports: readonly DeliveryReport[]): Gathered[] {
  const byRequest = new Map<string, Gathered[]>();
  for (const { requestId, correlator, sender, number, status } of reports) {
    if (requestId === null && correlator === null) continue;
    const name = requestId === null ? `correlator ${correlator}` : `request ${requestId}`;
    const entries = byRequest.get(name) ?? [];
    byRequest.set(name, entries);
    const letter = STATUS_LETTER[status];
    const fitting = entries.find(({ letters }) => {
      const held = letters.get(number);
      return held === undefined || held === letter || !isFinal(held) || !isFinal(letter);
    });
    if (fitting === undefined) {
      entries.push({ requestId: requestId ?? '', correlator, sender, letters: new Map([[number, letter]]) });
    } else if (!isFinal(fitting.letters.get(number) ?? 'N')) {
      fitting.letters.set(number, letter);
    }
  }
  return [...byRequest.values()].flat();
}

/** The batch that our own correlator names: `campaign-first-count`, as `messages.ts` writes it. Null for any other. */
export function ownBatch(correlator: string | null): Located | null {
  const [, campaign, first, count] = /^([0-9a-z]+)-(\d{1,9})-(\d{1,4})$/.exec(correlator ?? '') ?? [];
  return campaign === undefined ? null : { campaign, first: Number(first), count: Number(count) };
}
