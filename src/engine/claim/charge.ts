import { type PriceList, priceFinder } from '../../campaign/limits/price.js';
import { segmentsOf } from '../../campaign/text/segments.js';
import type { StoredRecipient } from '../recipients/slice-blob.js';
import type { Charge } from './settlement.js';

/*
 * What the messages of a request are charged for, which the script that settles it counts (engine/store/usage.lua).
 */

/** What a text to these recipients is charged for. */
export type Charger = (text: string, recipients: readonly Pick<StoredRecipient, 'number'>[]) => Charge;

/** Returns the charges by these prices; undefined: there are none. */
export function charger(prices: PriceList | undefined): Charger {
  const priceOf = prices === undefined ? () => 0 : priceFinder(prices);
  return (text, recipients) => {
    const { segments } = segmentsOf(text);
    const micros = recipients.map(({ number }) => segments * (priceOf(number) ?? 0));
    const [first = 0] = micros;
    return micros.every((each) => each === first) ? [segments, first] : [segments, ...micros];
  };
}
